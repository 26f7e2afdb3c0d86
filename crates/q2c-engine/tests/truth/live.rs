//! Tests of runs without a planned end: their slices, their orders, and how they end.

use crate::plan::{Scripted, alone, clock, cpu, hybrid, job};
use q2c_engine::engine::EngineError;
use q2c_engine::{
    Activity, Heard, JobPlan, Live, LivePlan, LiveSlice, Medium, RunData, RunError, Wait,
};
use q2c_model::{CpuId, Nanos};
use q2c_policy::Decision;
use q2c_policy::method::Means;
use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const SLICE: Nanos = Nanos::from_millis(20);
/// Longer than any slice takes.
const PATIENCE: Duration = Duration::from_secs(10);

fn live<T: Send>(
    jobs: Vec<JobPlan>,
    listen: impl FnOnce(&mut Live<'_>) -> T + Send,
) -> Result<(T, RunData), RunError> {
    let plan = LivePlan {
        jobs,
        slice: SLICE,
        listener_cpu: Some(cpu(1)),
        time: clock().into(),
        samples: false,
    };
    q2c_engine::live(plan, &AtomicBool::new(false), listen)
}

fn first(engine: &str, wait: Wait) -> JobPlan {
    job(engine, vec![Activity::Start(wait)])
}

/// The next `n` slices.
fn hear(live: &mut Live<'_>, n: usize) -> Vec<LiveSlice> {
    let one = |_| match live.hear(PATIENCE) {
        Heard::Slice(slice) => *slice,
        other => panic!("{other:?}"),
    };
    (0..n).map(one).collect()
}

/// The slices up to the one with which `n` under order number `order` have come.
fn hear_under(live: &mut Live<'_>, order: u64, n: usize) -> Vec<LiveSlice> {
    let mut all = Vec::new();
    while all.iter().filter(|s: &&LiveSlice| s.order == order).count() < n {
        all.extend(hear(live, 1));
    }
    all
}

/// Checks that each slice begins where the one before ended, and that every I/O of a slice is in
/// its latencies.
fn assert_whole(slices: &[LiveSlice]) {
    for pair in slices.windows(2) {
        assert_eq!(pair[0].span.1, pair[1].span.0, "a gap");
        assert!(pair[0].number < pair[1].number);
    }
    for slice in slices {
        let stats = &slice.stats;
        assert_eq!(stats.ios, stats.latencies.len() as u64, "{}", slice.number);
        assert_eq!(stats.wall_ns, (slice.span.1 - slice.span.0) as f64);
    }
}

#[test]
fn slices_come_one_after_the_other_and_lose_nothing() {
    alone("slices_come_one_after_the_other_and_lose_nothing", || {
        let job = first("sim:100us", Wait::Poll);
        let (heard, data) = live(vec![job], |live| (hear(live, 10), live.start_ns())).unwrap();
        let (slices, start_ns) = heard;
        assert_whole(&slices);
        for slice in &slices {
            let edge = start_ns + (slice.number + 1) * SLICE.0;
            // A slice ends with the first I/O after its edge, so it is late by an I/O, or by the
            // time that other work takes on the machine.
            let next = edge + SLICE.0;
            assert!((edge..next).contains(&slice.span.1), "{}", slice.number);
            assert!(slice.stats.ios <= (slice.span.1 - slice.span.0) / 100_000 + 1);
        }
        assert!(slices[0].span.0 >= start_ns);
        // The slices hold all that the lane did, except for what it did after the last of them.
        let heard: u64 = slices.iter().map(|s| s.stats.ios).sum();
        let lane = &data.lanes[0];
        assert!(
            (heard..heard + 10_000).contains(&lane.ios),
            "{heard} of {}",
            lane.ios
        );
        assert!(lane.phases.is_empty() && !data.stopped);
        assert_eq!(slices[0].facts.polls_by, Means::Memory);
    });
}

/// A listener that does not listen gets longer slices. Every I/O is counted, and samples without
/// room are not kept.
#[test]
fn who_does_not_listen_gets_longer_slices() {
    alone("who_does_not_listen_gets_longer_slices", || {
        let mut job = first("sim:100us", Wait::Poll);
        job.capacity = 300;
        let (slices, _) = live(vec![job], |live| {
            let before = hear(live, 1);
            std::thread::sleep(Duration::from_millis(400));
            [before, hear(live, 6)].concat()
        })
        .unwrap();
        for pair in slices.windows(2) {
            assert_eq!(pair[0].span.1, pair[1].span.0, "a gap");
        }
        let longest = slices.iter().max_by_key(|s| s.span.1 - s.span.0).unwrap();
        let length = longest.span.1 - longest.span.0;
        // At most three buffers were filled, in 60 ms of the 400.
        assert!(length > 250_000_000, "{length} ns");
        assert!(longest.stats.ios > 300 && longest.stats.latencies.len() == 300);
    });
}

/// On a device of 1 ms interrupts leave the CPU and polling does not. A rule of 200 us sleeps for
/// 200 us and does not miss; one of 1.5 ms always misses.
#[test]
fn an_order_changes_what_is_done_and_is_told_apart() {
    alone("an_order_changes_what_is_done_and_is_told_apart", || {
        let job = first("sim:1ms", Wait::Interrupt);
        let (slices, _) = live(vec![job], |live| {
            let mut all = hear(live, 3);
            for wait in [Wait::Poll, hybrid("fixed:200us"), hybrid("fixed:1500us")] {
                let number = live.order(vec![Activity::Start(wait)]).unwrap();
                all.extend(hear_under(live, number, 3));
            }
            all
        })
        .unwrap();
        assert_whole(&slices);
        assert!(slices.is_sorted_by_key(|s| s.order));
        let under = |order| {
            slices
                .iter()
                .filter(move |s| s.order == order)
                .map(|s| &s.stats)
        };
        assert!(under(0).all(|s| s.sleeps.handled == 0 && s.voluntary >= s.ios));
        assert!(under(1).all(|s| s.sleeps.handled == 0 && s.voluntary == 0));
        assert!(under(2).all(|s| s.sleeps.slept == s.ios && s.sleeps.asked_ns == s.ios * 200_000));
        assert!(
            under(3).all(|s| s.sleeps.slept == s.ios && s.sleeps.asked_ns == s.ios * 1_500_000)
        );
        assert!(under(3).all(|s| s.miss_rate() == 1.0));
        // On a machine with other work a sleep sometimes ends more than 800 us late.
        let (missed, ios) = under(2).fold((0, 0), |(m, n), s| (m + s.sleeps.misses, n + s.ios));
        assert!(missed * 2 < ios, "{missed} of {ios}");
    });
}

/// Every third I/O sleeps and misses.
#[test]
fn a_rules_miss_rate_is_that_of_its_slices() {
    alone("a_rules_miss_rate_is_that_of_its_slices", || {
        let third = Scripted::wait(|n| match n % 3 {
            0 => Decision::Sleep(Nanos(300_000)),
            _ => Decision::Poll,
        });
        let (slices, _) = live(vec![first("sim:100us", third)], |live| hear(live, 10)).unwrap();
        let (mut misses, mut handled) = (0, 0);
        for LiveSlice { stats, .. } in &slices {
            (misses, handled) = (misses + stats.sleeps.misses, handled + stats.sleeps.handled);
            assert_eq!(handled / 3, misses, "the first of all is number 1");
            assert_eq!(stats.sleeps.asked_ns, stats.sleeps.misses * 300_000);
        }
    });
}

/// Two lanes take an order at the same edge, though only one of them gets a new activity.
#[test]
fn lanes_change_together() {
    alone("lanes_change_together", || {
        let mut second = job("sim:100us", vec![Activity::Idle]);
        second.cpu = cpu(1);
        let jobs = vec![first("sim:100us", Wait::Interrupt), second];
        let mut together = 0;
        // There are five tries, for a machine with other work: a lane that is late takes the order
        // later.
        let (slices, _) = live(jobs, |live| {
            let mut all = hear(live, 4);
            for n in 0..5 {
                let activity = |on| match on {
                    true => Activity::Start(Wait::Interrupt),
                    false => Activity::Idle,
                };
                let number = live
                    .order(vec![Activity::Continue, activity(n % 2 == 0)])
                    .unwrap();
                all.extend(hear_under(live, number, 4));
            }
            all.extend(hear(live, 4));
            all
        })
        .unwrap();
        for order in 1..=5 {
            let first_of = |lane| slices.iter().find(|s| s.lane == lane && s.order == order);
            let (one, two) = (first_of(0).unwrap(), first_of(1).unwrap());
            together += usize::from(one.number == two.number);
            let worked = |s: &&LiveSlice| s.lane == 1 && s.order == order && s.stats.ios > 0;
            assert_eq!(
                slices.iter().any(|s| worked(&s)),
                order % 2 == 1,
                "order {order}"
            );
        }
        assert!(together >= 3, "{together} of 5");
        let idle = slices
            .iter()
            .filter(|s| s.lane == 0)
            .all(|s| s.stats.ios > 0);
        assert!(idle, "who continues is not disturbed");
    });
}

/// Eight requests in flight on a device of 5 ms with eight servers stay in flight over the edges of
/// 20 ms. If they were drained between two slices, that would cost a quarter of the work. Little's
/// law gives 1600 I/Os per second. There are several tries, for a machine with other work.
#[test]
fn what_is_in_flight_stays_there_over_an_edge() {
    alone("what_is_in_flight_stays_there_over_an_edge", || {
        let mut best = 0.0f64;
        for _ in 0..8 {
            let mut deep = first("sim:5ms,servers=8", Wait::Interrupt);
            deep.depth = 8;
            let (slices, data) = live(vec![deep], |live| hear(live, 10)).unwrap();
            assert_whole(&slices);
            let ios: u64 = slices[1..].iter().map(|s| s.stats.ios).sum();
            let wall: f64 = slices[1..].iter().map(|s| s.stats.wall_ns).sum();
            best = best.max(ios as f64 / wall * 1e9);
            assert_eq!(data.lanes[0].faults, 0);
        }
        assert!((1_400.0..1_640.0).contains(&best), "{best} IOPS");
    });
}

#[test]
fn a_deep_lane_is_emptied_before_it_rests() {
    alone("a_deep_lane_is_emptied_before_it_rests", || {
        let mut deep = first("sim:5ms,servers=8", Wait::Interrupt);
        deep.depth = 8;
        let (slices, data) = live(vec![deep], |live| {
            let before = hear(live, 2);
            let rest = live.order(vec![Activity::Idle]).unwrap();
            let resting = hear_under(live, rest, 2);
            let work = live.order(vec![Activity::Start(Wait::Interrupt)]).unwrap();
            [before, resting, hear_under(live, work, 2)].concat()
        })
        .unwrap();
        assert_whole(&slices);
        assert!(slices.iter().all(|s| (s.order == 1) == (s.stats.ios == 0)));
        assert_eq!(data.lanes[0].faults, 0);
    });
}

#[test]
fn orders_that_cannot_be_carried_out_are_refused() {
    alone("orders_that_cannot_be_carried_out_are_refused", || {
        let mut job = first("pvsync2", Wait::Interrupt);
        job.medium = Medium::File(Arc::new(File::open("/dev/zero").unwrap()));
        let ((few, asleep), _) = live(vec![job], |live| {
            let few = live.order(Vec::new()).unwrap_err().to_string();
            let asleep = live.order(vec![Activity::Start(hybrid("fixed:1us"))]);
            (few, asleep.unwrap_err().to_string())
        })
        .unwrap();
        assert!(few.contains("every lane needs an activity"), "{few}");
        assert!(asleep.contains("no time to sleep in"), "{asleep}");
        let mut plan = LivePlan {
            jobs: vec![first("null", Wait::Poll)],
            slice: Nanos::ZERO,
            listener_cpu: None,
            time: clock().into(),
            samples: false,
        };
        let stop = AtomicBool::new(false);
        let refused = q2c_engine::live(plan, &stop, |_| ())
            .unwrap_err()
            .to_string();
        assert!(refused.contains("must be above 0"), "{refused}");
        let mut far = first("null", Wait::Poll);
        far.cpu = CpuId(1023);
        plan = LivePlan {
            jobs: vec![first("null", Wait::Poll), far],
            slice: SLICE,
            listener_cpu: None,
            time: clock().into(),
            samples: false,
        };
        let listened = AtomicBool::new(false);
        let refused = q2c_engine::live(plan, &stop, |_| listened.store(true, Ordering::Relaxed));
        let pin = |e| {
            matches!(
                e,
                RunError::Lane {
                    source: EngineError::Pin { cpu: 1023, .. },
                    ..
                }
            )
        };
        assert!(pin(refused.unwrap_err()) && !listened.load(Ordering::Relaxed));
    });
}

fn to_the_end(live: &mut Live<'_>) -> Duration {
    let begun = Instant::now();
    while live.hear(PATIENCE) != Heard::End {}
    begun.elapsed()
}

#[test]
fn a_fault_ends_the_run_and_is_told() {
    alone("a_fault_ends_the_run_and_is_told", || {
        let mut failing = first("fault:eio@30:sim:1ms", Wait::Poll);
        (failing.stop_on_fault, failing.cpu) = (true, cpu(1));
        let jobs = vec![first("sim:1ms", hybrid("fixed:100us")), failing];
        let (taken, data) = live(jobs, to_the_end).unwrap();
        assert!(taken < Duration::from_secs(5), "{taken:?}");
        assert_eq!((data.lanes[0].faults, data.lanes[1].faults), (0, 1));
        assert_eq!(data.lanes[1].first_fault.unwrap().nth, 29);
    });
}

#[test]
fn a_raised_flag_ends_the_run() {
    alone("a_raised_flag_ends_the_run", || {
        let stop = AtomicBool::new(false);
        let plan = LivePlan {
            jobs: vec![first("sim:1ms", Wait::Interrupt)],
            slice: SLICE,
            listener_cpu: None,
            time: clock().into(),
            samples: false,
        };
        let (heard, data) = q2c_engine::live(plan, &stop, |live| {
            let heard = hear(live, 2);
            stop.store(true, Ordering::Relaxed);
            to_the_end(live);
            assert_eq!(live.hear(Duration::ZERO), Heard::End, "and again");
            heard.len()
        })
        .unwrap();
        assert!(data.stopped && heard == 2);
    });
}

#[test]
fn who_panics_ends_the_run() {
    alone("who_panics_ends_the_run", || {
        let ninth = |n| match n {
            0..9 => Decision::Poll,
            _ => panic!("a rule that breaks, on purpose"),
        };
        let breaks = first("sim:100us", Scripted::wait(ninth));
        let error = live(vec![breaks, first("sim:1ms", Wait::Poll)], to_the_end).unwrap_err();
        assert!(
            matches!(&error, RunError::Panic(lane) if lane == "lane on sim:100us"),
            "{error}"
        );
        let listener = |_: &mut Live<'_>| panic!("a listener that breaks, on purpose");
        let error = live(vec![first("sim:1ms", Wait::Poll)], listener).unwrap_err();
        assert!(
            matches!(&error, RunError::Panic(who) if who == "listener"),
            "{error}"
        );
    });
}

/// Samples come only when they are asked for, and are those that the statistics were made of. The
/// ids of the lanes' threads are those that the kernel lists.
#[test]
fn samples_come_when_they_are_asked_for() {
    alone("samples_come_when_they_are_asked_for", || {
        for asked in [false, true] {
            let plan = LivePlan {
                jobs: vec![first("sim:100us", Wait::Poll)],
                slice: SLICE,
                listener_cpu: None,
                time: clock().into(),
                samples: asked,
            };
            let stop = AtomicBool::new(false);
            let heard = q2c_engine::live(plan, &stop, |live| {
                let task = format!("/proc/self/task/{}", live.tids()[0]);
                (hear(live, 5), std::path::Path::new(&task).exists())
            });
            let ((slices, exists), _) = heard.unwrap();
            assert!(exists, "the lane's thread");
            for slice in &slices {
                let ios = if asked { slice.stats.ios } else { 0 };
                assert_eq!(slice.samples.len() as u64, ios);
                let mut told: Vec<f64> = slice.samples.iter().map(|s| s.u2c().0 as f64).collect();
                told.sort_unstable_by(f64::total_cmp);
                assert!(!asked || told == slice.stats.latencies);
            }
        }
    });
}
