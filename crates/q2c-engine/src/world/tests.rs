//! Runs on a simulated machine, compared with arithmetic by hand.

use super::*;
use crate::engines::SimDevices;
use crate::measure::phase_stats;
use crate::{
    Activity, EngineSpec, IrqPlacement, JobPlan, LaneData, Live, LiveAnswer, LivePlan, Medium,
    RunData, RunError, RunPlan, Sample, Wait, live, run,
};
use q2c_model::Nanos;
use q2c_policy::{Decision, Io, LaneMethod, Outcome, Token};
use q2c_service::{InterfaceCosts, SimInterface};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// The delays contain the interrupt or the timer, and the switch.
fn machine() -> SimMachine {
    SimMachine {
        name: "test".to_owned(),
        cores: 4,
        speed: 1.0,
        slice_ns: 3_000_000,
        submission_ns: 500,
        turnaround_ns: 100,
        look_ns: 50,
        switch_ns: 1_500,
        timer_ns: 400,
        wake_delay_ns: 2_500,
        interrupt_ns: 1_000,
        interrupt_delay_ns: 3_000,
        ..SimMachine::default()
    }
}

fn wait(method: &str) -> Wait {
    let method: q2c_policy::Method = method.parse().unwrap();
    let method: LaneMethod = method.lane().unwrap().clone();
    method.build(1).remove(0)
}

/// A lane on `cpu` with the device `target`.
fn job(target: &str, devices: &SimDevices, cpu: u32, method: &str) -> JobPlan {
    let engine: EngineSpec = target.parse().unwrap();
    let medium = devices.medium(&engine).unwrap();
    JobPlan {
        name: format!("lane on {cpu}"),
        cpu: CpuId(cpu),
        seed: u64::from(cpu),
        capacity: 200_000,
        stop_on_fault: true,
        ..JobPlan::new(engine, medium, vec![Activity::Start(wait(method))])
    }
}

fn plan(world: &World, ms: u64, jobs: Vec<JobPlan>) -> RunPlan {
    RunPlan {
        phases: vec![Nanos::from_millis(ms)],
        jobs,
        interval: Nanos::from_millis(10),
        sampler_cpu: None,
        time: world.clone().into(),
    }
}

fn go(world: &World, ms: u64, jobs: Vec<JobPlan>) -> Result<RunData, RunError> {
    run(plan(world, ms, jobs), &mut |_| {}, &AtomicBool::new(false))
}

fn alone(target: &str, method: &str, ms: u64) -> (LaneData, Counters) {
    let world = World::new(machine());
    let job = job(target, &SimDevices::default(), 1, method);
    let mut data = go(&world, ms, vec![job]).unwrap();
    (data.lanes.remove(0), world.counters())
}

/// The time between two submissions, ns, which must be the same for all.
fn cycle(lane: &LaneData) -> u64 {
    let pairs = lane.samples.windows(2);
    let mut cycles: Vec<u64> = pairs.map(|p| p[1].submit_ns - p[0].submit_ns).collect();
    cycles.dedup();
    assert_eq!(cycles.len(), 1, "{cycles:?}");
    cycles[0]
}

/// An I/O takes 100 ns of turnaround, 500 ns of submission and 80,000 ns of looks, 50 ns each. An
/// I/O of 80,010 ns needs one more look.
#[test]
fn a_polled_request_takes_its_service_and_the_steps_around_it() {
    let (lane, counters) = alone("sim:80us", "poll", 100);
    assert_eq!(cycle(&lane), 80_600);
    assert_eq!(cycle(&alone("sim:80010ns", "poll", 10).0), 80_650);
    let stats = phase_stats(&lane, 0);
    let iops = stats.iops();
    assert!((iops * 80_600e-9 - 1.0).abs() < 1e-9, "{iops}");
    let phase = &lane.phases[0];
    let length = phase.end.t_ns - phase.begin.t_ns;
    assert_eq!(phase.end.cpu_ns - phase.begin.cpu_ns, length);
    let busy = counters.cpus[1].threads_ns;
    assert!(busy >= 100_000_000 && counters.cpus[0] == SimCpuCounters::default());
}

