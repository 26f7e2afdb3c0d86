//! Tests of replays in simulated time, which passes as the device says: nothing is late, and
//! nothing depends on chance.

use crate::gate::Rule;
use crate::map::Policy;
use crate::plan::{Count, Mode, OnError, Plan, ShareBy, Target};
use crate::shared::{Busy, Shared};
use crate::tally::Tally;
use crate::time::{Time, Wait};
use crate::windows::Windows;
use crate::worker::{Parts, Worker};
use crate::{Facts, Fit, Outcome, feed, prepare, record};
use proptest::prelude::*;
use q2c_engine::engine::{Completion, Engine, EngineError, Facts as EngineFacts, Request};
use q2c_engine::engines::Memory;
use q2c_engine::{EngineSpec, Medium};
use q2c_model::{Bytes, DevId, IoRecord, Layer, Nanos, Op, Sectors, TraceMeta};
use q2c_trace::TraceWriter;
use std::cell::{Cell, RefCell};
use std::path::Path;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::sync::mpsc::sync_channel;

const BIG: Bytes = Bytes(1 << 40);

/// The time, ns. It advances only while a thread waits.
type Hand = Rc<Cell<u64>>;

/// A clock on that time, and the number of times that the thread looked instead of sleeping.
struct Virtual(Hand, Rc<Cell<u64>>);

/// Time that passes while the thread looks once, ns.
const STEP: u64 = 20_000;

impl Time for Virtual {
    fn now(&self) -> u64 {
        self.0.get()
    }

    fn wait(
        &mut self,
        engine: &mut dyn Engine,
        wait: Wait,
    ) -> Result<Option<Completion>, EngineError> {
        let until = wait.due.unwrap_or(u64::MAX).min(wait.limit);
        if !wait.look {
            return engine.wait_until(until);
        }
        self.1.set(self.1.get() + 1);
        engine.wait_until(until.min(self.now() + STEP))
    }
}

/// The log of the device: for each request its time, its offset, and the requests in flight just
/// before it.
type Log = Rc<RefCell<Vec<(u64, u64, usize)>>>;

/// A device of several servers. The n-th request takes the n-th of the service times, which repeat.
struct Device {
    hand: Hand,
    service: Vec<u64>,
    free: Vec<u64>,
    in_flight: Vec<(u64, Completion)>,
    log: Log,
}

impl Engine for Device {
    fn submit(&mut self, requests: &[Request]) -> Result<(), EngineError> {
        let now = self.hand.get();
        for request in requests {
            let nth = self.log.borrow().len();
            self.log
                .borrow_mut()
                .push((now, request.offset, self.in_flight.len()));
            let server = self.free.iter_mut().min().expect("a server");
            *server = now.max(*server) + self.service[nth % self.service.len()];
            let done = Completion {
                slot: request.slot,
                result: request.length as i32,
            };
            self.in_flight.push((*server, done));
        }
        Ok(())
    }

    fn poll(&mut self) -> Result<Option<Completion>, EngineError> {
        let now = self.hand.get();
        let over = self.in_flight.iter().position(|(at, _)| *at <= now);
        Ok(over.map(|at| self.in_flight.remove(at).1))
    }

    fn wait(&mut self) -> Result<Completion, EngineError> {
        unreachable!("replays wait with an end")
    }

    fn wait_until(&mut self, at: u64) -> Result<Option<Completion>, EngineError> {
        let next = self.in_flight.iter().map(|(at, _)| *at).min();
        self.hand
            .set(next.unwrap_or(at).min(at).max(self.hand.get()));
        self.poll()
    }

    fn facts(&self) -> EngineFacts {
        EngineFacts::default()
    }
}

/// A recorded request. Times in ns; blocks are 4 KiB.
#[derive(Clone, Copy, Debug)]
struct Recorded {
    start: u64,
    latency: u64,
    block: u64,
    lane: u32,
}

