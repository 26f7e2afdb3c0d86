//! The contract that every engine must keep: one set of tests, run on each of them.
//!
//! `Q2C_TEST_ENGINE` names one engine, with or without options, and leaves the others out.
//! `Q2C_TEST_NG` gives `io_uring_cmd` a device, and `Q2C_TEST_FOLDER` the others a folder, see
//! `opening.rs`.

mod files;
mod opening;
mod storm;

use opening::open;
use q2c_engine::EngineSpec;
use q2c_engine::engine::{Engine, Operation, Request};
use q2c_engine::engines::{ENGINES, SimDevices};
use q2c_sys::clock::monotonic_ns;
use q2c_sys::thread::switches;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};
use storm::{ReapMethod, RequestStorm};

/// The message of every `expect` on a call of an engine.
const SOUND: &str = "an engine that is not broken";
const BLOCK: usize = 4096;
/// A buffer has two blocks, so that a request need not fill it.
const SIZE: usize = 2 * BLOCK;
const DEPTH: usize = 32;
const BLOCKS: u64 = 256;

const PLAIN: [&str; 22] = [
    "io_uring",
    "io_uring:ring",
    "io_uring:taskrun=coop",
    "io_uring:taskrun=none",
    "io_uring:sqpoll",
    "io_uring:sqpoll,cpu=0",
    "io_uring:iopoll",
    "io_uring:iopoll,hybrid",
    "io_uring:iopoll,sqpoll",
    "io_uring:iopoll,hybrid,sqpoll",
    "libaio",
    "libaio:reap=kernel",
    "pvsync2",
    "pvsync2:hipri,dsync",
    "io_uring_cmd",
    "io_uring_cmd:ring",
    "io_uring_cmd:iopoll",
    "null",
    "sim:20us",
    "sim:lognormal=20us/0.5,servers=1",
    "sim:lognormal(20us,0.5),servers=4",
    "sim:constant(20us),servers=3",
];
/// The engines that faults are put around. A fault uses the engine inside only by its trait, so one
/// of each kind is enough.
const INSIDE: [&str; 7] = [
    "io_uring",
    "io_uring:iopoll",
    "libaio",
    "pvsync2",
    "io_uring_cmd",
    "null",
    "sim:20us",
];
/// Faults that come too late for any test here to reach them.
const FAULTS: [&str; 5] = [
    "eio@1000000000",
    "short@1000000000",
    "late=1s@1000000000",
    "swap@1000000000",
    "twice@1000000000",
];

/// The engines without faults: all of them, or those that `Q2C_TEST_ENGINE` names.
fn plain() -> Vec<&'static str> {
    let only = std::env::var("Q2C_TEST_ENGINE").ok();
    let wanted = |text: &&str| {
        let name = text.split(':').next();
        let only = only.as_deref();
        only.is_none() || name == only || Some(*text) == only
    };
    PLAIN.iter().copied().filter(wanted).collect()
}

/// Every engine, and each fault around those of [`INSIDE`].
fn specs() -> Vec<EngineSpec> {
    let plain = plain();
    let inside = || plain.iter().filter(|engine| INSIDE.contains(engine));
    let around = |fault| inside().map(move |engine| format!("fault:{fault}:{engine}"));
    let faults = FAULTS.into_iter().flat_map(around);
    plain
        .iter()
        .map(|&e| e.to_owned())
        .chain(faults)
        .map(|text| text.parse().expect("a known engine"))
        .collect()
}

fn for_each(test: &str, check: impl Fn(&EngineSpec, &mut dyn Engine)) {
    for spec in specs() {
        if let Some(mut engine) = open(&spec, test) {
            check(&spec, engine.as_mut());
        }
    }
}

fn comes_back_once(test: &str, method: ReapMethod) {
    for_each(test, |spec, engine| {
        let mut storm = RequestStorm::new(3);
        storm.run(engine, method, 60);
        assert!(storm.deepest == DEPTH, "{spec}: deepest {}", storm.deepest);
        assert!(storm.sent > 300 && storm.sent == storm.returned, "{spec}");
        for _ in 0..100 {
            let more = engine.poll().expect(SOUND);
            assert_eq!(more, None, "{spec}: something came twice");
        }
    });
}

#[test]
fn every_request_comes_back_once_through_poll() {
    comes_back_once("comes_back_once_through_poll", ReapMethod::Poll);
}

#[test]
fn every_request_comes_back_once_through_wait() {
    comes_back_once("comes_back_once_through_wait", ReapMethod::Wait);
}