/// Behind libaio a submission takes 900 ns, and a look 70 ns: of 1,143 looks the last ends at
/// 80,010 ns. What libaio leaves out is the machine's. SPDK needs neither the one request of the
/// device, for which the other lane would wait, nor the lock.
#[test]
fn an_interface_has_costs_of_its_own() {
    let costs = |submission_ns, look_ns| InterfaceCosts {
        submission_ns,
        look_ns,
        ..InterfaceCosts::default()
    };
    let libaio = (SimInterface::Libaio, costs(Some(900), Some(70)));
    let spdk = (SimInterface::Spdk, costs(Some(200), None));
    let world = World::new(SimMachine {
        lock_ns: 300,
        interfaces: [libaio, spdk].into(),
        ..machine()
    });
    let cycle_of = |targets: &[&str]| {
        let devices = SimDevices::default();
        let jobs = targets.iter().zip(0..);
        let jobs = jobs.map(|(target, cpu)| job(target, &devices, cpu, "poll"));
        let data = go(&world, 10, jobs.collect()).unwrap();
        data.lanes.iter().map(cycle).collect::<Vec<u64>>()
    };
    assert_eq!(cycle_of(&["sim:80us"]), [80_900]);
    assert_eq!(
        cycle_of(&["sim:80us,interface=libaio"]),
        [100 + 900 + 300 + 80_010]
    );
    let spdk = "sim:80us,servers=2,nr_requests=1,interface=spdk";
    assert_eq!(cycle_of(&[spdk, spdk]), [80_300, 80_300]);
    let error = go(
        &world,
        1,
        vec![job(
            "sim:80us,interface=pvsync2",
            &SimDevices::default(),
            0,
            "poll",
        )],
    );
    let error = std::error::Error::source(&error.unwrap_err()).map(ToString::to_string);
    let text = error.unwrap_or_default();
    assert!(text.contains("[interfaces.pvsync2]"), "{text}");
}

/// A sleep of 20 us ends before the completion at 80 us, as before. One of 78 us would wake after
/// it, 2,500 ns late, and one of 90 us ends after it: then the thread runs 6,000 ns later, 2,000 of
/// them on its CPU, and looks once.
#[test]
fn a_sleep_that_the_request_ends_in_may_cost_more() {
    let world = World::new(SimMachine {
        miss_delay_ns: Some(6_000),
        miss_switch_ns: Some(2_000),
        ..machine()
    });
    for (asked, expected_ns, cpu_ns) in [
        (20_000, 600 + 80_000, None),
        (78_000, 600 + 78_000 + 6_000 + 50, Some(600 + 2_000 + 50)),
        (90_000, 600 + 90_000 + 6_000 + 50, Some(600 + 2_000 + 50)),
    ] {
        let method = format!("hybrid:fixed:{asked}ns");
        let job = job("sim:80us", &SimDevices::default(), 1, &method);
        let data = go(&world, 10, vec![job]).unwrap();
        assert_eq!(cycle(&data.lanes[0]), expected_ns, "{asked}");
        let phase = &data.lanes[0].phases[0];
        let used_ns = phase.end.cpu_ns - phase.begin.cpu_ns;
        assert!(cpu_ns.is_none_or(|ns| used_ns == ns * phase.ios), "{asked}");
    }
}

/// An interrupt may cost another switch than a timer.
#[test]
fn an_interrupt_may_have_a_switch_of_its_own() {
    let world = World::new(SimMachine {
        interrupt_switch_ns: Some(700),
        ..machine()
    });
    let job = job("sim:80us", &SimDevices::default(), 1, "interrupt");
    let data = go(&world, 10, vec![job]).unwrap();
    assert_eq!(cycle(&data.lanes[0]), 83_600);
    let phase = &data.lanes[0].phases[0];
    let used_ns = phase.end.cpu_ns - phase.begin.cpu_ns;
    assert_eq!(used_ns, phase.ios * 1_300);
}

/// Per I/O the thread takes 100 + 500 + 1,500 ns of CPU, the interrupt 1,000 ns; the completion is
/// reaped 3,000 ns after its time.
#[test]
fn an_interrupt_costs_its_handler_and_a_switch() {
    let (lane, counters) = alone("sim:80us", "interrupt", 100);
    assert_eq!(cycle(&lane), 83_600);
    let (first, last) = (lane.phases[0].begin, lane.phases[0].end);
    let ios = lane.phases[0].ios;
    assert_eq!(last.cpu_ns - first.cpu_ns, ios * 2_100);
    assert_eq!(last.switches.voluntary - first.switches.voluntary, ios);
    assert_eq!(counters.cpus[1].interrupts, ios);
}

