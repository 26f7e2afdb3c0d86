use crate::plan::{
    MS, STEPS, SWITCH, Scripted, WAKE, hybrid, ios_in, job, once, plan, run, run_one, run_watched,
    world,
};
use q2c_engine::measure::{combine_lanes, intervals, phase_stats};
use q2c_engine::{Activity, JobPlan, LaneData, Sample, Wait};
use q2c_model::stats::percentile;
use q2c_model::{CpuId, Nanos};
use q2c_policy::Decision;

/// A rule that sleeps for 1 us with the first I/O, 2 us with the second, and so on: the sleep shows
/// how often the rule was asked.
fn counting() -> Wait {
    Scripted::wait(|n| Decision::Sleep(Nanos(n * 1_000)))
}

/// The sleeps asked in a phase, us.
fn asked_us(lane: &LaneData, phase: usize) -> Vec<u32> {
    let samples = lane.phase_samples(phase).iter();
    samples.map(|s| s.asked_ns / 1_000).collect()
}

#[test]
fn what_a_start_ended_is_taken_up_again_with_its_state() {
    let activities = vec![
        Activity::Start(counting()),
        Activity::Start(Wait::Poll),
        Activity::Resume,
        Activity::Start(Wait::Poll),
        Activity::Resume,
    ];
    let lane = run_one(&[30; 5], job("sim:500us", activities));
    let slept = [0, 2, 4].map(|n| asked_us(&lane, n)).concat();
    assert_eq!(slept, (1..).take(slept.len()).collect::<Vec<u32>>());
    let polled = [1, 3].map(|n| asked_us(&lane, n)).concat();
    assert!(polled.iter().all(|&us| us == 0));
    // 30 ms have 59.9 I/Os.
    assert!(lane.phases.iter().all(|p| (59..=60).contains(&p.ios)));
}

#[test]
fn a_phase_starts_continues_or_rests() {
    let activities = vec![
        Activity::Start(counting()),
        Activity::Continue,
        Activity::Idle,
        Activity::Continue,
        Activity::Start(counting()),
        Activity::Start(Wait::Interrupt),
        Activity::Continue,
        Activity::Start(Wait::Poll),
    ];
    let lane = run_one(&[60; 8], job("sim:500us", activities));
    let sleeps = |from: u32, n: usize| (from..).take(asked_us(&lane, n).len()).collect::<Vec<_>>();
    assert_eq!(asked_us(&lane, 0), sleeps(1, 0));
    let first_ios = lane.phases[0].ios as u32;
    // The rule's state is kept.
    assert_eq!(asked_us(&lane, 1), sleeps(1 + first_ios, 1));
    // A new rule begins with no state.
    assert_eq!(asked_us(&lane, 4), sleeps(1, 4));
    for n in [5, 6] {
        let samples = lane.phase_samples(n);
        assert!(samples.iter().all(|s| s.flags == Sample::ONE_CALL));
    }
    assert!(lane.phase_samples(7).iter().all(|s| s.flags == 0));
    // 60 ms have 119.9 polled I/Os, or 119.1 by interrupts. Idle phases have none.
    for (n, phase) in lane.phases.iter().enumerate() {
        let works = ![2, 3].contains(&n);
        let wanted = if works { 119..=120 } else { 0..=0 };
        assert!(wanted.contains(&phase.ios), "phase {n}: {}", phase.ios);
    }
}

/// Requests stay in flight, a rule keeps its state, and a cut takes no time: the I/Os are those of
/// a single phase.
#[test]
fn a_phase_that_goes_on_changes_no_io() {
    let (mean, ehp) = (|| hybrid("mean:50%,1ms"), || hybrid("ehp"));
    let methods: [fn() -> Wait; 4] = [|| Wait::Poll, || Wait::Interrupt, mean, ehp];
    for (depth, method) in [1, 4].into_iter().flat_map(|n| methods.map(|m| (n, m))) {
        let samples = |phases_ms: &[u64]| {
            let mut activities = vec![Activity::Start(method())];
            activities.resize_with(phases_ms.len(), || Activity::Continue);
            let job = JobPlan {
                depth,
                ..job("sim:lognormal(80us,0.4),servers=3", activities)
            };
            run_one(phases_ms, job).samples
        };
        let uncut = samples(&[30]);
        assert!(uncut.len() > 200);
        assert_eq!(samples(&[11, 2, 17]), uncut, "depth {depth}");
    }
}

