use crate::plan::{Scripted, WAKE, job, plan, run, run_one};
use q2c_engine::measure::{combine, intervals, phase_stats};
use q2c_engine::{Activity, LaneData, Sample, Wait};
use q2c_model::Nanos;
use q2c_policy::Decision;

const LENGTH: Nanos = Nanos::from_millis(20);

/// A rule under which every third I/O sleeps and misses.
fn mixed() -> Wait {
    Scripted::wait(|n| match n % 3 {
        0 => Decision::Sleep(Nanos(300_000)),
        _ => Decision::Poll,
    })
}

fn two_phases() -> LaneData {
    let activities = vec![Activity::Start(mixed()), Activity::Continue];
    run_one(&[200, 110], job("sim:100us", activities))
}

#[test]
fn the_numbers_of_the_intervals_add_up_to_those_of_the_phase() {
    let lane = two_phases();
    for (phase, whole) in [(0, 10), (1, 5)] {
        let parts = intervals(&lane, phase, LENGTH);
        assert_eq!(parts.len(), whole);
        let data = &lane.phases[phase];
        let samples = lane.phase_samples(phase);
        let mut from = 0.0;
        let (mut ios, mut misses, mut asked) = (0.0, 0.0, 0.0);
        for part in &parts {
            let count = part.stats.iops() * (part.end_s - from);
            from = part.end_s;
            ios += count;
            misses += part.stats.miss_rate() * count;
            asked += part.stats.effective_sleep_ns() * count;
        }
        let edge = data.begin.t_ns + (from * 1e9).round() as u64;
        let inside: Vec<&Sample> = samples.iter().filter(|s| s.reaped_ns() < edge).collect();
        let missed = inside.iter().filter(|s| s.is(Sample::MISSED)).count();
        let sum: f64 = inside.iter().map(|s| f64::from(s.asked_ns)).sum();
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-3, "{a} {b}");
        near(ios, inside.len() as f64);
        near(misses, missed as f64);
        near(asked, sum);
        assert_eq!(samples.len() as u64, data.ios);
    }
}

/// The sampler's CPU in each interval is the lane's own. In the first interval the lane has not
/// woken when it begins.
#[test]
fn cpu_per_interval_follows_the_work() {
    let activities = vec![Activity::Start(Wait::Poll), Activity::Idle];
    let lane = run_one(&[200, 200], job("sim:100us", activities));
    for (phase, pct) in [(0, 100.0), (1, 0.0)] {
        let parts = intervals(&lane, phase, LENGTH);
        assert_eq!(parts.len(), 10);
        let most = 100.0 * (100_600 + 2 * WAKE) as f64 / LENGTH.0 as f64;
        for part in parts {
            let off = part.cpu_pct.expect("a reading") - pct;
            assert!(off.abs() <= most, "{off} in phase {phase}");
        }
    }
}

#[test]
fn lanes_together_are_the_sum_of_the_lanes() {
    let lanes = || (0..3).map(|_| job("sim:200us", vec![Activity::Start(mixed())]));
    let data = run(plan(&[100], lanes().collect())).unwrap();
    let lane_stats: Vec<_> = data.lanes.iter().map(|l| phase_stats(l, 0)).collect();
    let total = combine(&lane_stats);
    let ios: u64 = data.lanes.iter().map(|l| l.ios).sum();
    let latencies = total.latencies.len() as u64;
    assert_eq!((total.lanes, total.ios, latencies), (3, ios, ios));
    assert!(total.latencies.is_sorted());
    let mean_wall = lane_stats.iter().map(|s| s.wall_ns).sum::<f64>() / 3.0;
    let rate = total.iops() / (ios as f64 / mean_wall * 1e9);
    assert!((rate - 1.0).abs() < 1e-9, "{rate}");
}