/// One I/O of a fixed sleep, calculated separately: the time from the submission's return to the
/// reaping, the CPU time after the submission, and whether it missed.
fn slept(asked: u64, service: u64) -> (u64, u64, bool) {
    let woke = asked + 2_500;
    let mut at = woke + 50;
    let missed = at >= service;
    while at < service {
        at += 50;
    }
    (at, 1_500 + at - woke, missed)
}

#[test]
fn a_sleep_is_followed_by_looks_and_may_last_too_long() {
    let cases = [(40, 80_000), (60, 80_010), (78, 80_000), (30, 20_000)];
    for (asked, service) in cases.map(|(us, service)| (us * 1_000, service)) {
        let method = format!("hybrid:fixed:{asked}ns");
        let (lane, _) = alone(&format!("sim:{service}ns"), &method, 50);
        let (wait, cpu, missed) = slept(asked, service);
        assert_eq!(cycle(&lane), 600 + wait, "{asked} {service}");
        let sample = &lane.samples[5];
        assert_eq!(u64::from(sample.wait_ns), wait);
        assert_eq!(sample.is(Sample::MISSED), missed, "{asked} {service}");
        assert_eq!(u64::from(sample.woke_ns), asked + 2_500);
        let (first, last) = (lane.phases[0].begin, lane.phases[0].end);
        let cpu_per_io = (last.cpu_ns - first.cpu_ns) / lane.phases[0].ios;
        assert_eq!(cpu_per_io, 600 + cpu, "{asked} {service}");
    }
}

/// Four lanes keep one server of 80 us busy, and share its completions.
#[test]
fn lanes_share_the_servers_of_a_device() {
    let world = World::new(machine());
    let devices = SimDevices::default();
    let jobs = (0..4).map(|cpu| job("sim:80us", &devices, cpu, "poll"));
    let data = go(&world, 100, jobs.collect()).unwrap();
    let ios: u64 = data.lanes.iter().map(|lane| lane.phases[0].ios).sum();
    assert!(ios.abs_diff(100_000_000 / 80_000) <= 4, "{ios}");
}

/// A request that is free at the completion of its I/O is used by a waiting lane after its wake-up:
/// once in 80 + 3 us. Two lanes at one queue of one request take turns; CPUs are dealt to queues in
/// turn, so CPUs 0 and 2 share a queue, and 0 and 1 do not.
#[test]
fn a_lane_without_a_free_request_sleeps_until_one_is_free() {
    let cycles = |device: &str, cpus: &[u32]| -> Vec<u64> {
        let (world, devices) = (World::new(machine()), SimDevices::default());
        let target = format!("sim:80us,servers=9,{device}");
        let jobs = cpus.iter().map(|&cpu| job(&target, &devices, cpu, "poll"));
        let data = go(&world, 20, jobs.collect()).unwrap();
        let settled = |lane: &LaneData| LaneData {
            samples: lane.samples[3..].to_vec(),
            ..LaneData::default()
        };
        data.lanes
            .iter()
            .map(|lane| cycle(&settled(lane)))
            .collect()
    };
    assert_eq!(cycles("queues=1,nr_requests=1", &[0, 1]), [2 * 83_000; 2]);
    assert_eq!(cycles("queues=2,nr_requests=1", &[0, 2]), [2 * 83_000; 2]);
    assert_eq!(cycles("queues=2,nr_requests=1", &[0, 1]), [80_600; 2]);
    assert_eq!(cycles("queues=1,nr_requests=2", &[0, 1]), [80_600; 2]);
    assert_eq!(
        cycles("queues=1,nr_requests=2", &[0, 1, 2, 3]),
        [2 * 83_000; 4]
    );
}

/// The wait for a request is part of the submission, and the lane sleeps through it.
#[test]
fn a_sample_has_the_wait_for_a_request() {
    let (world, devices) = (World::new(machine()), SimDevices::default());
    let target = "sim:80us,servers=2,nr_requests=1";
    let jobs = [0, 1].map(|cpu| job(target, &devices, cpu, "poll"));
    let lane = go(&world, 20, jobs.into()).unwrap().lanes.remove(0);
    // The lane reaps 3 us before the other one gets the request, and spends 100 + 500 ns.
    let sample = &lane.samples[5];
    assert_eq!(u64::from(sample.submit_len_ns), 2 * 83_000 - 80_000 - 100);
    assert_eq!(u64::from(sample.wait_ns), 80_000);
    let phase = &lane.phases[0];
    let cpu_ns = phase.end.cpu_ns - phase.begin.cpu_ns;
    let ios = phase.ios;
    let expected = ios * (100 + 500 + 1_500 + 80_000);
    assert!(cpu_ns.abs_diff(expected) < 83_000, "{cpu_ns} {expected}");
    assert!(phase.end.switches.voluntary >= ios - 1);
}

