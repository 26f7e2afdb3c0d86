//! Tests of runs in simulated time. The expected figures are derived here, and each run depends
//! only on its seed.

use crate::program::*;
use q2c_engine::engines::SimDevices;
use q2c_engine::{Activity, EngineSpec, JobPlan, RunPlan, SimMachine, Wait, World};
use q2c_model::stats::scaling::KNEE_SHARE;
use q2c_model::{CpuId, Nanos};
use q2c_scale::handover::Lock;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// Steps of an I/O on q2c's default machine, s: turnaround and submission.
const STEPS_S: f64 = 0.6e-6;
/// The file of a machine, in which tests change single values.
pub(crate) const MACHINE: &str = "name = \"mine\"\ncores = 2\nspeed = 1.0\nslice_ns = 3000000\nsubmission_ns = 500\n\
    turnaround_ns = 100\nlook_ns = 50\nswitch_ns = 1487\ntimer_ns = 500\nwake_delay_ns = 2500\n\
    interrupt_ns = 1076\ninterrupt_delay_ns = 3000\n";

/// Runs q2c in a new folder.
fn result(arguments: &str) -> Value {
    Place::new().json(arguments)
}

/// The text of a run's `result.json`, without `provenance`, the only object about the run itself.
fn result_file(arguments: &str) -> String {
    let folder = Place::new();
    folder.done(arguments);
    let text = fs::read_to_string(folder.only_run().join("result.json")).unwrap();
    assert!(strict_json(&text).is_object());
    let begin = text.find("\"provenance\": {").unwrap();
    let end = begin + text[begin..].find('}').unwrap();
    format!("{}{}", &text[..begin], &text[end..])
}

#[test]
fn a_result_is_a_function_of_its_seed() {
    for arguments in [
        "tune sim:lognormal(80us,0.4) --bs 4k --seconds 0.2 --trials 2 --seed",
        "bench sim:lognormal(80us,0.4),servers=2 --jobs 1,3 --depth 1,4 --seconds 0.5 --trials 2 --seed",
    ] {
        let [first, second, third, other] =
            [7, 7, 7, 8].map(|seed| result_file(&format!("{arguments} {seed}")));
        assert!(first == second && second == third, "{arguments} 7");
        assert_ne!(first, other, "{arguments} 8");
    }
}

/// Median IOPS at each number of jobs.
fn iops(result: &Value) -> Vec<(u64, f64)> {
    let cells = result.list("cells").iter();
    let point = |cell: &Value| (cell["jobs"].as_u64().unwrap(), number(cell, "/iops/median"));
    cells.map(point).collect()
}

/// 80 us of service, 500 ns of submission and 100 ns of turnaround.
#[test]
fn polling_takes_the_service_time_and_the_steps_around_it() {
    let tuned = result("tune sim:80us --bs 4k --seconds 0.2 --trials 1 --json");
    let mut cells = tuned.list("cells").iter();
    let poll = cells.find(|cell| cell["method"] == "poll").unwrap();
    assert_near(number(poll, "/measured/iops/median"), 1.0 / 80.6e-6, 1e-3);
}

/// One job leaves the server idle during its own steps; four jobs keep it busy.
#[test]
fn one_server_is_the_limit_of_many_jobs() {
    let result = result("bench sim:80us,servers=1 --jobs 1,4 --method poll --seconds 1 --json");
    let [(1, single), (4, shared)] = iops(&result)[..] else {
        panic!("{result:#}");
    };
    assert_near(single, 1.0 / 80.6e-6, 0.01);
    assert_near(shared, 1.0 / 80e-6, 0.01);
}

/// An I/O of five seconds exceeds 32 bits of nanoseconds.
#[test]
fn a_device_may_take_as_long_as_it_likes() {
    let result = result("bench sim:5s --method interrupt --seconds 60 --trials 1 --json");
    let cell = &result["cells"][0];
    for figure in ["/lat_ns/mean/median", "/lat_ns/p50/median"] {
        assert_near(number(cell, figure), 5e9, 1e-3);
    }
}

