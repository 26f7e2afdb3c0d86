//! A workload on simulated devices is watched while it runs.
#![expect(clippy::unwrap_used, reason = "a panic is a failed test")]

use q2c_engine::engines::SimDevices;
use q2c_engine::{EngineSpec, RunError};
use q2c_host::Roots;
use q2c_model::{Bytes, CpuId, Nanos};
use q2c_policy::LaneMethod;
use q2c_policy::method::Means;
use q2c_result::mode::{Mode, ModeKind};
use q2c_sys::Clock;
use q2c_testkit::alone;
use q2c_watch::{Seen, Watch, WatchEnd, WatchInterval, WatchPlan, mode, numbers};
use q2c_workbench::workload::{Site, Workload};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const INTERVAL: Nanos = Nanos::from_millis(50);

fn cpu(n: usize) -> CpuId {
    let cpus = q2c_sys::thread::allowed_cpus().unwrap();
    cpus[n % cpus.len()]
}

/// A workload of one foreground lane on `engine`, and of these background jobs.
fn workload(engine: &str, background: &[&str]) -> Workload {
    let mut background: Vec<q2c_workbench::workload::BackgroundSpec> = background
        .iter()
        .map(|text| text.parse().unwrap())
        .collect();
    background
        .iter_mut()
        .for_each(|job| job.cpus = vec![cpu(1)]);
    let engine: EngineSpec = engine.parse().unwrap();
    let simulated = SimDevices::default();
    Workload {
        medium: simulated.medium(&engine).unwrap(),
        simulated,
        engine,
        pattern: "randread".parse().unwrap(),
        think: None,
        span: Bytes(1 << 30),
        cpus: vec![cpu(0)],
        background,
        sampler_cpu: Some(cpu(1)),
        site: Site::without_disk(Roots::live(), Clock::BOOT),
    }
}

fn plan(first: &LaneMethod) -> WatchPlan<'_> {
    WatchPlan {
        bs: Bytes(4096),
        first,
        interval: INTERVAL,
        seed: 1,
        capture: None,
    }
}

fn watch<T: Send>(
    workload: &Workload,
    first: &LaneMethod,
    watch: impl FnOnce(&mut Watch<'_, '_>) -> T + Send,
) -> Result<(T, WatchEnd), RunError> {
    let stop = AtomicBool::new(false);
    q2c_watch::watch(workload, plan(first), &stop, watch)
}

fn policy(text: &str) -> LaneMethod {
    LaneMethod::Hybrid(text.parse().unwrap())
}

/// The intervals that come until `n` of them have this order.
fn see(watch: &mut Watch<'_, '_>, order: u64, n: usize) -> Vec<WatchInterval> {
    let mut all: Vec<WatchInterval> = Vec::new();
    while all.iter().filter(|i| i.order == Some(order)).count() < n {
        match watch.see(Duration::from_secs(10)) {
            Seen::Interval(interval) => all.push(*interval),
            other => panic!("{other:?}"),
        }
    }
    all
}

#[test]
fn a_change_of_method_is_seen_in_the_numbers() {
    alone("a_change_of_method_is_seen_in_the_numbers", || {
        let (intervals, end) = watch(&workload("sim:1ms", &[]), &LaneMethod::Poll, |watch| {
            let mut all = see(watch, 0, 3);
            for step in [
                policy("fixed:200us"),
                policy("fixed:1500us"),
                LaneMethod::Interrupt,
            ] {
                let order = watch.switch(&step).unwrap();
                all.extend(see(watch, order, 3));
            }
            all
        })
        .unwrap();
        assert!(!end.stopped && end.fault.is_none());
        for pair in intervals.windows(2) {
            assert_eq!(pair[0].span.1, pair[1].span.0, "an interval is lost");
        }
        let of = |order| intervals.iter().filter(move |i| i.order == Some(order));
        for interval in of(0) {
            let polled = numbers(interval);
            assert_eq!(
                (polled.rates.miss_rate, polled.rates.effective_sleep_ns),
                (None, None)
            );
            assert_eq!(
                mode(&LaneMethod::Poll, interval),
                Mode::by(ModeKind::Poll, Some(Means::Memory))
            );
        }
        let asked = |order| of(order).map(|i| numbers(i).rates.effective_sleep_ns.unwrap());
        assert!(asked(1).all(|ns| ns == 200e3) && asked(2).all(|ns| ns == 1500e3));
        assert!(of(2).all(|i| numbers(i).rates.miss_rate == Some(1.0)));
        assert!(of(2).all(|i| numbers(i).slept_ns.unwrap() >= 1490e3));
        // A device of 1 ms does at most 1000 I/Os a second, and 667 when every sleep lasts 1.5 ms.
        let below = |stage, most: f64| {
            of(stage).all(|i| numbers(i).rates.iops.is_some_and(|iops| iops < most))
        };
        assert!(below(0, 1_030.0) && below(2, 690.0));
        assert!(of(3).all(|i| mode(&LaneMethod::Interrupt, i) == Mode::of(ModeKind::Interrupt)));
        // A change of method may cut an interval short, but no interval is much longer than asked
        // for.
        let length = |i: &WatchInterval| i.span.1 - i.span.0;
        let longer = intervals
            .iter()
            .filter(|i| length(i) > 2 * INTERVAL.0)
            .count();
        assert!(longer <= 2, "{longer} of {}", intervals.len());
    });
}

#[test]
fn the_background_comes_and_goes() {
    alone("the_background_comes_and_goes", || {
        let workload = workload("sim:1ms", &["depth=4,jobs=2,engine=sim:2ms,bs=8k"]);
        let (intervals, _) = watch(&workload, &LaneMethod::Interrupt, |watch| {
            let mut all = see(watch, 0, 3);
            for on in [false, true] {
                let order = watch.switch_background(on).unwrap();
                all.extend(see(watch, order, 3));
            }
            all
        })
        .unwrap();
        let behind = |order| {
            let of = intervals.iter().filter(move |i| i.order == Some(order));
            of.map(|i| numbers(i).background_iops.unwrap())
        };
        assert!(behind(0).all(|iops| iops > 0.0) && behind(2).all(|iops| iops > 0.0));
        assert!(behind(1).all(|iops| iops == 0.0));
        assert!(
            intervals
                .iter()
                .all(|i| i.foreground.ios > 0 && i.background.lanes == 2)
        );
    });
}

#[test]
fn a_fault_ends_it_and_is_told() {
    alone("a_fault_ends_it_and_is_told", || {
        let workload = workload("fault:eio@100:sim:1ms", &[]);
        let to_the_end =
            |watch: &mut Watch<'_, '_>| while watch.see(Duration::from_secs(10)) != Seen::End {};
        let ((), end) = watch(&workload, &LaneMethod::Poll, to_the_end).unwrap();
        let fault = end.fault.unwrap();
        assert!(
            fault.contains("I/O 99") && fault.contains("Input/output error"),
            "{fault}"
        );
        assert!(!end.stopped);
    });
}

#[test]
fn a_signal_ends_it() {
    alone("a_signal_ends_it", || {
        let stop = AtomicBool::new(false);
        let workload = workload("sim:1ms", &[]);
        let to_the_end = |watch: &mut Watch<'_, '_>| {
            see(watch, 0, 1);
            stop.store(true, Ordering::Relaxed);
            while watch.see(Duration::from_secs(10)) != Seen::End {}
        };
        let plan = plan(&LaneMethod::Poll);
        let (_, end) = q2c_watch::watch(&workload, plan, &stop, to_the_end).unwrap();
        assert!(end.stopped && end.fault.is_none());
    });
}