fn write_trace(path: &Path, requests: &[Recorded]) {
    let record = |(id, r): (usize, &Recorded)| {
        let (sector, bytes) = (Sectors(r.block * 8), Bytes(4096));
        let plain = IoRecord::new(
            id as u64,
            Layer::Block,
            DevId { major: 8, minor: 0 },
            Op::Read,
            sector,
            bytes,
        );
        IoRecord {
            queue_ns: Some(Nanos(r.start)),
            complete_ns: Some(Nanos(r.start + r.latency)),
            lane: r.lane,
            ..plain
        }
    };
    let records: Vec<IoRecord> = requests.iter().enumerate().map(record).collect();
    let mut writer = TraceWriter::create(path, TraceMeta::default()).unwrap();
    writer.push(&records).unwrap();
    writer.finish().unwrap();
}

fn plan(mode: Mode) -> Plan {
    let memory = Memory {
        slots: 64,
        size: 4096,
        shared: None,
    };
    Plan {
        mode,
        targets: vec![Target {
            medium: Medium::None,
            engine: EngineSpec::Null,
            size: BIG,
            align: Bytes(4096),
            devices: vec![0],
        }],
        fit: Fit::Modulo,
        policy: Policy::default(),
        submitters: 1,
        room: 2,
        spin: false,
        share: ShareBy::Offset,
        cpus: Vec::new(),
        in_flight: 64,
        memory,
        on_error: OnError::Stop,
        seed: 1,
        windows: 10,
        part: None,
    }
}

/// The results of a replay: the device's log, the counts, the records, and how often the thread
/// looked.
struct Replayed {
    log: Vec<(u64, u64, usize)>,
    tally: Tally,
    records: Vec<IoRecord>,
    looks: u64,
}

fn replayed(trace: &Path, mode: Mode, service: Vec<u64>, servers: usize) -> Replayed {
    let (plan, stop) = (plan(mode), AtomicBool::new(false));
    let facts = prepare(trace, None, &stop, |_| {}).unwrap();
    let reader = q2c_trace::TraceReader::open(trace).unwrap();
    let (to, items) = sync_channel(feed::AHEAD);
    feed::feed(
        &plan,
        &facts,
        &reader,
        None,
        &[to],
        [&stop, &stop],
        &AtomicU64::new(0),
    )
    .unwrap();
    let (hand, log, looks) = (Hand::default(), Log::default(), Hand::default());
    let device = Device {
        hand: hand.clone(),
        service,
        free: vec![0; servers],
        in_flight: Vec::new(),
        log: log.clone(),
    };
    let shared = Shared {
        progress: (0..64).map(|_| AtomicU64::new(0)).collect(),
        devices: vec![AtomicU32::new(0)],
        in_flight: Busy::default(),
        stop: &stop,
        failed: AtomicBool::new(false),
    };
    let (mut rows, from) = record::channel(1);
    let (rule, count) = match mode {
        Mode::Timed { .. } => (Rule::Timed, Count::Requests),
        Mode::Outstanding { count, keep_idle } => (Rule::Outstanding { keep: keep_idle }, count),
        Mode::Closed { .. } => (Rule::Closed, Count::Requests),
    };
    let parts = Parts {
        engine: Box::new(device),
        sleeps: false,
        rule,
        count,
        on_error: OnError::Stop,
        look: true,
        in_flight: plan.in_flight,
        items,
        shared: &shared,
        tally: Tally::new(Windows::new(1000)),
        rows: rows.pop(),
    };
    let (tally, rows) = Worker::new(parts, Virtual(hand, looks.clone()))
        .run()
        .unwrap();
    drop(rows);
    let mut records: Vec<IoRecord> = Vec::new();
    record::record(&facts, &from, Bytes(0), &std::env::temp_dir(), &mut records).unwrap();
    let log = log.borrow().clone();
    Replayed {
        log,
        tally,
        records,
        looks: looks.get(),
    }
}

/// Requests with the gaps and latencies that were drawn.
fn requests(drawn: &[(u64, u64, u64, u32)]) -> Vec<Recorded> {
    let mut start = 0;
    let one = |&(gap, latency, block, lane): &(u64, u64, u64, u32)| {
        start += gap;
        Recorded {
            start,
            latency,
            block,
            lane,
        }
    };
    drawn.iter().map(one).collect()
}

