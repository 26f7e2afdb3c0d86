//! Contracts of a submitting thread and its gate that hold at every seed. A seed gives a schedule,
//! a mode and a device with faults; the thread's counts must be those of the device's log.

mod device;

use crate::gate::GateRule;
use crate::run::InFlightCounter;
use crate::worker::{EngineSubmitter, ReplayWorker, Schedule, ThreadAccount};
use crate::{ReplayCounts, ScheduledIo, Shared, TargetIo, WindowSeries, record};
use device::{DeviceFaults, DeviceLog, FaultyDevice, SeededClock};
use q2c_engine::engine::{EngineError, Operation};
use q2c_model::replay::{Count, Idle, OnError};
use q2c_model::stats::Rng;
use q2c_testkit::for_each_seed;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};

/// Number of the stream of another thread.
const OTHER: u32 = 63;
const STREAMS: u64 = 3;

#[derive(Clone, Debug)]
struct SeededReplay {
    rule: GateRule,
    ios: Vec<ScheduledIo>,
    faults: DeviceFaults,
    slots: u16,
    on_error: OnError,
    stop_ns: Option<u64>,
    other_ns: Vec<u64>,
    may_poll: bool,
    chunk: usize,
}

/// The counts of the thread, its result in words, and the rows of its recording.
struct ThreadResult {
    counts: Result<ReplayCounts, EngineError>,
    rows: Vec<(u64, i32)>,
    stopped: bool,
}

impl SeededReplay {
    fn new(seed: u64) -> Self {
        let rng = &mut Rng::new(seed);
        let idle = [Idle::Keep, Idle::Squeeze][rng.below(2) as usize];
        let rules = [
            GateRule::Timed,
            GateRule::Outstanding(idle),
            GateRule::Closed,
        ];
        let rule = rules[rng.below(3) as usize];
        let service_ns = [300, 3_000, 30_000][rng.below(3) as usize];
        let count = 1 + rng.below(120);
        let gap_ns = 1 + rng.below(2 * service_ns);
        let length_ns = count * gap_ns;
        let mut other_ns: Vec<u64> = (0..20).map(|_| rng.below(length_ns)).collect();
        other_ns.sort_unstable();
        let mut due_ns = 0;
        let ios = (0..count).map(|index| {
            due_ns += rng.below(gap_ns);
            draw_io(rng, rule, index, due_ns, service_ns)
        });
        let ios = ios.collect();
        let nth = Some(rng.below(count) as usize);
        let rare = rng.below(8);
        SeededReplay {
            rule,
            ios,
            faults: DeviceFaults {
                seed: rng.next_u64(),
                service_ns,
                twice: nth.filter(|_| rare == 0),
                hang: nth.filter(|_| rare == 1),
            },
            slots: [1, 2, 8, 64][rng.below(4) as usize],
            on_error: [OnError::Stop, OnError::GoOn][rng.below(2) as usize],
            stop_ns: (rng.below(4) == 0).then(|| rng.below(length_ns)),
            other_ns,
            may_poll: rng.below(2) == 0,
            chunk: 1 + rng.below(40) as usize,
        }
    }

    fn deliveries(&self) -> Receiver<Vec<ScheduledIo>> {
        let (sender, deliveries) = sync_channel(self.ios.len());
        for chunk in self.ios.chunks(self.chunk) {
            sender.send(chunk.to_vec()).expect("there is room");
        }
        deliveries
    }