/// Alone, a lane holds the lock for 2 us of each I/O. Four lanes wait for each other: each I/O
/// holds it for 2 us, and 500 ns pass until the next lane has it. A lane that spins uses its CPU.
#[test]
fn lanes_share_a_lock() {
    let locked = SimMachine {
        lock_ns: 2_000,
        handover_ns: 500,
        ..machine()
    };
    for (lanes, expected) in [(1, 100 + 500 + 2_000 + 1_000), (4, 4 * 2_500)] {
        let (world, devices) = (World::new(locked.clone()), SimDevices::default());
        let jobs = (0..lanes).map(|cpu| job("sim:1us,servers=4", &devices, cpu, "poll"));
        let mut data = go(&world, 20, jobs.collect()).unwrap();
        for lane in &mut data.lanes {
            lane.samples.drain(..5);
            assert_eq!(cycle(lane), expected, "{lanes}");
            let phase = &lane.phases[0];
            let length = phase.end.t_ns - phase.begin.t_ns;
            assert_eq!(phase.end.cpu_ns - phase.begin.cpu_ns, length);
        }
    }
}

/// CPU 4 is the sibling of CPU 0. Beside a lane that polls, steps take 1 / 0.753 of their time;
/// beside one that works, 1 / 0.625. Looks take their time.
#[test]
fn a_sibling_that_runs_slows_the_steps_of_a_lane() {
    let siblings = SimMachine {
        threads: 2,
        ..machine()
    };
    let beside_polling = |cpu| {
        let (world, devices) = (World::new(siblings.clone()), SimDevices::default());
        let jobs = vec![
            job("sim:80us", &devices, 0, "poll"),
            job("sim:5ms", &devices, cpu, "poll"),
        ];
        let mut lane = go(&world, 20, jobs).unwrap().lanes.remove(0);
        // The sibling polls for 5 ms from its own submission on.
        lane.samples.drain(..2);
        lane.samples.truncate(50);
        cycle(&lane)
    };
    assert_eq!(beside_polling(1), 80_600);
    // 100 * 0.83 / 0.625 = 132.8 and 500 * 0.83 / 0.625 = 664.
    assert_eq!(beside_polling(4), 80_000 + 133 + 664);
    let works = SimMachine {
        submission_ns: 100_000,
        ..siblings.clone()
    };
    let (world, devices) = (World::new(works), SimDevices::default());
    let jobs = [0, 4].map(|cpu| job("sim:1us,servers=2", &devices, cpu, "poll"));
    let lane = go(&world, 100, jobs.into()).unwrap().lanes.remove(0);
    let ios = lane.phases[0].ios as f64;
    let expected = 100e6 / (100_000.0 / 0.625 + 1_000.0);
    assert!((ios / expected - 1.0).abs() < 0.02, "{ios} {expected}");
}

/// Two lanes on two nodes hand a lock to each other: each I/O holds it for 2 us, 500 ns pass until
/// the next lane has it, and 300 more as it is on the other node.
#[test]
fn a_lock_costs_more_between_nodes() {
    let cycle_on = |nodes| {
        let world = World::new(SimMachine {
            lock_ns: 2_000,
            handover_ns: 500,
            remote_ns: 300,
            nodes,
            ..machine()
        });
        let devices = SimDevices::default();
        let jobs = [0, 3].map(|cpu| job("sim:50ns,servers=2", &devices, cpu, "poll"));
        let mut lane = go(&world, 20, jobs.into()).unwrap().lanes.remove(0);
        lane.samples.drain(..5);
        cycle(&lane)
    };
    assert_eq!(cycle_on(1), 2 * 2_500);
    assert_eq!(cycle_on(2), 2 * 2_800);
}