/// Requests in flight just before each request, counted over all pairs.
fn profile(requests: &[Recorded]) -> Vec<usize> {
    let over = |i: usize, j: usize| requests[j].start + requests[j].latency > requests[i].start;
    (0..requests.len())
        .map(|i| (0..i).filter(|&j| over(i, j)).count())
        .collect()
}

fn drawn() -> impl Strategy<Value = Vec<(u64, u64, u64, u32)>> {
    prop::collection::vec((0u64..500, 1u64..2000, 0u64..1000, 0u32..4), 1..200)
}

fn in_folder<T>(requests: &[Recorded], work: impl FnOnce(&Path) -> T) -> T {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.parquet");
    write_trace(&path, requests);
    work(&path)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, max_shrink_iters: 60, ..ProptestConfig::default() })]

    #[test]
    fn timed_keeps_every_time_and_speed_divides_it(drawn in drawn(), service in 1u64..3000) {
        let requests = requests(&drawn);
        let due: Vec<(u64, u64)> = requests.iter().map(|r| (r.start - requests[0].start, r.block * 4096)).collect();
        in_folder(&requests, |trace| {
            // There are as many servers as requests, so nothing waits.
            let once = replayed(trace, Mode::Timed { speed: 1.0 }, vec![service], 256);
            if once.tally.capped == 0 {
                let seen: Vec<(u64, u64)> = once.log.iter().map(|(at, offset, _)| (*at, *offset)).collect();
                prop_assert_eq!(&seen, &due);
                prop_assert_eq!(once.tally.lateness.greatest(), 0);
            }
            let twice = replayed(trace, Mode::Timed { speed: 2.0 }, vec![1], 256);
            let half: Vec<u64> = due.iter().map(|(at, _)| at.div_ceil(2)).collect();
            let seen: Vec<u64> = twice.log.iter().map(|(at, ..)| *at).collect();
            prop_assert_eq!(seen, half);
            Ok(())
        })?;
    }

    #[test]
    fn outstanding_never_exceeds_the_rule(drawn in drawn(), service in prop::collection::vec(1u64..5000, 1..20), servers in 1usize..8, keep: bool) {
        let requests = requests(&drawn);
        let allowed = profile(&requests);
        let mode = Mode::Outstanding { count: Count::Requests, keep_idle: keep };
        let done = in_folder(&requests, |trace| replayed(trace, mode, service, servers));
        prop_assert_eq!(done.log.len(), requests.len());
        for (nth, (request, (_, offset, before))) in requests.iter().zip(&done.log).enumerate() {
            prop_assert_eq!(*offset, request.block * 4096, "in the order of the trace");
            // The requests of a batch are submitted at once, and those before a request in its
            // batch count as in flight.
            prop_assert!(*before <= allowed[nth], "{} in flight at {}, {} allowed", before, nth, allowed[nth]);
        }
    }

    #[test]
    fn a_lane_has_one_in_flight_and_thinks_as_recorded(drawn in drawn(), service in 1u64..3000) {
        let requests = requests(&drawn);
        let mode = Mode::Closed { lane: crate::LaneBy::Lane };
        let done = in_folder(&requests, |trace| replayed(trace, mode, vec![service], 256));
        prop_assert_eq!(done.log.len(), requests.len());
        for lane in 0..4 {
            let recorded: Vec<&Recorded> = requests.iter().filter(|r| r.lane == lane).collect();
            let mut records: Vec<&IoRecord> = done.records.iter().filter(|r| r.lane == done_lane(&requests, lane)).collect();
            records.sort_by_key(|r| r.submit_ns);
            for (pair, recorded) in records.windows(2).zip(recorded.windows(2)) {
                let think = recorded[1].start.saturating_sub(recorded[0].start + recorded[0].latency);
                let gap = pair[1].submit_ns.unwrap().0 - pair[0].reap_ns.unwrap().0;
                prop_assert_eq!(gap, think);
            }
        }
    }

    #[test]
    fn a_replay_of_a_replays_record_has_the_same_schedule(drawn in drawn(), service in 1u64..300) {
        let requests = requests(&drawn);
        let first = in_folder(&requests, |trace| replayed(trace, Mode::Timed { speed: 1.0 }, vec![service], 256));
        let folder = tempfile::tempdir().unwrap();
        let again = folder.path().join("again.parquet");
        let mut writer = TraceWriter::create(&again, TraceMeta::default()).unwrap();
        writer.push(&first.records).unwrap();
        writer.finish().unwrap();
        let second = replayed(&again, Mode::Timed { speed: 1.0 }, vec![service], 256);
        prop_assert_eq!(first.log, second.log);
    }
}

