//! Tests that the intervals of a phase add up to the phase.

use crate::plan::{Scripted, alone, job, plan, run};
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
    let mut data = run(plan(&[200, 110], vec![job("sim:100us", activities)])).expect("a run");
    data.lanes.remove(0)
}

#[test]
fn the_numbers_of_the_intervals_add_up_to_those_of_the_phase() {
    alone(
        "the_numbers_of_the_intervals_add_up_to_those_of_the_phase",
        || {
            let lane = two_phases();
            for phase in 0..2 {
                let parts = intervals(&lane, phase, LENGTH);
                let data = &lane.phases[phase];
                let samples = &lane.samples[data.samples.clone()];
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
                let inside: Vec<&Sample> =
                    samples.iter().filter(|s| s.reaped_ns() < edge).collect();
                let missed = inside.iter().filter(|s| s.is(Sample::MISSED)).count();
                let sum: f64 = inside.iter().map(|s| f64::from(s.asked_ns)).sum();
                assert!(
                    (ios - inside.len() as f64).abs() < 1e-3,
                    "{ios} of {}",
                    inside.len()
                );
                assert!(
                    (misses - missed as f64).abs() < 1e-3,
                    "{misses} of {missed}"
                );
                assert!((asked - sum).abs() < 1.0, "{asked} of {sum}");
                // The I/Os that are left out lie behind the last whole interval.
                let rest = data.end.t_ns - edge.min(data.end.t_ns);
                assert!(rest < LENGTH.0, "{rest} ns");
                assert_eq!(samples.len() as u64, data.ios);
            }
        },
    );
}

/// Ten intervals fit into 200 ms, however late the wake-up at the phase's begin was. The lane may
/// be late itself on a machine with other work.
#[test]
fn a_phase_of_ten_intervals_has_ten() {
    alone("a_phase_of_ten_intervals_has_ten", || {
        let counts = (0..5).map(|_| {
            let lane = two_phases();
            let late = lane.phases[0].end.t_ns - lane.phases[0].begin.t_ns;
            (intervals(&lane, 0, LENGTH).len(), late)
        });
        for (count, wall) in counts {
            let expected = (199_100_000..219_000_000).contains(&wall);
            assert!(count == 10 || !expected, "{count} intervals in {wall} ns");
        }
    });
}

/// The sampler's CPU in each interval is the lane's own: near 100 % while it polls, near 0 while it
/// rests.
#[test]
fn cpu_per_interval_follows_the_work() {
    alone("cpu_per_interval_follows_the_work", || {
        let activities = vec![Activity::Start(Wait::Poll), Activity::Idle];
        let data = run(plan(&[200, 200], vec![job("sim:100us", activities)])).unwrap();
        let lane = &data.lanes[0];
        let whole: Vec<f64> = (0..2).map(|p| phase_stats(lane, p).cpu_pct()).collect();
        // The lane has a whole CPU, or a share of it on a machine with other work.
        assert!(whole[0] > 10.0 && whole[1] < 5.0, "{whole:?} %");
        for (phase, whole) in whole.iter().enumerate() {
            let parts = intervals(lane, phase, LENGTH).into_iter();
            let known: Vec<f64> = parts.filter_map(|i| i.cpu_pct).collect();
            assert!(known.len() >= 7, "{known:?}");
            let mean = q2c_stats::mean(&known);
            // On a machine with other work a reading may lie some milliseconds beside its edge.
            assert!((mean - whole).abs() < 15.0, "{mean} % against {whole} %");
        }
    });
}

#[test]
fn lanes_together_are_the_sum_of_the_lanes() {
    alone("lanes_together_are_the_sum_of_the_lanes", || {
        let lanes = || (0..3).map(|_| job("sim:200us", vec![Activity::Start(mixed())]));
        let data = run(plan(&[100], lanes().collect())).unwrap();
        let each: Vec<_> = data.lanes.iter().map(|l| phase_stats(l, 0)).collect();
        let all = combine(&each);
        let ios: u64 = data.lanes.iter().map(|l| l.ios).sum();
        assert_eq!(
            (all.lanes, all.ios, all.latencies.len() as u64),
            (3, ios, ios)
        );
        assert!(all.latencies.is_sorted());
        let mean_wall = each.iter().map(|s| s.wall_ns).sum::<f64>() / 3.0;
        let rate = all.iops() / (ios as f64 / mean_wall * 1e9);
        assert!((rate - 1.0).abs() < 1e-9, "{rate}");
    });
}