/// Each of four CPUs takes a quarter of the interrupts of a lane. The lane loses no time by it.
#[test]
fn spread_interrupts_are_taken_by_all_cpus_in_turn() {
    let world = World::new(SimMachine {
        irq: IrqPlacement::Spread,
        ..machine()
    });
    let job = job("sim:80us", &SimDevices::default(), 1, "interrupt");
    let lane = go(&world, 100, vec![job]).unwrap().lanes.remove(0);
    assert_eq!(cycle(&lane), 83_600);
    let counters = world.counters();
    let ios = lane.phases[0].ios;
    for cpu in &counters.cpus {
        assert!(cpu.interrupts.abs_diff(ios / 4) <= 1, "{counters:?}");
        // The lane starts by a timer.
        let timer_ns = if cpu.threads_ns > 0 { 400 } else { 0 };
        assert_eq!(cpu.interrupts_ns, timer_ns + cpu.interrupts * 1_000);
    }
}

/// Two polling lanes take turns of 3 ms on one CPU; a third lane has a CPU to itself. Each of the
/// two has half of their CPU; while the other one runs, it sees no completion.
#[test]
fn lanes_on_one_cpu_take_turns() {
    let world = World::new(machine());
    let devices = SimDevices::default();
    let target = "sim:80us,servers=3";
    let jobs = [0, 0, 1].map(|cpu| job(target, &devices, cpu, "poll"));
    let data = go(&world, 600, jobs.into()).unwrap();
    let phases = data.lanes.iter().map(|lane| &lane.phases[0]);
    let cpu: Vec<u64> = phases.map(|p| p.end.cpu_ns - p.begin.cpu_ns).collect();
    assert!(cpu[0].abs_diff(300_000_000) < 4_000_000, "{cpu:?}");
    assert!(cpu[0] + cpu[1] <= 604_000_000, "{cpu:?}");
    assert!(cpu[2] >= 600_000_000, "{cpu:?}");
    let longest = |lane: &LaneData| lane.samples.iter().map(|s| s.wait_ns).max().unwrap();
    assert!((3_000_000..3_100_000).contains(&longest(&data.lanes[0])));
    assert_eq!(longest(&data.lanes[2]), 80_000);
    assert!(data.lanes[0].phases[0].end.switches.involuntary >= 90);
}

/// A lane that waits for interrupts leaves its CPU to one that polls, except for its own steps.
#[test]
fn a_sleeping_lane_leaves_its_cpu_to_a_polling_one() {
    let world = World::new(machine());
    let devices = SimDevices::default();
    let mut sleeps = job("sim:5ms,servers=2", &devices, 0, "interrupt");
    sleeps.name = "sleeps".to_owned();
    let polls = job("sim:80us", &devices, 0, "poll");
    let data = go(&world, 300, vec![sleeps, polls]).unwrap();
    let [few, many] = [0, 1].map(|lane: usize| data.lanes[lane].phases[0].ios);
    assert!(many > 3_650 && (35..=60).contains(&few), "{few} {many}");
}

#[test]
fn a_run_is_a_function_of_its_seed() {
    let once = |seed: u64| {
        let world = World::new(machine());
        let devices = SimDevices::default();
        let target = "sim:lognormal(60us,0.4),servers=2";
        let lanes = [0, 0, 1, 2].map(|cpu| JobPlan {
            seed: seed + u64::from(cpu),
            ..job(target, &devices, cpu, "hybrid:mean:50%,1ms")
        });
        let data = go(&world, 50, lanes.into()).unwrap();
        let lanes = data.lanes.into_iter();
        let records: Vec<_> = lanes.map(|l| (l.samples, l.cpu_readings)).collect();
        (records, world.counters())
    };
    assert_eq!(once(7), once(7));
    assert_ne!(once(7).0, once(8).0);
}

/// A polled I/O takes 80,600 ns and an interrupt-driven one 83,600 ns. A slice of the live run is
/// what a lane did between two cuts. It ends with the first I/O that ends after its cut, and the
/// listener hears of it then. The listener gives an order when slice 5 has begun, so the order
/// holds from slice 6.
#[test]
fn slices_of_a_live_run_are_heard_when_they_end() {
    let world = World::new(machine());
    let plan = LivePlan {
        jobs: vec![job("sim:80us", &SimDevices::default(), 0, "poll")],
        slice: Nanos::from_millis(10),
        listener_cpu: None,
        time: world.clone().into(),
        samples: false,
    };
    let listen = |live_run: &mut Live<'_>| {
        let begun = world.now();
        assert_eq!(live_run.hear(Duration::from_millis(1)), LiveAnswer::Nothing);
        assert_eq!(world.now(), begun + 1_000_000);
        let mut slices = Vec::new();
        while slices.len() < 10 {
            let LiveAnswer::Slice(slice) = live_run.hear(Duration::from_secs(1)) else {
                panic!("a slice takes 10 ms");
            };
            assert_eq!(world.now(), slice.span.1);
            if slice.number == 4 {
                let order = live_run.order(vec![Activity::Start(wait("interrupt"))]);
                assert_eq!(order.unwrap(), 1);
            }
            slices.push(slice);
        }
        (live_run.start_ns(), slices)
    };
    let ((start, slices), _) = live(plan, &AtomicBool::new(false), listen).unwrap();
    let mut begin = start + machine().wake_delay_ns;
    for (number, slice) in (0..).zip(slices) {
        let (order, cycle) = if number < 6 { (0, 80_600) } else { (1, 83_600) };
        let ios = (start + (number + 1) * 10_000_000 - begin).div_ceil(cycle);
        let end = begin + ios * cycle;
        assert_eq!((slice.number, slice.order), (number, order));
        assert_eq!((slice.stats.ios, slice.span), (ios, (begin, end)));
        begin = end;
    }
}