/// A background from the documentation, whose text is read back from the plan.
#[test]
fn a_background_may_be_a_device_of_its_own() {
    let how = "--method poll --seconds 0.5 --trials 1 --json";
    let result = result(&format!("bench sim:1ms --background engine=sim:2ms {how}"));
    let iops = number(&result, "/cells/0/background_jobs/iops/median");
    assert_near(iops, 500.0, 0.1);
}

/// Throughput of a closed network of a delay and a station with exponential service times, for 1 to
/// `customers` customers. Exact mean value analysis (Reiser and Lavenberg, 1980).
fn mean_value_analysis(service_s: f64, servers: usize, think_s: f64, customers: usize) -> Vec<f64> {
    // Probability of each number of customers at the station.
    let mut at_station = vec![1.0];
    let rate = |busy: usize| busy.min(servers) as f64 / service_s;
    let mut throughputs = Vec::new();
    for n in 1..=customers {
        let spent = |k: usize| k as f64 / rate(k) * at_station[k - 1];
        let response: f64 = (1..=n).map(spent).sum();
        let throughput = n as f64 / (think_s + response);
        let mut next: Vec<f64> = (1..=n)
            .map(|k| throughput / rate(k) * at_station[k - 1])
            .collect();
        next.insert(0, 1.0 - next.iter().sum::<f64>());
        at_station = next;
        throughputs.push(throughput);
    }
    throughputs
}

#[test]
fn a_closed_network_has_the_throughput_of_mean_value_analysis() {
    let expected = mean_value_analysis(80e-6, 4, STEPS_S, 16);
    let result =
        result("bench sim:exp(80us),servers=4 --jobs 1,2,4,8,16 --method poll --seconds 2 --json");
    let points = iops(&result);
    assert_eq!(points.len(), 5);
    for (jobs, iops) in points {
        assert_near(iops, expected[jobs as usize - 1], 0.02);
    }
}

/// The stages of each point, in the order of its jobs, and the curve over the jobs.
fn stages_of_many(nr_requests: u32, jobs: &str) -> (Vec<Value>, Value) {
    let device = format!("sim:83us,servers=128,queues=4,nr_requests={nr_requests}");
    let how = "--method poll --stages --trials 1 --seconds 0.2 --warm-up 0.2 --json";
    let result = result(&format!(
        "bench {device} --machine cores=120 --jobs {jobs} {how}"
    ));
    let stages = |cell: &Value| cell["stages"]["seen"].clone();
    let stages = result.list("cells").iter().map(stages).collect();
    (stages, result["scaling"][0].clone())
}

/// Four queues of eight requests keep 32 jobs busy. A further job sleeps until a request is free,
/// and uses it after its wake-up of 3 us: 32 requests in 86 us are less than 32 jobs without waits
/// in 83.6 us. All further time is Q2G, by Little's law.
#[test]
fn requests_end_the_scaling_of_many_jobs() {
    let (stages, curve) = stages_of_many(8, "8..56/8");
    assert_eq!((&curve["peak"], &curve["knee"]), (&json!(32), &json!(40)));
    assert_eq!(curve["growth"]["most"][0], "Q2G");
    let suspects = curve["suspects"].to_string();
    assert!(
        suspects.contains("tags") && suspects.contains("Q2G"),
        "{suspects}"
    );
    for (stages, jobs) in stages.iter().zip((1..=7).map(|n| n * 8)) {
        let mean_us = |stage: &str| number(stages, &format!("/stages/{stage}/mean_ns")) / 1e3;
        let iops = number(stages, "/ios") / number(stages, "/seconds");
        assert_near(mean_us("D2C"), 83.0, 1e-3);
        let cycle_us = f64::from(jobs) / iops * 1e6;
        // A job is elsewhere for 0.6 us, and waits for a request for the rest.
        assert_near(83.6 + mean_us("Q2G"), cycle_us, 2e-3);
        let queues = stages["queues"][0]["reads"]["queues"].as_array().unwrap();
        assert_eq!(queues.len(), 4);
        let sleeps = stages["tag_waits"]["counted"]["queues"].as_array().unwrap();
        assert_eq!(sleeps.is_empty(), jobs <= 32, "{jobs}");
        if jobs > 32 {
            assert_near(iops, 32.0 / 86e-6, 0.01);
        }
    }
}