/// The number that a lane of the trace got: lanes are numbered in the order in which they appear.
fn done_lane(requests: &[Recorded], lane: u32) -> u32 {
    let mut order: Vec<u32> = Vec::new();
    for request in requests {
        if !order.contains(&request.lane) {
            order.push(request.lane);
        }
    }
    order
        .iter()
        .position(|one| *one == lane)
        .map_or(u32::MAX, |at| at as u32)
}

/// Counted by hand: requests of 10 ns that overlap, on a device that takes 100 ns for each.
#[test]
fn outstanding_counted_by_hand() {
    let at = |start, block| Recorded {
        start,
        latency: 10,
        block,
        lane: 0,
    };
    let requests = [at(0, 0), at(5, 1), at(12, 2), at(1000, 3)];
    let mode = |keep_idle| Mode::Outstanding {
        count: Count::Requests,
        keep_idle,
    };
    let (squeezed, kept) = in_folder(&requests, |trace| {
        (
            replayed(trace, mode(false), vec![100], 8),
            replayed(trace, mode(true), vec![100], 8),
        )
    });
    let times = |done: &Replayed| done.log.iter().map(|(at, ..)| *at).collect::<Vec<_>>();
    // The third request may go when one of the first two is complete, the fourth when nothing is in
    // flight. When idle time is kept, the fourth waits 978 ns more.
    assert_eq!(times(&squeezed), [0, 0, 100, 200]);
    assert_eq!(times(&kept), [0, 0, 100, 200 + 978]);
    assert_eq!(squeezed.tally.sum_u2c, 400);
    // In the trace 0, 1, 1 and 0 requests are in flight before each. Here the first two end
    // together, so none is in flight before the third.
    assert_eq!((squeezed.tally.off, squeezed.tally.base), (1, 2));
}

/// On a device like the recorded one, as many requests are in flight before each request as in the
/// trace.
#[test]
fn outstanding_follows_the_profile_of_a_like_device() {
    let mut rng = q2c_stats::Rng::new(3);
    let mut start = 0;
    let one = |_| {
        start += rng.below(40_000);
        Recorded {
            start,
            latency: 60_000 + rng.below(40_000),
            block: rng.below(1 << 20),
            lane: 0,
        }
    };
    let requests: Vec<Recorded> = (0..20_000).map(one).collect();
    let mode = Mode::Outstanding {
        count: Count::Requests,
        keep_idle: false,
    };
    let service: Vec<u64> = (0..997).map(|n| 60_000 + n * 7919 % 40_000).collect();
    let done = in_folder(&requests, |trace| replayed(trace, mode, service, 64));
    let allowed = profile(&requests);
    let off: usize = done
        .log
        .iter()
        .zip(&allowed)
        .map(|((.., before), allowed)| before.abs_diff(*allowed))
        .sum();
    let error = off as f64 / allowed.iter().sum::<usize>() as f64;
    assert!(error < 0.05, "{error}");
    assert!(
        (done.tally.off as f64 / done.tally.base as f64 - error).abs() < 1e-12,
        "as the thread counts it"
    );
}