/// The lane sleeps for 50 ms at a time, so that it sees a stop.
#[test]
fn an_idle_lane_does_no_io_and_takes_no_cpu() {
    let lane = run_one(&[150], job("null", vec![Activity::Idle]));
    let phase = &lane.phases[0];
    assert_eq!((phase.ios, phase.samples.len(), lane.ios), (0, 0, 0));
    assert_eq!(phase.end.t_ns - phase.begin.t_ns, 150 * MS);
    assert_eq!(phase.end.cpu_ns - phase.begin.cpu_ns, 3 * SWITCH);
}

/// A lane ends a phase of work with the first I/O after its end, and a rest when it has woken.
#[test]
fn phases_come_at_their_time_and_the_observer_is_told() {
    let poll = || Activity::Start(Wait::Poll);
    let activities = vec![poll(), Activity::Idle, poll()];
    let world = world();
    let mut plan = plan(&[40, 80, 20], vec![job("sim:100us", activities)]);
    plan.time = world.clone().into();
    let mut boundaries = Vec::new();
    let data = run_watched(plan, &mut |phase| boundaries.push((phase, world.now()))).unwrap();
    let edges = [0, 40, 120, 140].map(|ms| data.start_ns + ms * MS);
    let expected: Vec<(usize, u64)> = edges.into_iter().enumerate().collect();
    assert_eq!(boundaries, expected);
    let lane = &data.lanes[0];
    let work = |ms| ios_in(ms, STEPS + 100_000) * (STEPS + 100_000);
    let (work_1, work_2) = (edges[0] + WAKE, edges[2] + WAKE);
    let marks = [work_1, work_1 + work(40), work_2, work_2 + work(20)];
    for (n, phase) in lane.phases.iter().enumerate() {
        assert_eq!((phase.begin.t_ns, phase.end.t_ns), (marks[n], marks[n + 1]));
        let span = phase.begin.t_ns..=phase.end.t_ns;
        let inside = |s: &Sample| span.contains(&s.submit_ns) && span.contains(&s.reaped_ns());
        assert!(lane.phase_samples(n).iter().all(inside));
    }
    assert!(!data.stopped);
}

#[test]
fn all_lanes_begin_together() {
    let jobs = (0..4).map(|n| JobPlan {
        cpu: CpuId(n),
        ..job("sim:200us", vec![Activity::Start(Wait::Interrupt)])
    });
    let data = run(plan(&[100], jobs.collect())).unwrap();
    for lane in &data.lanes {
        assert_eq!(lane.phases[0].begin.t_ns, data.start_ns + WAKE);
    }
}

#[test]
fn what_does_not_fit_is_counted_and_not_recorded() {
    for capacity in [0, 10] {
        let activities = vec![Activity::Start(Wait::Poll), Activity::Continue];
        let mut job = job("sim:100us", activities);
        job.capacity = capacity;
        let lane = run_one(&[40, 40], job);
        assert_eq!(lane.samples.len(), capacity);
        assert_eq!(lane.ios, ios_in(80, STEPS + 100_000));
        assert_eq!(lane.phases.iter().map(|p| p.ios).sum::<u64>(), lane.ios);
        assert_eq!(lane.phases[0].ios, ios_in(40, STEPS + 100_000));
        assert_eq!(lane.phases[0].samples, 0..capacity);
        assert_eq!(lane.phases[1].samples, capacity..capacity);
    }
    let fitting = once("sim:100us", Wait::Poll, 40);
    assert_eq!(fitting.samples.len() as u64, fitting.ios);
}