    fn run(&self) -> (DeviceLog, ThreadResult) {
        let stop = AtomicBool::new(false);
        let shared = Shared {
            progress: (0..=OTHER).map(|_| AtomicU64::new(0)).collect(),
            device_in_flight: (0..STREAMS).map(|_| AtomicU32::new(0)).collect(),
            in_flight: InFlightCounter::default(),
            stop: &stop,
            failed: AtomicBool::new(false),
        };
        let clock = SeededClock {
            time: Rc::default(),
            log: Rc::default(),
            others: std::sync::Arc::default(),
            other_ns: self.other_ns.clone(),
            other_progress: &shared.progress[OTHER as usize],
            stop: (self.stop_ns, &stop),
            waits_left: Rc::new(2_000_000.into()),
        };
        let (mut rows, receiver) = record::channel(1, false);
        let counts = ReplayCounts {
            windows: WindowSeries::new(1000),
            ..ReplayCounts::default()
        };
        let device = FaultyDevice::new(&clock, &self.faults);
        let deliveries = self.deliveries();
        let worker = ReplayWorker {
            schedule: Schedule::new(
                self.rule,
                Count::Requests,
                || deliveries.try_recv(),
                &shared.progress,
            ),
            submitter: EngineSubmitter::new(Box::new(device), false, self.slots),
            account: ThreadAccount::new(counts, rows.pop()),
            shared: &shared,
            on_error: self.on_error,
            may_poll: self.may_poll,
            waits_for_others: false,
            time: clock.clone(),
        };
        let counts = worker.run().map(|(counts, _)| counts);
        drop(rows);
        let rows = receiver
            .iter()
            .flatten()
            .map(|row| (row.io.index, row.result));
        let result = ThreadResult {
            counts,
            rows: rows.collect(),
            stopped: shared.is_stopped(),
        };
        let in_flight: u32 = shared
            .device_in_flight
            .iter()
            .map(|n| n.load(Ordering::Relaxed))
            .sum();
        let log = clock.log.take();
        assert!(
            result.counts.is_err() || in_flight == 0,
            "counters return to 0"
        );
        (log, result)
    }
}

/// The request number `index` of the schedule. Its offset names it.
fn draw_io(rng: &mut Rng, rule: GateRule, index: u64, due_ns: u64, service_ns: u64) -> ScheduledIo {
    let stream = if rule == GateRule::Timed {
        0
    } else {
        rng.below(STREAMS) as u32
    };
    let waits = rule == GateRule::Timed && rng.below(8) == 0;
    ScheduledIo {
        io: TargetIo {
            index,
            offset: index << 20,
            length: 512 << rng.below(6),
            device: stream,
            lane: stream,
            operation: [Operation::Read, Operation::Write][rng.below(2) as usize],
            ..TargetIo::default()
        },
        due_ns,
        stream,
        in_flight_before: rng.below(4) as u32,
        load_before: rng.below(4),
        think_ns: rng.below(2) * rng.below(2 * service_ns),
        after_submission: rng.below(4) == 0,
        waits_for: waits.then(|| [(OTHER, 1 + rng.below(20))].into()),
    }
}

fn check_seed(seed: u64) {
    let replay = SeededReplay::new(seed);
    let (log, result) = replay.run();
    let checked = check_schedule(&replay, &log).and_then(|()| match &result.counts {
        Ok(counts) => check_counts(&replay, &log, &result, counts),
        Err(error) => check_error(&log, error),
    });
    checked.unwrap_or_else(|problem| {
        panic!(
            "{problem}: {replay:#?}\n{log:#?}\n{:?}\n{:?}",
            result.counts, result.rows
        )
    });
}

fn ensure(holds: bool, contract: &str) -> Result<(), String> {
    if holds {
        Ok(())
    } else {
        Err(contract.to_owned())
    }
}

/// The order and the times of submissions, by the device's log.
fn check_schedule(replay: &SeededReplay, log: &DeviceLog) -> Result<(), String> {
    ensure(!log.slot_used_twice, "a slot has one request")?;
    let mut latest: BTreeMap<u32, u64> = BTreeMap::new();
    for (nth, logged) in log.ios.iter().enumerate() {
        let request = &replay.ios[(logged.offset >> 20) as usize];
        let before = latest.insert(request.stream, request.io.index);
        ensure(before < Some(request.io.index), "a stream keeps its order")?;
        let submitted = &log.ios[..nth];
        let is_open = |io: &&device::LoggedIo| io.done.is_none_or(|(at, _)| at > logged.submit_ns);
        ensure(
            submitted.iter().filter(is_open).count() < usize::from(replay.slots),
            "no more is in flight than allowed",
        )?;
        let of_stream = |io: &&device::LoggedIo| {
            replay.ios[(io.offset >> 20) as usize].stream == request.stream
        };
        let open = submitted.iter().filter(of_stream).filter(is_open).count() as u64;
        match replay.rule {
            GateRule::Timed => {
                ensure(
                    logged.submit_ns >= request.due_ns,
                    "nothing goes before its time",
                )?;
                let waits_for = request.waits_for.as_deref().unwrap_or_default();
                let kept = waits_for.iter().all(|(_, count)| logged.others >= *count);
                ensure(kept, "overlapping requests keep their order")?;
            }
            GateRule::Outstanding(_) => {
                ensure(
                    open <= request.load_before,
                    "no more is outstanding than in the trace",
                )?;
            }
            GateRule::Closed => ensure(open == 0, "a lane has one request in flight")?,
        }
    }
    Ok(())
}