/// A replay on three real threads of writes and reads that overlap: wherever two overlap, they are
/// submitted in the order of the trace.
#[test]
fn overlapping_requests_of_several_threads_keep_their_order() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.parquet");
    let mut rng = q2c_stats::Rng::new(5);
    let record = |id: u64| {
        let (sector, bytes) = (
            Sectors(rng.below(400) * 1024),
            Bytes(4096 + rng.below(200) * 4096),
        );
        let op = if rng.below(2) == 0 {
            Op::Read
        } else {
            Op::Write
        };
        let plain = IoRecord::new(
            id,
            Layer::Block,
            DevId { major: 8, minor: 0 },
            op,
            sector,
            bytes,
        );
        IoRecord {
            queue_ns: Some(Nanos(id * 2_000)),
            ..plain
        }
    };
    let records: Vec<IoRecord> = (0..20_000).map(record).collect();
    let mut writer = TraceWriter::create(&path, TraceMeta::default()).unwrap();
    writer.push(&records).unwrap();
    writer.finish().unwrap();
    let stop = AtomicBool::new(false);
    let facts = prepare(&path, None, &stop, |_| {}).unwrap();
    let mut plan = plan(Mode::Timed { speed: 1.0 });
    plan.policy.writes = crate::Writes::Allow;
    (plan.submitters, plan.memory.size) = (3, 1 << 20);
    let mut back: Vec<IoRecord> = Vec::new();
    let done = run(&plan, &facts, &mut back, &stop);
    assert_eq!(
        (done.counts.issued, done.counts.errors, done.rows_lost),
        (20_000, 0, 0)
    );
    assert!(done.complete && done.counts.inversions == 0);
    let mut at = vec![u64::MAX; 20_000];
    // Records are sorted by time and do not hold the trace's number, so a request is found by
    // place, length and operation.
    let mut left: std::collections::HashMap<(u64, u64, Op), Vec<u64>> = Default::default();
    for record in &back {
        let key = (record.sector.0, record.bytes.0, record.op);
        left.entry(key)
            .or_default()
            .push(record.submit_ns.unwrap().0);
    }
    for (record, at) in records.iter().zip(&mut at) {
        let key = (record.sector.0, record.bytes.0, record.op);
        *at = left.get_mut(&key).unwrap().remove(0);
    }
    let mut overlaps = 0;
    for (i, one) in records.iter().enumerate() {
        for (j, other) in records.iter().enumerate().skip(i + 1).take(400) {
            let ends = |r: &IoRecord| r.sector.0 + r.bytes.0 / 512;
            let overlap = one.sector.0 < ends(other) && other.sector.0 < ends(one);
            if overlap && (one.op == Op::Write || other.op == Op::Write) {
                overlaps += 1;
                assert!(at[i] <= at[j], "{i} at {}, {j} at {}", at[i], at[j]);
            }
        }
    }
    assert!(overlaps > 1000, "{overlaps}");
}

fn run(plan: &Plan, facts: &Facts, back: &mut Vec<IoRecord>, stop: &AtomicBool) -> Outcome {
    let into = crate::Into {
        sink: back,
        memory: Bytes(1 << 24),
        folder: &std::env::temp_dir(),
    };
    let clock = q2c_sys::Clock::new();
    crate::replay(plan, facts, clock, Some(into), &AtomicU64::new(0), stop).unwrap()
}

/// The thread looks for a completion for a millisecond, in which each look takes 20 us here, and
/// then sleeps. All this time counts as waiting.
#[test]
fn looking_ends_and_is_no_work() {
    let at = |n: u64| Recorded {
        start: n * 1000,
        latency: 900,
        block: n,
        lane: 0,
    };
    let requests: Vec<Recorded> = (0..10).map(at).collect();
    in_folder(&requests, |trace| {
        let mode = Mode::Outstanding {
            count: Count::Requests,
            keep_idle: false,
        };
        let slow = replayed(trace, mode, vec![5_000_000], 1);
        assert_eq!((slow.looks, slow.tally.end), (500, 50_000_000));
        let fast = replayed(trace, mode, vec![100_000], 1);
        assert_eq!((fast.looks, fast.tally.end), (50, 1_000_000));
        assert_eq!(fast.tally.waited_ns, fast.tally.end);
    });
}