#[test]
fn enough_requests_do_not_end_it() {
    let (stages, curve) = stages_of_many(64, "8,32,40,120");
    assert_eq!(
        (&curve["peak"], &curve["knee"]),
        (&json!(120), &Value::Null)
    );
    for stages in &stages {
        assert_eq!(number(stages, "/stages/Q2G/mean_ns"), 0.0);
    }
}

/// Each of two jobs has half of a CPU. While one runs, an I/O of the other completes unseen. So at
/// most one I/O per turn of 3 ms is added to what a job does alone.
#[test]
fn two_jobs_pinned_to_one_cpu_share_it() {
    let result =
        result("bench sim:80us,servers=2 --jobs 1,2 --cpus 0 --method poll --seconds 1 --json");
    let [(1, single), (2, shared)] = iops(&result)[..] else {
        panic!("{result:#}");
    };
    assert_near(single, 1.0 / 80.6e-6, 0.01);
    let most = single + 1.0 / 3e-3;
    assert!((single..most).contains(&shared), "{single} {shared}");
    for cell in result.list("cells") {
        assert_near(number(cell, "/cpu/job_s/median"), 1.0, 1e-3);
    }
}

#[test]
fn what_is_wrong_with_a_machine_is_named() {
    let folder = Place::new();
    let write = |from: &str, to: &str| {
        let text = MACHINE.replace(from, to);
        assert_ne!(text, MACHINE);
        folder.put("m.toml", text);
    };
    for case in [
        "cores = 2 | cores = 0 | cores = 0: expected 1 to 4096",
        "speed = 1.0 | speed = 0 | speed = 0: expected 0.01 to 100",
        "timer_ns = 500 | timer_ns = 1000000001 | timer_ns = 1000000001",
        "look_ns = 50 | look = 50 | unknown field `look`",
    ] {
        let [from, to, said] = case.phrases()[..] else {
            panic!("{case}");
        };
        write(from, to);
        for command in ["tune", "bench", "calibrate"] {
            let ended = folder.q2c(format!("{command} sim:80us --machine m.toml"));
            ended.refused(3, &[said]);
        }
    }
    assert!(!folder.path().join("runs").exists());
}

/// The service is 10 us. io_uring and SPDK add 0.1 us of turnaround and their submissions; libaio
/// and pvsync2 have those of the machine. SPDK takes no request of the device, so two jobs do not
/// wait for its only one.
#[test]
fn interfaces_are_points_of_a_bench() {
    let place = Place::new();
    let interfaces = "[interfaces.io_uring]\nsubmission_ns = 400\n[interfaces.libaio]\n\
        [interfaces.pvsync2]\n[interfaces.spdk]\nsubmission_ns = 100\n";
    place.put("m.toml", MACHINE.to_owned() + interfaces);
    let command = "bench sim:10us,servers=2,nr_requests=1 --method poll --machine m.toml \
        --trials 1 --seconds 0.2 --json --jobs 1,2 --engine";
    let result = place.json(format!("{command} io_uring,libaio,pvsync2,spdk"));
    let mut cycles = [10.5, 10.6, 10.6, 10.2].into_iter();
    for cells in result.list("cells").chunks(2) {
        let iops = |cell: &Value| number(cell, "/iops/median");
        let expected = 1e6 / cycles.next().unwrap();
        assert_near(iops(&cells[0]), expected, 1e-3);
        let name = cells[0]["engine"].as_str().unwrap();
        let is_spdk = name.ends_with(",interface=spdk");
        let gain = iops(&cells[1]) / iops(&cells[0]);
        assert_eq!(is_spdk, gain > 1.9, "{gain} {name}");
    }
    assert_eq!(cycles.next(), None);
    // Recorded U2C of 10.5 us contains a submission of the machine's own, whatever the interface.
    place.put("list.txt", "10.5\n".repeat(200));
    let recorded = command.replace("sim:10us,", "sim:trace=list.txt,unit=us,");
    let result = place.json(format!("{recorded} io_uring,libaio"));
    for (cell, cycle) in result.list("cells").iter().step_by(2).zip([10.5, 10.6]) {
        assert_near(number(cell, "/iops/median"), 1e6 / cycle, 1e-3);
    }
    place.put(
        "t.csv",
        "time_us,op,offset,bytes\n1000,R,0,4096\n2000,R,4096,4096\n",
    );
    for (engine, said) in [
        ("io_uring:sqpoll", "a simulated device is its own engine"),
        ("null,spdk", "[interfaces.spdk]"),
    ] {
        let bench = format!("bench sim:10us --engine {engine}");
        place.q2c(bench).refused(2, &[said]);
    }
    for command in [
        "tune sim:80us --engine libaio",
        "tune sim:80us --background engine=sim:80us,interface=libaio",
        "replay t.csv sim:80us --engine libaio",
    ] {
        place.q2c(command).refused(2, &["[interfaces.libaio]"]);
    }
    for command in [
        "replay t.csv sim:80us,interface=spdk",
        "poll watch sim:80us,interface=spdk --seconds 1",
    ] {
        let line = format!("{command} --machine m.toml");
        place.q2c(line).refused(2, &["no interrupts"]);
    }
    let stages = format!("{command} spdk --stages");
    place
        .q2c(stages)
        .refused(5, &["does not go through the block layer"]);
}