/// The counts of a thread that ended without an error.
fn check_counts(
    replay: &SeededReplay,
    log: &DeviceLog,
    result: &ThreadResult,
    counts: &ReplayCounts,
) -> Result<(), String> {
    ensure(
        !log.lost && !log.repeated,
        "a lost or repeated completion is an error",
    )?;
    let submitted = log.ios.len();
    ensure(
        result.stopped || submitted == replay.ios.len(),
        "each request goes once",
    )?;
    ensure(
        counts.issued == submitted as u64,
        "each submission counts once",
    )?;
    let done: Vec<(u64, u64, i32)> = (log.ios.iter())
        .filter_map(|io| Some((io, io.done?)))
        .map(|(io, (at, result))| (io.offset >> 20, at - io.submit_ns, result))
        .collect();
    ensure(done.len() == submitted, "each request completes")?;
    let mut rows = result.rows.clone();
    rows.sort_unstable();
    let mut wanted: Vec<(u64, i32)> = done
        .iter()
        .map(|(index, _, result)| (*index, *result))
        .collect();
    wanted.sort_unstable();
    ensure(rows == wanted, "each completion is recorded once")?;
    let u2c_ns: u128 = done.iter().map(|(_, u2c_ns, _)| u128::from(*u2c_ns)).sum();
    ensure(counts.sum_u2c_ns == u2c_ns, "times add up to the ns")?;
    ensure(
        counts.u2c_ns.count() == done.len() as u64,
        "each time counts once",
    )?;
    let moved_all = |index: u64, result: i32| replay.ios[index as usize].io.length as i32 == result;
    let good = wanted
        .iter()
        .filter(|(index, result)| moved_all(*index, *result));
    let bytes: u64 = good.clone().map(|(_, bytes)| *bytes as u64).sum();
    ensure(counts.bytes == bytes, "bytes are exact")?;
    let errors = (wanted.len() - good.count()) as u64;
    ensure(counts.errors == errors, "each failure counts once")?;
    let first = wanted
        .iter()
        .find(|(index, result)| !moved_all(*index, *result));
    let named = counts.first_error.as_ref().map(|(index, _)| *index);
    ensure(
        named == first.map(|(index, _)| *index),
        "the first failure is named",
    )?;
    let stops = errors > 0 && replay.on_error == OnError::Stop;
    ensure(!stops || result.stopped, "a failure stops the replay")
}

fn check_error(log: &DeviceLog, error: &EngineError) -> Result<(), String> {
    match error {
        EngineError::CompletedTwice(_) => ensure(log.repeated, "only what came twice came twice"),
        EngineError::NeverCompletes(request) => {
            let open = log.ios.iter().find(|io| io.done.is_none());
            let named = open.is_some_and(|io| io.offset == request.offset);
            ensure(log.lost && named, "the error names the request")
        }
        _ => Err("no other error".to_owned()),
    }
}

#[test]
fn a_replaying_thread_keeps_its_contracts_at_every_seed() {
    for_each_seed("tests::fault_seeds", check_seed);
}

/// The seeds reach all ends.
#[test]
fn the_first_seeds_reach_every_end() {
    let mut ends = [0; 4];
    for seed in 0..200 {
        let (_, result) = SeededReplay::new(seed).run();
        match result.counts {
            Ok(_) => ends[usize::from(result.stopped)] += 1,
            Err(EngineError::CompletedTwice(_)) => ends[2] += 1,
            Err(_) => ends[3] += 1,
        }
    }
    assert!(ends.iter().all(|count| *count >= 5), "{ends:?}");
}