/// The clock and the counters continue from run to run. A run starts after 3 ms, and takes 10 ms.
#[test]
fn a_world_outlives_its_runs() {
    let world = World::new(machine());
    let devices = SimDevices::default();
    go(&world, 10, vec![job("sim:80us", &devices, 0, "poll")]).unwrap();
    let first = world.now();
    let data = go(&world, 10, vec![job("sim:80us", &devices, 0, "poll")]).unwrap();
    assert!(data.start_ns > first && world.now() >= first + 3_000_000 + 10_000_000);
    assert!(world.counters().cpus[0].threads_ns >= 20_000_000);
}

#[test]
fn what_cannot_be_simulated_is_refused_by_name() {
    let devices = SimDevices::default();
    let refused = |job: JobPlan| {
        let error = go(&World::new(machine()), 10, vec![job]).unwrap_err();
        error.to_string()
    };
    let elsewhere = refused(job("sim:80us", &devices, 4, "poll"));
    assert!(elsewhere.contains("CPUs 0 to 3"), "{elsewhere}");
    let real = JobPlan {
        medium: Medium::None,
        engine: "io_uring:ring".parse().unwrap(),
        ..job("sim:80us", &devices, 0, "poll")
    };
    let real = refused(real);
    assert!(real.contains("io_uring:ring in simulated time"), "{real}");
}

/// Steps that cost nothing are no problem if the device takes time: a lane here does more I/Os than
/// the steps that a run may do without progress. If the device takes no time either, the run is
/// refused as stuck, even if a look takes 1 ns, the least allowed.
#[test]
fn a_machine_without_costs_is_stuck_where_nothing_else_takes_time() {
    let free = SimMachine {
        submission_ns: 0,
        turnaround_ns: 0,
        look_ns: 1,
        switch_ns: 0,
        interrupt_ns: 0,
        interrupt_delay_ns: 0,
        ..machine()
    };
    let run = |target: &str, method: &str, ms: u64| {
        let lane = job(target, &SimDevices::default(), 0, method);
        go(&World::new(free.clone()), ms, vec![lane])
    };
    let ios = run("sim:1us", "interrupt", 1_100).unwrap().lanes[0].phases[0].ios;
    assert!((1_099_990..=1_100_000).contains(&ios), "{ios}");
    let (poll, interrupt) = ("poll", "interrupt");
    for (target, method) in [("null", poll), ("sim:0us", poll), ("sim:0us", interrupt)] {
        let stuck = run(target, method, 1_100).unwrap_err();
        let is_stuck = matches!(stuck, RunError::Stuck { .. });
        assert!(is_stuck, "{target} {method}: {stuck}");
    }
}

#[test]
fn a_lane_that_panics_ends_the_run() {
    struct Panics;
    impl q2c_policy::Lane for Panics {
        fn decide(&mut self, _: Io, _: Nanos) -> (Decision, Token) {
            panic!("as the test wants");
        }
        fn complete(&mut self, _: Io, _: Token, _: Outcome, _: Nanos) {}
    }
    let devices = SimDevices::default();
    let mut bad = job("sim:80us", &devices, 1, "poll");
    bad.activities = vec![Activity::Start(Wait::Hybrid(Box::new(Panics)))];
    let good = job("sim:80us", &devices, 0, "poll");
    let error = go(&World::new(machine()), 10, vec![good, bad]).unwrap_err();
    assert!(matches!(error, RunError::Panic(name) if name == "lane on 1"));
}
