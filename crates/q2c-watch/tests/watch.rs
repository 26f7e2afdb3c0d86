//! A workload on simulated devices is watched while it runs in a world.
#![expect(clippy::unwrap_used, reason = "a panic is a failed test")]

use q2c_engine::engines::SimDevices;
use q2c_engine::{EngineSpec, RunError, SimMachine, World};
use q2c_host::Roots;
use q2c_model::{Bytes, CpuId, Nanos};
use q2c_policy::LaneMethod;
use q2c_policy::method::Means;
use q2c_result::mode::{ModeKind, WaitMode};
use q2c_watch::{Watch, WatchEnd, WatchEvent, WatchPlan, WorkloadInterval, mode, numbers};
use q2c_workbench::workload::{BackgroundSpec, Site, Workload};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const INTERVAL: Nanos = Nanos::from_millis(50);

fn workload(engine: &str, background: &[&str]) -> Workload {
    let on_cpu_1 = |text: &&str| BackgroundSpec {
        cpus: vec![CpuId(1)],
        ..text.parse().unwrap()
    };
    let engine: EngineSpec = engine.parse().unwrap();
    let simulated = SimDevices::default();
    let world = World::new(SimMachine::default());
    Workload {
        medium: simulated.medium(&engine).unwrap(),
        simulated,
        engine,
        pattern: "randread".parse().unwrap(),
        think: None,
        span: Bytes(1 << 30),
        cpus: vec![CpuId(0)],
        background: background.iter().map(on_cpu_1).collect(),
        sampler_cpu: None,
        site: Site::without_disk(Roots::live(), world),
    }
}

fn plan(first_method: &LaneMethod) -> WatchPlan<'_> {
    WatchPlan {
        bs: Bytes(4096),
        first_method,
        interval: INTERVAL,
        seed: 1,
        capture: None,
    }
}

fn watch<T: Send>(
    workload: &Workload,
    first_method: &LaneMethod,
    watch: impl FnOnce(&mut Watch<'_, '_>) -> T + Send,
) -> Result<(T, WatchEnd), RunError> {
    let stop = AtomicBool::new(false);
    q2c_watch::watch(workload, plan(first_method), &stop, watch)
}

fn policy(text: &str) -> LaneMethod {
    LaneMethod::Hybrid(text.parse().unwrap())
}

const PATIENCE: Duration = Duration::from_secs(10);

/// The next intervals, until `n` of them have this order.
fn intervals_until(watch: &mut Watch<'_, '_>, order: u64, n: usize) -> Vec<WorkloadInterval> {
    let mut intervals: Vec<WorkloadInterval> = Vec::new();
    while intervals.iter().filter(|i| i.order == Some(order)).count() < n {
        match watch.next_event(PATIENCE) {
            WatchEvent::Interval(interval) => intervals.push(*interval),
            other => panic!("{other:?}"),
        }
    }
    intervals
}

fn to_the_end(watch: &mut Watch<'_, '_>) {
    while watch.next_event(PATIENCE) != WatchEvent::End {}
}

/// On a device of 1 ms an I/O takes 1000.6 us by polling and by a short sleep, 1003.6 us by an
/// interrupt, and 1503.15 us by a sleep of 1.5 ms with its wake-up of 2.5 us and its look.
#[test]
fn a_change_of_method_is_seen_in_the_numbers() {
    let methods = [
        LaneMethod::Poll,
        policy("fixed:200us"),
        policy("fixed:1500us"),
        LaneMethod::Interrupt,
    ];
    let (intervals, end) = watch(&workload("sim:1ms", &[]), &methods[0], |watch| {
        let mut intervals = intervals_until(watch, 0, 3);
        for step in &methods[1..] {
            let order = watch.switch(step).unwrap();
            intervals.extend(intervals_until(watch, order, 3));
        }
        intervals
    })
    .unwrap();
    assert!(!end.stopped && end.fault.is_none());
    for pair in intervals.windows(2) {
        assert_eq!(pair[0].span.1, pair[1].span.0, "an interval is lost");
    }
    for interval in &intervals {
        let order = interval.order.unwrap() as usize;
        let (numbers, rates) = (numbers(interval), numbers(interval).rates);
        let cycle_us = [1_000.6, 1_000.6, 1_503.15, 1_003.6][order];
        let iops = rates.iops.unwrap();
        let cycles = iops * cycle_us / 1e6;
        assert!((cycles - 1.0).abs() < 1e-9, "{order}: {iops}");
        let sleeps = [None, Some((0.0, 200e3)), Some((1.0, 1_500e3)), None][order];
        assert_eq!(rates.miss_rate.zip(rates.effective_sleep_ns), sleeps);
        let slept = sleeps.map(|(_, asked)| asked + 2_500.0);
        assert_eq!(numbers.slept_ns, slept);
        // An interval ends with the first I/O after its edge, or at a change of method.
        let length = interval.span.1 - interval.span.0;
        assert!(length < INTERVAL.0 + 1_600_000, "{length} ns");
    }
    let modes = [0, 3].map(|order| {
        let interval = intervals.iter().find(|i| i.order == Some(order));
        mode(&methods[order as usize], interval.unwrap())
    });
    let polled = WaitMode::new(ModeKind::Poll, Some(Means::Memory));
    assert_eq!(modes, [polled, WaitMode::from_kind(ModeKind::Interrupt)]);
}

#[test]
fn the_background_comes_and_goes() {
    let workload = workload("sim:1ms", &["depth=4,jobs=2,engine=sim:2ms,bs=8k"]);
    let (intervals, _) = watch(&workload, &LaneMethod::Interrupt, |watch| {
        let mut intervals = intervals_until(watch, 0, 3);
        for on in [false, true] {
            let order = watch.switch_background(on).unwrap();
            intervals.extend(intervals_until(watch, order, 3));
        }
        intervals
    })
    .unwrap();
    for interval in &intervals {
        let works = interval.order != Some(1);
        let iops = numbers(interval).background_iops.unwrap();
        assert_eq!(iops > 0.0, works, "{interval:?}");
        assert!(interval.foreground.ios > 0 && interval.background.lanes == 2);
    }
}

#[test]
fn a_fault_ends_it_and_is_told() {
    let workload = workload("fault:eio@100:sim:1ms", &[]);
    let ((), end) = watch(&workload, &LaneMethod::Poll, to_the_end).unwrap();
    let fault = end.fault.unwrap();
    let (number, errno) = ("I/O 99", "Input/output error");
    assert!(fault.contains(number) && fault.contains(errno), "{fault}");
    assert!(!end.stopped);
}

#[test]
fn a_signal_ends_it() {
    let stop = AtomicBool::new(false);
    let workload = workload("sim:1ms", &[]);
    let signal = |watch: &mut Watch<'_, '_>| {
        intervals_until(watch, 0, 1);
        stop.store(true, Ordering::Relaxed);
        to_the_end(watch);
    };
    let plan = plan(&LaneMethod::Poll);
    let (_, end) = q2c_watch::watch(&workload, plan, &stop, signal).unwrap();
    assert!(end.stopped && end.fault.is_none());
}
