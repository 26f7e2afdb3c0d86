//! Tests of think time: a lane sleeps between its I/Os.

use crate::plan::{alone, hybrid, job, median_of, plan, run};
use q2c_engine::{Activity, JobPlan, LaneData, Wait};
use q2c_model::Nanos;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const THINK: Nanos = Nanos::from_micros(300);

/// A lane on a device of 100 us that thinks so long, in phases of these lengths.
fn thinking(wait: Wait, think: Nanos, phases_ms: &[u64], capacity: usize) -> LaneData {
    let mut activities = vec![Activity::Start(wait)];
    activities.resize_with(phases_ms.len(), || Activity::Continue);
    let job = JobPlan {
        think: Some(think),
        capacity,
        ..job("sim:100us", activities)
    };
    let data = run(plan(phases_ms, vec![job]));
    data.expect("a run that can be done").lanes.remove(0)
}

/// From each reaping to the next submission, also where a phase ends between them, ns.
fn gaps(lane: &LaneData) -> Vec<u64> {
    let pairs = lane.samples.windows(2);
    pairs
        .map(|pair| pair[1].submit_ns - pair[0].reaped_ns())
        .collect()
}

/// An I/O and its think time take 400 us, so that at most 300 fit into 120 ms, and the first one.
/// Nothing is submitted after the end. The thread has no need of a CPU in three quarters of the
/// time.
#[test]
fn the_next_submission_comes_a_think_time_after_the_reaping() {
    alone(
        "the_next_submission_comes_a_think_time_after_the_reaping",
        || {
            for wait in [|| Wait::Poll, || Wait::Interrupt, || hybrid("fixed:30us")] {
                let lane = thinking(wait(), THINK, &[60, 60], 100_000);
                let gaps = gaps(&lane);
                assert!(gaps.iter().all(|&gap| gap >= THINK.0), "{gaps:?}");
                assert!(median_of(gaps.into_iter()) < 600_000.0);
                assert!((50..=301).contains(&lane.ios), "{}", lane.ios);
                let (first, last) = (&lane.phases[0], &lane.phases[1]);
                let end_ns = first.begin.t_ns + 121_000_000;
                assert!(lane.samples.iter().all(|s| s.submit_ns < end_ns));
                let cpu = (last.end.cpu_ns - first.begin.cpu_ns) as f64;
                let wall = (last.end.t_ns - first.begin.t_ns) as f64;
                assert!(cpu / wall < 0.6, "{}", cpu / wall);
            }
        },
    );
}

/// A lane that keeps nothing of its I/Os thinks as well.
#[test]
fn a_lane_without_samples_thinks() {
    alone("a_lane_without_samples_thinks", || {
        let lane = thinking(Wait::Poll, THINK, &[120], 0);
        assert!((50..=301).contains(&lane.ios), "{}", lane.ios);
    });
}

/// The think time of 50 ms goes on over phases of 20 ms: in 120 ms there are I/Os at 0, 50 and
/// 100 ms, and phases have one or none.
#[test]
fn a_think_time_goes_on_in_the_next_phase() {
    alone("a_think_time_goes_on_in_the_next_phase", || {
        let lane = thinking(Wait::Poll, Nanos::from_millis(50), &[20; 6], 100);
        let ios: Vec<u64> = lane.phases.iter().map(|phase| phase.ios).collect();
        assert_eq!((ios[0], ios[1]), (1, 0), "{ios:?}");
        assert!((2..=3).contains(&lane.ios), "{ios:?}");
        assert!(gaps(&lane).iter().all(|&gap| gap >= 50_000_000));
    });
}

/// Without a look at what stops it, the lane would sleep for a minute.
#[test]
fn a_think_time_ends_when_the_run_is_stopped() {
    let job = JobPlan {
        think: Some(Nanos::from_millis(60_000)),
        ..job("sim:100us", vec![Activity::Start(Wait::Poll)])
    };
    let (plan, stop) = (plan(&[60_000], vec![job]), AtomicBool::new(false));
    let begun = Instant::now();
    let data = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(200));
            stop.store(true, Ordering::Relaxed);
        });
        q2c_engine::run(plan, &mut (), &stop).expect("a run")
    });
    assert!(data.stopped && data.lanes[0].ios <= 1);
    assert!(begun.elapsed() < Duration::from_secs(30));
}

#[test]
fn think_time_of_several_in_flight_or_at_a_rate_is_refused() {
    let one = || JobPlan {
        think: Some(THINK),
        ..job("sim:100us", vec![Activity::Start(Wait::Poll)])
    };
    let deep = JobPlan { depth: 2, ..one() };
    let paced = JobPlan {
        rate: Some(100.0),
        ..one()
    };
    for wrong in [deep, paced] {
        let error = run(plan(&[50], vec![wrong])).unwrap_err().to_string();
        assert!(error.contains("think time needs a closed loop"), "{error}");
    }
}