#[test]
fn a_trace_without_completions_says_how_to_get_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.parquet");
    let plain = IoRecord::new(
        0,
        Layer::Block,
        DevId::default(),
        Op::Read,
        Sectors(0),
        Bytes(512),
    );
    let record = IoRecord {
        queue_ns: Some(Nanos(1)),
        ..plain
    };
    let mut writer = TraceWriter::create(&path, TraceMeta::default()).unwrap();
    writer.push(&[record]).unwrap();
    writer.finish().unwrap();
    let stop = AtomicBool::new(false);
    let facts = prepare(&path, None, &stop, |_| {}).unwrap();
    let mode = Mode::Outstanding {
        count: Count::Bytes,
        keep_idle: false,
    };
    let clock = q2c_sys::Clock::new();
    let refused = crate::replay(&plan(mode), &facts, clock, None, &AtomicU64::new(0), &stop);
    let words = refused.unwrap_err().to_string();
    assert!(
        words.contains("found 0 of 1") && words.contains("--record"),
        "{words}"
    );
}

/// A time that goes back becomes the time of the request before; the order stays.
#[test]
fn time_never_goes_back() {
    let at = |start, block| Recorded {
        start,
        latency: 1,
        block,
        lane: 0,
    };
    let requests = [
        at(1000, 0),
        at(1100, 1),
        at(1050, 2),
        at(1100, 3),
        at(1200, 4),
    ];
    in_folder(&requests, |trace| {
        let facts = prepare(trace, None, &AtomicBool::new(false), |_| {}).unwrap();
        assert_eq!((facts.back_in_time, facts.length()), (1, Nanos(200)));
        let done = replayed(trace, Mode::Timed { speed: 1.0 }, vec![1], 8);
        let seen: Vec<(u64, u64)> = done
            .log
            .iter()
            .map(|(at, offset, _)| (*at, offset / 4096))
            .collect();
        assert_eq!(seen, [(0, 0), (100, 1), (100, 2), (100, 3), (200, 4)]);
    });
}

/// A trace with offsets and times beyond all bounds is replayed, and nothing breaks.
#[test]
fn places_and_times_beyond_all_reason() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.parquet");
    let far = [
        (0, 0),
        (u64::MAX / 512, 1),
        (u64::MAX, u64::MAX - 2),
        (1, u64::MAX - 1),
    ];
    let record = |(id, (sector, time)): (usize, &(u64, u64))| {
        let dev = DevId {
            major: id as u32,
            minor: u32::MAX,
        };
        let plain = IoRecord::new(
            id as u64,
            Layer::Block,
            dev,
            Op::Read,
            Sectors(*sector),
            Bytes(u64::MAX),
        );
        IoRecord {
            queue_ns: Some(Nanos(*time)),
            complete_ns: Some(Nanos(*time)),
            ..plain
        }
    };
    let records: Vec<IoRecord> = far.iter().enumerate().map(record).collect();
    let mut writer = TraceWriter::create(&path, TraceMeta::default()).unwrap();
    writer.push(&records).unwrap();
    writer.finish().unwrap();
    let stop = AtomicBool::new(false);
    let facts = prepare(&path, None, &stop, |_| {}).unwrap();
    for fit in [Fit::Modulo, Fit::Clip, Fit::Scale, Fit::Dense] {
        let mut plan = plan(Mode::Outstanding {
            count: Count::Bytes,
            keep_idle: false,
        });
        plan.fit = fit;
        plan.targets[0].size = Bytes(1 << 30);
        plan.targets[0].devices = (0..facts.devices.len()).collect();
        let mut back: Vec<IoRecord> = Vec::new();
        let done = run(&plan, &facts, &mut back, &stop);
        assert!(done.complete, "{fit:?}");
        for record in &back {
            let end = record.sector.bytes().0 + record.bytes.0;
            assert!(end <= 1 << 30, "{fit:?}: {end}");
        }
        let left_out = if fit == Fit::Clip {
            4 - done.counts.issued
        } else {
            0
        };
        assert_eq!(done.counts.issued + left_out, 4, "{fit:?}");
    }
}