/// If neither the device nor the machine takes time, simulated time cannot advance. A device with
/// service times can be measured on such a machine.
#[test]
fn a_machine_whose_steps_cost_nothing_is_stuck_without_service_times() {
    let folder = Place::new();
    let free = "cores = 2\nslice_ns = 3000000\nsubmission_ns = 0\nturnaround_ns = 0\nlook_ns = 1\nswitch_ns = 0\n\
        timer_ns = 0\nwake_delay_ns = 0\ninterrupt_ns = 0\ninterrupt_delay_ns = 0\n";
    folder.put("free.toml", free);
    let cases = [
        "4 | tune sim:0us --machine free.toml | stuck at",
        "4 | calibrate sim:0us --machine free.toml | stuck at",
        "4 | bench sim:0us --method poll --machine free.toml | stuck at",
    ];
    refuses_in(folder.path(), &cases);
    let command_line =
        "bench sim:80us --machine free.toml --method poll --seconds 0.2 --out timed --json";
    let result = folder.json(command_line);
    assert_eq!(iops(&result), [(1, 12_500.0)]);
}

/// A round of trials takes longer than 10 s, so the run ends after its first round, and soon.
#[test]
fn a_budget_is_one_of_simulated_time() {
    let command_line =
        "bench sim:80us --jobs 1..8 --method poll --seconds 10 --trials 5 --budget 10s --json";
    let begun = Instant::now();
    let ended = Place::new().q2c(command_line);
    let took = begun.elapsed();
    let result = ended.json();
    let cells = result.list("cells").iter();
    let trials: Vec<f64> = cells.map(|cell| number(cell, "/iops/trials")).collect();
    assert_eq!(trials, [1.0; 8]);
    let simulated_s = 8.0 * 10.0;
    assert!(took.as_secs_f64() < simulated_s / 2.0, "{took:?}");
}

/// Figures that need this machine's kernel exist only in real time.
#[test]
fn real_time_is_that_of_this_machine() {
    let arguments =
        "bench sim:5ms --method interrupt --seconds 0.2 --warm-up 0.2 --trials 1 --json";
    let simulated = result(arguments);
    let real = result(&format!("{arguments} --real-time"));
    assert_eq!(simulated["machine"]["kernel"], "simulated");
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    assert_eq!(real["machine"]["kernel"], kernel.trim());
    assert_eq!(simulated["doctor"]["checks"], json!([]));
    let proved = entry(&real["doctor"], "checks", "id", "target-proved");
    let finding = proved["found"].as_str().unwrap();
    assert_eq!(finding.matches("no device").count(), 1, "{finding}");
    assert!(number(&real["cells"][0], "/iops/median") < 1.0 / 5e-3);
}

/// A thread that thinks for a second does no I/O in a recording of half a second.
#[test]
fn a_recording_without_an_io_is_named() {
    let phrases = "record classic polling at 4 KiB | expected I/Os in 0.5 s, found none | --think";
    let ended = Place::new().q2c("tune sim:80us --think 1s --seconds 1 --trials 1");
    ended.refused(5, phrases);
}

