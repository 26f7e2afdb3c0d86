use crate::ends::bad_jobs;
use crate::plan::{INTERRUPT, MS, STEPS, Scripted, WAKE, hybrid, job, world};
use q2c_engine::engine::EngineError;
use q2c_engine::{
    Activity, JobPlan, Live, LiveAnswer, LivePlan, LiveSlice, RunData, RunError, TimeSource, Wait,
};
use q2c_model::{CpuId, Nanos};
use q2c_policy::Decision;
use q2c_policy::method::Means;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const SLICE: Nanos = Nanos::from_millis(20);
/// A time that is longer than any slice.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) fn live_plan(jobs: Vec<JobPlan>, time: TimeSource) -> LivePlan {
    LivePlan {
        jobs,
        slice: SLICE,
        listener_cpu: None,
        time,
        samples: false,
    }
}

fn live<T: Send>(
    jobs: Vec<JobPlan>,
    listen: impl FnOnce(&mut Live<'_>) -> T + Send,
) -> Result<(T, RunData), RunError> {
    let plan = live_plan(jobs, world().into());
    q2c_engine::live(plan, &AtomicBool::new(false), listen)
}

pub(crate) fn starting(engine: &str, wait: Wait) -> JobPlan {
    job(engine, vec![Activity::Start(wait)])
}

/// The next `n` slices.
pub(crate) fn hear(live: &mut Live<'_>, n: usize) -> Vec<LiveSlice> {
    let one = |_| match live.hear(PATIENCE) {
        LiveAnswer::Slice(slice) => *slice,
        other => panic!("{other:?}"),
    };
    (0..n).map(one).collect()
}

/// The slices heard until `n` of them were under order number `order`.
fn hear_under(live: &mut Live<'_>, order: u64, n: usize) -> Vec<LiveSlice> {
    let mut slices: Vec<LiveSlice> = Vec::new();
    while slices.iter().filter(|s| s.order == order).count() < n {
        slices.extend(hear(live, 1));
    }
    slices
}

/// Checks that each slice of the one lane begins where the previous one ended, in the next slice of
/// time, and that its latencies contain every I/O.
fn assert_whole(slices: &[LiveSlice]) {
    for pair in slices.windows(2) {
        assert_eq!(pair[0].span.1, pair[1].span.0, "a gap");
        assert_eq!(pair[0].number + 1, pair[1].number);
    }
    for slice in slices {
        let stats = &slice.stats;
        assert_eq!(stats.ios, stats.latencies.len() as u64, "{}", slice.number);
        assert_eq!(stats.wall_ns, (slice.span.1 - slice.span.0) as f64);
    }
}

/// A slice ends with the first I/O after its edge. What the lane did after the last slice heard is
/// part of a slice: the listener looks every half millisecond.
#[test]
fn slices_come_one_after_the_other_and_lose_nothing() {
    const CYCLE: u64 = STEPS + 100_000;
    let job = starting("sim:100us", Wait::Poll);
    let heard = live(vec![job], |live| (hear(live, 10), live.start_ns()));
    let ((slices, start_ns), data) = heard.unwrap();
    assert_whole(&slices);
    assert_eq!(slices[0].span.0, start_ns + WAKE);
    for slice in &slices {
        let edge = start_ns + (slice.number + 1) * SLICE.0;
        assert!((edge..edge + CYCLE).contains(&slice.span.1), "{slice:?}");
        assert_eq!(slice.stats.ios * CYCLE, slice.span.1 - slice.span.0);
    }
    let heard: u64 = slices.iter().map(|s| s.stats.ios).sum();
    let lane = &data.lanes[0];
    let ios = lane.ios;
    assert!((heard..heard + 8).contains(&ios), "{heard} of {ios}");
    assert!(lane.phases.is_empty() && !data.stopped);
    assert_eq!(slices[0].facts.polls_by, Means::Memory);
}

/// On a device of 1 ms interrupts leave the CPU and polling does not. A rule of 200 us sleeps for
/// 200 us without misses; one of 1.5 ms always misses.
#[test]
fn an_order_changes_what_is_done_and_is_told_apart() {
    let job = starting("sim:1ms", Wait::Interrupt);
    let heard = live(vec![job], |live| {
        let mut slices = hear(live, 3);
        for wait in [Wait::Poll, hybrid("fixed:200us"), hybrid("fixed:1500us")] {
            let number = live.order(vec![Activity::Start(wait)]).unwrap();
            slices.extend(hear_under(live, number, 3));
        }
        slices
    });
    let (slices, _) = heard.unwrap();
    assert_whole(&slices);
    assert!(slices.is_sorted_by_key(|s| s.order));
    for LiveSlice { order, stats, .. } in &slices {
        let asked = [0, 0, 200_000, 1_500_000][*order as usize];
        let slept = if asked > 0 { stats.ios } else { 0 };
        assert_eq!((stats.sleeps.handled, stats.sleeps.slept), (slept, slept));
        assert_eq!(stats.sleeps.asked_ns, stats.ios * asked);
        assert_eq!(stats.sleeps.misses, if *order == 3 { stats.ios } else { 0 });
        assert_eq!(stats.voluntary, if *order == 1 { 0 } else { stats.ios });
    }
}

/// Every third I/O sleeps and misses.
#[test]
fn a_rules_miss_rate_is_that_of_its_slices() {
    let third = Scripted::wait(|n| match n % 3 {
        0 => Decision::Sleep(Nanos(300_000)),
        _ => Decision::Poll,
    });
    let (slices, _) = live(vec![starting("sim:100us", third)], |live| hear(live, 10)).unwrap();
    let (mut misses, mut handled) = (0, 0);
    for LiveSlice { stats, .. } in &slices {
        (misses, handled) = (misses + stats.sleeps.misses, handled + stats.sleeps.handled);
        assert_eq!(handled / 3, misses, "the first of all is number 1");
        assert_eq!(stats.sleeps.asked_ns, stats.sleeps.misses * 300_000);
    }
}

/// Two lanes take an order at the same edge, though only one of them gets a new activity.
#[test]
fn lanes_change_together() {
    let mut second = job("sim:100us", vec![Activity::Idle]);
    second.cpu = CpuId(1);
    let jobs = vec![starting("sim:100us", Wait::Interrupt), second];
    let heard = live(jobs, |live| {
        let mut slices = hear(live, 4);
        for n in 1..=5 {
            let second = match n % 2 {
                1 => Activity::Start(Wait::Interrupt),
                _ => Activity::Idle,
            };
            let number = live.order(vec![Activity::Continue, second]).unwrap();
            assert_eq!(number, n);
            slices.extend(hear_under(live, number, 4));
        }
        slices
    });
    let (slices, _) = heard.unwrap();
    for order in 1..=5 {
        let first_of = |lane| slices.iter().find(|s| s.lane == lane && s.order == order);
        assert_eq!(first_of(0).unwrap().number, first_of(1).unwrap().number);
    }
    for slice in &slices {
        let works = slice.lane == 0 || slice.order % 2 == 1;
        assert_eq!(slice.stats.ios > 0, works, "{slice:?}");
    }
}

fn eight() -> JobPlan {
    JobPlan {
        depth: 8,
        ..starting("sim:5ms,servers=8", Wait::Interrupt)
    }
}

/// Eight requests on a device of 5 ms with eight servers stay in flight across the edges of 20 ms.
/// By Little's law a turn takes 5 ms, an interrupt and the steps of the eight. Draining them
/// between two slices would cost a quarter of the work.
#[test]
fn what_is_in_flight_stays_there_over_an_edge() {
    let (slices, data) = live(vec![eight()], |live| hear(live, 10)).unwrap();
    assert_whole(&slices);
    let ios: u64 = slices[1..].iter().map(|s| s.stats.ios).sum();
    let wall: f64 = slices[1..].iter().map(|s| s.stats.wall_ns).sum();
    let turn = (5 * MS + INTERRUPT + 8 * STEPS) as f64;
    let share = ios as f64 / wall * turn / 8.0;
    assert!((0.98..1.02).contains(&share), "{share}");
    assert_eq!(data.lanes[0].faults, 0);
}

#[test]
fn a_deep_lane_is_emptied_before_it_rests() {
    let heard = live(vec![eight()], |live| {
        let before = hear(live, 2);
        let idle_order = live.order(vec![Activity::Idle]).unwrap();
        let resting = hear_under(live, idle_order, 2);
        let work_order = live.order(vec![Activity::Start(Wait::Interrupt)]).unwrap();
        [before, resting, hear_under(live, work_order, 2)].concat()
    });
    let (slices, data) = heard.unwrap();
    assert_whole(&slices);
    assert!(slices.iter().all(|s| (s.order == 1) == (s.stats.ios == 0)));
    assert_eq!(data.lanes[0].faults, 0);
}

#[test]
fn plans_and_orders_that_cannot_be_carried_out_are_refused() {
    let job = || starting("null", Wait::Poll);
    let order = |live: &mut Live<'_>| live.order(Vec::new()).unwrap_err().to_string();
    let (few, _) = live(vec![job()], order).unwrap();
    assert!(few.contains("every lane needs an activity"), "{few}");
    let mut plan = live_plan(vec![job()], world().into());
    plan.slice = Nanos::ZERO;
    let refused = q2c_engine::live(plan, &AtomicBool::new(false), |_| ()).unwrap_err();
    assert!(refused.to_string().contains("must be above 0"), "{refused}");
    let mut far = job();
    far.cpu = CpuId(1023);
    let listened = AtomicBool::new(false);
    let listen = |_: &mut Live<'_>| listened.store(true, Ordering::Relaxed);
    let RunError::Lane { source, .. } = live(vec![job(), far], listen).unwrap_err() else {
        panic!("the lane is refused");
    };
    assert!(matches!(source, EngineError::Pin { cpu: 1023, .. }));
    let mut roaming = job();
    roaming.roams_on = vec![CpuId(7)];
    let RunError::Lane { source, .. } = live(vec![roaming], listen).unwrap_err() else {
        panic!("a world has no scheduler that moves lanes");
    };
    assert!(matches!(source, EngineError::Pin { cpu: 7, .. }));
    assert!(!listened.load(Ordering::Relaxed));
}

pub(crate) fn to_the_end(live: &mut Live<'_>) {
    while live.hear(PATIENCE) != LiveAnswer::End {}
}

#[test]
fn a_fault_ends_the_run_and_is_told() {
    let mut failing = starting("fault:eio@30:sim:1ms", Wait::Poll);
    (failing.stop_on_fault, failing.cpu) = (true, CpuId(1));
    let jobs = vec![starting("sim:1ms", hybrid("fixed:100us")), failing];
    let ((), data) = live(jobs, to_the_end).unwrap();
    assert_eq!((data.lanes[0].faults, data.lanes[1].faults), (0, 1));
    assert_eq!(data.lanes[1].first_fault.unwrap().nth, 29);
}

#[test]
fn a_raised_flag_ends_the_run() {
    let stop = AtomicBool::new(false);
    let plan = live_plan(vec![starting("sim:1ms", Wait::Interrupt)], world().into());
    let heard = q2c_engine::live(plan, &stop, |live| {
        let heard = hear(live, 2);
        stop.store(true, Ordering::Relaxed);
        to_the_end(live);
        assert_eq!(live.hear(Duration::ZERO), LiveAnswer::End, "and again");
        heard.len()
    });
    let (heard, data) = heard.unwrap();
    assert!(data.stopped && heard == 2);
}

/// Waiting without a slice takes the given time, and no more.
#[test]
fn who_hears_nothing_has_waited() {
    let heard = live(vec![starting("sim:1ms", Wait::Poll)], |live| {
        let silence = live.hear(Duration::from_millis(15));
        assert_eq!(silence, LiveAnswer::Nothing);
        assert_eq!(live.hear(Duration::ZERO), LiveAnswer::Nothing);
        assert_eq!(live.hear(Duration::from_millis(4)), LiveAnswer::Nothing);
        hear(live, 1)
    });
    assert_eq!(heard.unwrap().0[0].number, 0);
}

#[test]
fn who_panics_ends_the_run() {
    let (breaks, is_right) = bad_jobs().pop().expect("a lane that breaks at work");
    let error = live(vec![breaks, starting("sim:1ms", Wait::Poll)], to_the_end).unwrap_err();
    assert!(is_right(&error), "{error}");
    let listener = |_: &mut Live<'_>| panic!("a listener that breaks, on purpose");
    let error = live(vec![starting("sim:1ms", Wait::Poll)], listener).unwrap_err();
    assert!(matches!(error, RunError::Panic(who) if who == "listener"));
}

/// Samples come only if the plan asks for them, and are those that the statistics were made from.
#[test]
fn samples_come_when_they_are_asked_for() {
    for asked in [false, true] {
        let mut plan = live_plan(vec![starting("sim:100us", Wait::Poll)], world().into());
        plan.samples = asked;
        let stop = AtomicBool::new(false);
        let (slices, _) = q2c_engine::live(plan, &stop, |live| hear(live, 5)).unwrap();
        for slice in &slices {
            let ios = if asked { slice.stats.ios } else { 0 };
            assert_eq!(slice.samples.len() as u64, ios);
            let mut latencies: Vec<f64> = slice.samples.iter().map(|s| s.u2c().0 as f64).collect();
            latencies.sort_unstable_by(f64::total_cmp);
            assert!(!asked || latencies == slice.stats.latencies);
        }
    }
}
