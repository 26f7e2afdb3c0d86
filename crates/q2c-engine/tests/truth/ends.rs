use crate::plan::{BLOCK, MS, Scripted, hybrid, job, plan, run, run_watched, world};
use q2c_engine::engine::EngineError;
use q2c_engine::{Activity, JobPlan, RunError, RunPlan, Wait, floor};
use q2c_model::{Bytes, CpuId, Nanos};
use q2c_policy::Decision;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A plan of a minute in which lanes rest, sleep, poll and wait.
pub(crate) fn minute_plan() -> RunPlan {
    let start = Activity::Start;
    let slept = start(hybrid("fixed:500us"));
    let sleeps = vec![slept, Activity::Idle, start(Wait::Poll)];
    let rests = vec![Activity::Idle, Activity::Idle, start(Wait::Interrupt)];
    let deep_activities = vec![start(Wait::Interrupt), Activity::Idle, Activity::Idle];
    let deep = JobPlan {
        depth: 8,
        ..job("sim:1ms,servers=2", deep_activities)
    };
    let jobs = vec![job("sim:1ms", sleeps), job("sim:1ms", rests), deep];
    plan(&[60, 60, 60_000], jobs)
}

/// A lane that raises the flag with its I/O number `nth`, on a device of 1 ms.
pub(crate) fn raising_job(stop: &Arc<AtomicBool>, nth: u64) -> JobPlan {
    let stop = Arc::clone(stop);
    let rule = Scripted::wait(move |n| {
        stop.fetch_or(n == nth, Ordering::Relaxed);
        Decision::Poll
    });
    JobPlan {
        cpu: CpuId(2),
        ..job("sim:1ms", vec![Activity::Start(rule)])
    }
}

/// The flag is raised at many moments: before the start, during work, at rest, at the edges of
/// phases. The sampler checks it every 20 ms, a resting lane checks every 50 ms, and eight requests
/// on two servers end after 4 ms. Three lanes share one CPU.
#[test]
fn stop_ends_a_run_within_a_tenth_of_a_second() {
    for after_ms in [0, 1, 4, 40, 62, 95, 123, 180] {
        let stop = Arc::new(AtomicBool::new(after_ms == 0));
        let mut plan = minute_plan();
        let mut raising = raising_job(&stop, after_ms);
        raising.activities.resize_with(3, || Activity::Continue);
        plan.jobs.push(raising);
        let data = q2c_engine::run(plan, &mut |_| {}, &stop).expect("a stopped run is no error");
        assert!(data.stopped && data.lanes.len() == 4);
        let marks = data.lanes.iter().filter_map(|lane| lane.phases.last());
        let taken = marks.map(|phase| phase.end.t_ns).max().unwrap() - data.start_ns;
        let most = (after_ms + 20 + 50 + 5) * MS;
        let wanted = after_ms * MS..most;
        assert!(wanted.contains(&taken), "{after_ms} ms: {taken}");
    }
}

/// The fault comes in the first interval, so there is only the reading at its begin.
#[test]
fn a_stopped_run_tells_its_end_and_no_phase_that_never_began() {
    let activities = vec![Activity::Start(Wait::Poll), Activity::Idle, Activity::Idle];
    let mut failing = job("fault:eio@3:sim:100us", activities);
    failing.stop_on_fault = true;
    let mut phases = Vec::new();
    let plan = plan(&[9_000; 3], vec![failing]);
    let data = run_watched(plan, &mut |phase| phases.push(phase)).unwrap();
    assert_eq!((phases, data.stopped), (vec![0, 3], true));
    assert_eq!(data.lanes[0].cpu_readings.len(), 1);
}

pub(crate) fn polling(engine: &str) -> JobPlan {
    job(engine, vec![Activity::Start(Wait::Poll)])
}

type IsRight = fn(&RunError) -> bool;

/// Jobs with which no run is possible, each with a check of its error.
pub(crate) fn bad_jobs() -> Vec<(JobPlan, IsRight)> {
    let far = JobPlan {
        cpu: CpuId(1023),
        ..polling("null")
    };
    let pin = |e: &RunError| {
        let cause = |source: &_| matches!(source, EngineError::Pin { cpu: 1023, .. });
        let text = e.to_string();
        matches!(e, RunError::Lane { source, .. } if cause(source))
            && text.starts_with("run lane on null: pin a job to CPU 1023")
    };
    // On a real machine there is no memory for this capacity.
    let huge = JobPlan {
        capacity: usize::MAX,
        ..polling("null")
    };
    let ninth = |n| {
        assert!(n < 9, "a rule that breaks, on purpose");
        Decision::Poll
    };
    let breaks = job("sim:100us", vec![Activity::Start(Scripted::wait(ninth))]);
    let set_up = |e: &RunError| {
        let cause = |source: &_| matches!(source, EngineError::Samples { .. });
        matches!(e, RunError::Lane { lane, source } if lane == "lane on null" && cause(source))
    };
    let at_work = |e: &RunError| matches!(e, RunError::Panic(lane) if lane == "lane on sim:100us");
    vec![(far, pin), (huge, set_up), (breaks, at_work)]
}

/// A plan of three lanes, of which the second is `bad`.
pub(crate) fn with_bad(bad: JobPlan) -> RunPlan {
    let good = || job("sim:100us", vec![Activity::Idle]);
    plan(&[60_000], vec![good(), bad, good()])
}

#[test]
fn a_lane_that_cannot_be_set_up_or_breaks_is_an_error() {
    // In a world memory for samples grows when it is needed, so that no capacity is too large.
    let bad = bad_jobs().into_iter();
    for (bad, is_right) in bad.filter(|(job, _)| job.capacity < usize::MAX) {
        let error = run(with_bad(bad)).unwrap_err();
        assert!(is_right(&error), "{error}");
    }
}

pub(crate) fn break_on_purpose(_: usize) {
    panic!("an observer that breaks, on purpose");
}

#[test]
fn an_observer_that_panics_ends_the_run() {
    let plan = plan(&[60_000], vec![polling("sim:100us")]);
    let error = run_watched(plan, &mut break_on_purpose).unwrap_err();
    assert!(matches!(error, RunError::Panic(who) if who == "sampler"));
}

#[test]
fn contradictions_are_refused_with_a_reason() {
    let wrong = |change: fn(&mut JobPlan)| {
        let mut job = job("sim:1ms", vec![Activity::Start(hybrid("fixed:1us"))]);
        change(&mut job);
        match run(plan(&[60_000], vec![job])) {
            Err(RunError::Plan { problem, .. }) => problem,
            other => panic!("{other:?}"),
        }
    };
    let in_one_call = wrong(|job| job.engine = "pvsync2".parse().unwrap());
    assert!(in_one_call.contains("no time to sleep in"), "{in_one_call}");
    assert!(wrong(|job| job.depth = 0).contains("depth"));
    assert!(wrong(|job| job.bs = Bytes(0)).contains("block size"));
    assert!(wrong(|job| job.span = Bytes(u64::from(BLOCK) - 1)).contains("smaller than one block"));
    assert!(wrong(|job| job.activities.clear()).contains("every phase needs an activity"));
    let mut plan = plan(&[60_000], vec![polling("null")]);
    plan.interval = Nanos::ZERO;
    assert!(matches!(run(plan), Err(RunError::Plan { .. })));
}

/// An I/O that takes no time on the engine costs only the turnaround.
#[test]
fn the_floor_is_the_turnaround() {
    let time = world().into();
    assert_eq!(floor::measure(&time, CpuId(0)).unwrap(), 100.0);
    assert_eq!(floor::measure_counting(&time, CpuId(0)).unwrap(), 100.0);
}