#[test]
fn siblings_slow_each_other_as_in_the_simulator_of_placement() {
    let (machine, table) = (SimMachine::default(), q2c_place::speed::published());
    assert_eq!(machine.compute_beside_compute, table.compute_beside_compute);
    assert_near(
        machine.compute_beside_polling,
        table.compute_beside_polling,
        1e-12,
    );
    // Looks take their time beside any sibling.
    assert_eq!(
        [table.polling_beside_compute, table.polling_beside_polling],
        [1.0; 2]
    );
}

/// Service time, and the time for which each submission holds the lock, ns.
const SERVICE_NS: f64 = 80e3;
const LOCK_NS: u64 = 2_000;

/// IOPS of polling jobs with exponential service times on a machine with a lock.
fn iops_with_lock(jobs: u32) -> f64 {
    let world = World::new(SimMachine {
        cores: 80,
        lock_ns: LOCK_NS,
        look_ns: 5,
        ..SimMachine::default()
    });
    let engine: EngineSpec = "sim:exp(80us),servers=80".parse().unwrap();
    let medium = SimDevices::default().medium(&engine).unwrap();
    let job = |cpu| JobPlan {
        cpu: CpuId(cpu),
        seed: cpu.into(),
        ..JobPlan::new(
            engine.clone(),
            medium.clone(),
            vec![Activity::Start(Wait::Poll)],
        )
    };
    let length = Nanos::from_millis(500);
    let plan = RunPlan {
        jobs: (0..jobs).map(job).collect(),
        phases: vec![length],
        interval: length,
        sampler_cpu: None,
        time: world.into(),
    };
    let data = q2c_engine::run(plan, &mut |_| {}, &AtomicBool::new(false)).unwrap();
    let ios: u64 = data.lanes.iter().map(|lane| lane.phases[0].ios).sum();
    ios as f64 / length.as_secs_f64()
}

/// The number of jobs at which a further job adds a tenth of what the first one had, interpolated
/// between the middles of the steps.
fn knee(one_job: f64, curve: &[(u32, f64)]) -> f64 {
    let gain = |pair: &[(u32, f64)]| {
        let jobs = [pair[0], pair[1]].map(|point| f64::from(point.0));
        let gain = (pair[1].1 - pair[0].1) / (jobs[1] - jobs[0]);
        ((jobs[0] + jobs[1]) / 2.0, gain / one_job)
    };
    let gains: Vec<(f64, f64)> = curve.windows(2).map(gain).collect();
    let below = gains
        .iter()
        .position(|(_, gain)| *gain < KNEE_SHARE)
        .unwrap();
    let ((from, more), (to, less)) = (gains[below - 1], gains[below]);
    from + (to - from) * (more - KNEE_SHARE) / (more - less)
}

/// The closed network of `scale`: jobs that are elsewhere for exponential times, and a lock that is
/// held for a constant time.
#[test]
fn a_lock_ends_the_scaling_where_the_closed_network_has_it() {
    let lock = Lock {
        hold_ns: LOCK_NS as f64,
        growth: 0.0,
        cv: 0.0,
    };
    let network = |jobs: u32| 1e9 * lock.rate(jobs as usize, SERVICE_NS + STEPS_S * 1e9);
    let jobs: Vec<u32> = (24..=60).step_by(4).collect();
    let curve = |iops: &dyn Fn(u32) -> f64| -> Vec<(u32, f64)> {
        jobs.iter().map(|&jobs| (jobs, iops(jobs))).collect()
    };
    let (measured, expected) = (curve(&iops_with_lock), curve(&network));
    for ((jobs, measured), (_, expected)) in measured.iter().zip(&expected) {
        assert!(
            (measured / expected - 1.0).abs() < 0.03,
            "{jobs}: {measured}, expected {expected}"
        );
    }
    let measured_knee = knee(iops_with_lock(1), &measured);
    let expected_knee = knee(network(1), &expected);
    assert_near(measured_knee, expected_knee, 0.03);
}