#[test]
fn every_request_comes_back_once_however_it_is_taken() {
    comes_back_once("comes_back_once_however_it_is_taken", ReapMethod::All);
}

/// A sleep shows as a voluntary context switch, so there must be none. The first access to a page
/// of memory may also cost a switch; therefore one storm without a switch is enough. A poll that
/// sleeps is switched dozens of times in every storm.
#[test]
fn poll_never_sleeps() {
    for_each("poll_never_sleeps", |spec, engine| {
        let sleepless = (0..5).any(|_| switches_in_polls(spec, engine) == 0);
        assert!(sleepless, "{spec}: every storm was switched");
    });
}

/// The voluntary context switches during the polls of a storm of 50 batches.
fn switches_in_polls(spec: &EngineSpec, engine: &mut dyn Engine) -> u64 {
    let mut storm = RequestStorm::new(5);
    let mut switched = 0;
    for _ in 0..50 {
        let (batch, n) = storm.batch();
        engine.submit(&batch[..n]).expect(SOUND);
        let before = switches().voluntary;
        while storm.in_flight() > 0 {
            storm.reap(engine, ReapMethod::Poll);
        }
        assert_eq!(engine.poll().expect(SOUND), None, "{spec}");
        switched += switches().voluntary - before;
    }
    switched
}

/// A poll does not spin until the completion either: a thousand polls end long before a completion
/// that takes ten seconds.
#[test]
fn poll_looks_once() {
    for text in ["sim:10s", "fault:late=10s@1:null", "fault:eio@1:sim:10s"] {
        let spec: EngineSpec = text.parse().unwrap();
        let medium = SimDevices::default().medium(&spec).unwrap();
        let mut engine = spec.open(&medium, DEPTH, SIZE, 1).unwrap();
        let (batch, _) = RequestStorm::new(1).batch();
        engine.submit(&batch[..1]).expect(SOUND);
        let start = Instant::now();
        for _ in 0..1000 {
            assert_eq!(engine.poll().expect(SOUND), None, "{text}");
        }
        assert!(start.elapsed() < Duration::from_secs(5), "{text}");
    }
}

#[test]
fn nothing_is_allocated_after_opening() {
    for_each("nothing_is_allocated_after_opening", |spec, engine| {
        let mut storm = RequestStorm::new(11);
        let heap = allocation_counter::measure(|| storm.run(engine, ReapMethod::All, 60));
        assert_eq!((heap.count_total, heap.bytes_total), (0, 0), "{spec}");
    });
}

#[test]
fn the_counter_counts() {
    let heap = allocation_counter::measure(|| drop(std::hint::black_box(Box::new(1u64))));
    assert_eq!(heap.count_total, 1);
}

#[test]
fn an_engine_may_be_dropped_with_requests_in_flight() {
    for spec in specs() {
        for seed in 0..10 {
            let Some(mut engine) = open(&spec, "an_engine_may_be_dropped_with_requests_in_flight")
            else {
                break;
            };
            let (batch, n) = RequestStorm::new(seed).batch();
            engine.submit(&batch[..n]).expect(SOUND);
        }
    }
}

#[test]
fn the_suite_leaves_no_engine_out() {
    let name = |text: &&str| text.split(':').next().unwrap().to_owned();
    let mut here: BTreeSet<String> = PLAIN.iter().map(name).collect();
    here.insert("fault".to_owned());
    let known: BTreeSet<String> = ENGINES.iter().map(|kind| kind.name.to_owned()).collect();
    assert_eq!(here, known);
}

/// A wait with a deadline ends at the deadline, or earlier with a completion.
#[test]
fn a_wait_ends_at_its_deadline_or_with_a_completion() {
    for_each("a_wait_ends_at_its_deadline", |spec, engine| {
        let soon = || monotonic_ns() + 2_000_000;
        let deadline = soon();
        assert_eq!(engine.wait_until(deadline).expect(SOUND), None, "{spec}");
        assert!(monotonic_ns() >= deadline, "{spec}: it came back early");
        let request = Request {
            operation: Operation::Read,
            offset: 0,
            length: BLOCK as u32,
            slot: 7,
        };
        engine.submit(&[request]).expect(SOUND);
        let far = monotonic_ns() + 10_000_000_000;
        let done = engine.wait_until(far).expect(SOUND);
        assert_eq!(done.map(|done| done.slot), Some(7), "{spec}");
        assert!(monotonic_ns() < far, "{spec}: it slept to the end");
    });
}
