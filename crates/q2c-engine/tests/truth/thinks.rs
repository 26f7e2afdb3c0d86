use crate::ends::raising_job;
use crate::plan::{MS, STEPS, SWITCH, TURNAROUND, WAKE, hybrid, ios_in, job, plan, run, run_one};
use q2c_engine::{Activity, JobPlan, LaneData, Wait};
use q2c_model::Nanos;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

const THINK: u64 = 300_000;

/// A lane on a device of 100 us that thinks for `think` ns, in phases of these lengths.
fn thinking(wait: Wait, think: u64, phases_ms: &[u64], capacity: usize) -> LaneData {
    let mut activities = vec![Activity::Start(wait)];
    activities.resize_with(phases_ms.len(), || Activity::Continue);
    let job = JobPlan {
        think: Some(Nanos(think)),
        capacity,
        ..job("sim:100us", activities)
    };
    run_one(phases_ms, job)
}

/// Checks the time from each reaping to the next submission, also across the end of a phase. The
/// first is late by a wake-up and a turnaround. Each later one corrects a quarter of the previous
/// lateness, in whole nanoseconds: from the 40th on the think time is exact to 4 ns.
fn assert_gaps(lane: &LaneData, think: u64) {
    let pairs = lane.samples.windows(2);
    let gaps: Vec<u64> = pairs
        .map(|pair| pair[1].submit_ns - pair[0].reaped_ns())
        .collect();
    let lateness = std::iter::successors(Some(WAKE + TURNAROUND), |late| Some(late - late / 4));
    let wanted: Vec<u64> = lateness.map(|late| think + late).take(gaps.len()).collect();
    assert_eq!(gaps, wanted);
    let settled = gaps.iter().skip(40);
    assert!(settled.copied().all(|gap| gap - think < 4), "{gaps:?}");
}

/// The thread needs its CPU for its steps, for looks and for one switch per sleep.
#[test]
fn the_next_submission_comes_a_think_time_after_the_reaping() {
    let sleeps = hybrid("fixed:30us");
    for (wait, wait_ns, looks) in [
        (Wait::Poll, 100_000, 100_000),
        (Wait::Interrupt, 103_000, 0),
        (sleeps, 100_000, 70_000 - WAKE),
    ] {
        let lane = thinking(wait, THINK, &[60, 60], 100_000);
        assert_gaps(&lane, THINK);
        // The lateness of the first I/Os, about 10 us in all, is too small for another count.
        assert_eq!(lane.ios, ios_in(120, STEPS - TURNAROUND + wait_ns + THINK));
        let (begin, end) = (lane.phases[0].begin, lane.phases[1].end);
        let switches = (end.switches.voluntary - begin.switches.voluntary) * SWITCH;
        let spent = lane.ios * (STEPS + looks) + switches;
        assert_eq!(end.cpu_ns - begin.cpu_ns, spent);
    }
}

/// A lane that keeps no samples thinks as well.
#[test]
fn a_lane_without_samples_thinks() {
    let lane = thinking(Wait::Poll, THINK, &[120], 0);
    assert_eq!(lane.ios, ios_in(120, STEPS - TURNAROUND + 100_000 + THINK));
}

/// The think time of 50 ms continues over phases of 20 ms: there are I/Os at 0, 50 and 100 ms.
#[test]
fn a_think_time_goes_on_in_the_next_phase() {
    let lane = thinking(Wait::Poll, 50 * MS, &[20; 6], 100);
    let ios: Vec<u64> = lane.phases.iter().map(|phase| phase.ios).collect();
    assert_eq!(ios, [1, 0, 1, 0, 0, 1]);
    assert_gaps(&lane, 50 * MS);
}

/// A sleeping lane checks every 50 ms if it is stopped, and the sampler every 20 ms; otherwise the
/// lane would sleep for a minute.
#[test]
fn a_think_time_ends_when_the_run_is_stopped() {
    let thinks = JobPlan {
        think: Some(Nanos::from_millis(60_000)),
        ..job("sim:100us", vec![Activity::Start(Wait::Poll)])
    };
    let stop = Arc::new(AtomicBool::new(false));
    let plan = plan(&[60_000], vec![thinks, raising_job(&stop, 230)]);
    let data = q2c_engine::run(plan, &mut |_| {}, &stop).expect("a run");
    assert!(data.stopped && data.lanes[0].ios == 1);
    let end_ns = data.lanes[0].phases[0].end.t_ns - data.start_ns;
    assert!((230 * MS..301 * MS).contains(&end_ns), "{end_ns}");
}

#[test]
fn think_time_of_several_in_flight_or_at_a_rate_is_refused() {
    let one = || JobPlan {
        think: Some(Nanos(THINK)),
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