/// The tally and the samples agree phase by phase; the tally still counts when there is no more
/// room for samples.
#[test]
fn a_tally_counts_what_the_samples_say_and_what_they_lack() {
    let run_with = |capacity| {
        let waits = [Wait::Poll, hybrid("fixed:30us")];
        let activities = waits.map(Activity::Start).into();
        let job = JobPlan {
            tally: true,
            capacity,
            ..job("sim:100us", activities)
        };
        run_one(&[60, 60], job)
    };
    let lane = run_with(100_000);
    for (number, phase) in lane.phases.iter().enumerate() {
        let (tally, stats) = (phase.tally.as_ref().unwrap(), phase_stats(&lane, number));
        assert_eq!(tally.latencies.count(), phase.ios);
        assert_eq!(tally.sleeps, stats.sleeps);
        let mean = q2c_model::stats::mean(&stats.latencies);
        assert!((tally.latencies.mean() - mean).abs() < 1e-6 * mean);
        let p99 = percentile(&stats.latencies, 0.99);
        assert!((tally.latencies.percentile(0.99) - p99).abs() <= 0.008 * p99);
    }
    assert_eq!(lane.phases[0].tally.as_ref().unwrap().sleeps.handled, 0);
    let without_room = run_with(0);
    for (phase, other) in without_room.phases.iter().zip(&lane.phases) {
        assert_eq!(phase.tally, other.tally);
        assert!(phase.samples.is_empty());
    }
}

const INTERVAL: Nanos = Nanos::from_millis(20);

/// A rule under which every third I/O sleeps and misses.
fn every_third_misses() -> Wait {
    Scripted::wait(|n| match n % 3 {
        0 => Decision::Sleep(Nanos(300_000)),
        _ => Decision::Poll,
    })
}

fn two_phases() -> LaneData {
    let activities = vec![Activity::Start(every_third_misses()), Activity::Continue];
    run_one(&[200, 110], job("sim:100us", activities))
}

#[test]
fn the_numbers_of_the_intervals_add_up_to_those_of_the_phase() {
    let lane = two_phases();
    for (phase, interval_count) in [(0, 10), (1, 5)] {
        let parts = intervals(&lane, phase, INTERVAL);
        assert_eq!(parts.len(), interval_count);
        let data = &lane.phases[phase];
        let samples = lane.phase_samples(phase);
        let mut begin_s = 0.0;
        let (mut ios, mut misses, mut asked_ns) = (0.0, 0.0, 0.0);
        for part in &parts {
            let count = part.stats.iops() * (part.end_s - begin_s);
            begin_s = part.end_s;
            ios += count;
            misses += part.stats.miss_rate() * count;
            asked_ns += part.stats.effective_sleep_ns() * count;
        }
        let edge = data.begin.t_ns + (begin_s * 1e9).round() as u64;
        let inside: Vec<&Sample> = samples.iter().filter(|s| s.reaped_ns() < edge).collect();
        let missed = inside.iter().filter(|s| s.is(Sample::MISSED)).count();
        let sum: f64 = inside.iter().map(|s| f64::from(s.asked_ns)).sum();
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-3, "{a} {b}");
        near(ios, inside.len() as f64);
        near(misses, missed as f64);
        near(asked_ns, sum);
        assert_eq!(samples.len() as u64, data.ios);
    }
}

/// In each interval the sampler's CPU time equals the lane's own. The lane has not woken yet when
/// the first interval begins.
#[test]
fn cpu_per_interval_follows_the_work() {
    let activities = vec![Activity::Start(Wait::Poll), Activity::Idle];
    let lane = run_one(&[200, 200], job("sim:100us", activities));
    for (phase, pct) in [(0, 100.0), (1, 0.0)] {
        let parts = intervals(&lane, phase, INTERVAL);
        assert_eq!(parts.len(), 10);
        let most = 100.0 * (100_600 + 2 * WAKE) as f64 / INTERVAL.0 as f64;
        for part in parts {
            let off = part.cpu_pct.expect("a reading") - pct;
            assert!(off.abs() <= most, "{off} in phase {phase}");
        }
    }
}

#[test]
fn lanes_together_are_the_sum_of_the_lanes() {
    let lanes = || (0..3).map(|_| job("sim:200us", vec![Activity::Start(every_third_misses())]));
    let data = run(plan(&[100], lanes().collect())).unwrap();
    let lane_stats: Vec<_> = data.lanes.iter().map(|l| phase_stats(l, 0)).collect();
    let total = combine_lanes(&lane_stats);
    let ios: u64 = data.lanes.iter().map(|l| l.ios).sum();
    let latencies = total.latencies.len() as u64;
    assert_eq!((total.lanes, total.ios, latencies), (3, ios, ios));
    assert!(total.latencies.is_sorted());
    let mean_wall = lane_stats.iter().map(|s| s.wall_ns).sum::<f64>() / 3.0;
    let rate = total.iops() / (ios as f64 / mean_wall * 1e9);
    assert!((rate - 1.0).abs() < 1e-9, "{rate}");
}
