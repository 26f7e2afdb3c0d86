//! Tests of replays in virtual time, which only the device advances: nothing is late, and nothing
//! depends on chance.

mod device;
mod fault_seeds;
mod outstanding;
mod overlap;
mod reference;
mod timed;
mod trace;
mod world;

use crate::run::InFlightCounter;
use crate::worker::{EngineSubmitter, ReplayWorker, Schedule, ThreadAccount};
use crate::{
    GateRule, Permits, ReplayCounts, ReplayFacts, ReplayOutcome, ReplayPlan, ReplaySelection,
    ReplayTarget, Shared, WindowSeries, feed, prepare, record,
};
use device::{VirtualClock, VirtualDevice};
use q2c_engine::engines::Memory;
use q2c_engine::{EngineSpec, Medium};
use q2c_model::replay::{Fit, Mode, OnError, ShareBy};
use q2c_model::{Bytes, IoRecord};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::sync::mpsc::sync_channel;

const BIG: Bytes = Bytes(1 << 40);

pub(crate) fn plan(mode: Mode) -> ReplayPlan {
    ReplayPlan {
        mode,
        targets: vec![ReplayTarget {
            medium: Medium::None,
            engine: EngineSpec::Null,
            size: BIG,
            align: Bytes(4096),
            devices: vec![0],
        }],
        fit: Fit::Modulo,
        permits: Permits::default(),
        submitters: 1,
        room: 2,
        spin: false,
        share: ShareBy::Offset,
        cpus: Vec::new(),
        in_flight: 64,
        memory: Memory {
            slots: 64,
            size: 1 << 16,
            shared: None,
        },
        on_error: OnError::Stop,
        seed: 1,
        windows: 10,
        selection: ReplaySelection::default(),
    }
}

/// The device's log, the counts, the records, and the number of the thread's looks.
struct Replayed {
    log: Vec<(u64, u64, usize)>,
    counts: ReplayCounts,
    records: Vec<IoRecord>,
    polls: u64,
}

impl Replayed {
    /// The time of each submission.
    fn times(&self) -> Vec<u64> {
        self.log.iter().map(|(at, ..)| *at).collect()
    }
}

fn replayed(trace: &Path, mode: Mode, service_ns: Vec<u64>, servers: usize) -> Replayed {
    let (plan, facts, stop) = (plan(mode), facts(trace), AtomicBool::new(false));
    let reader = q2c_trace::TraceReader::open(trace).unwrap();
    let (sender, deliveries) = sync_channel(feed::MAX_QUEUED_BATCHES);
    let (flags, read) = ([&stop; 2], AtomicU64::new(0));
    let mut send = |_, requests| sender.send(requests).is_ok();
    feed::feed(&plan, &facts, &reader, None, &mut send, flags, &read).unwrap();
    drop(sender);
    let clock = VirtualClock::default();
    let device = VirtualDevice::new(&clock, service_ns, servers);
    let shared = Shared {
        progress: (0..64).map(|_| AtomicU64::new(0)).collect(),
        device_in_flight: vec![AtomicU32::new(0)],
        in_flight: InFlightCounter::default(),
        stop: &stop,
        failed: AtomicBool::new(false),
    };
    let (mut rows, receiver) = record::channel(1, false);
    let (rule, count) = GateRule::from_mode(&mode);
    let counts = ReplayCounts {
        windows: WindowSeries::new(1000),
        ..ReplayCounts::default()
    };
    let worker = ReplayWorker {
        schedule: Schedule::new(rule, count, || deliveries.try_recv(), &shared.progress),
        submitter: EngineSubmitter::new(Box::new(device), false, plan.in_flight),
        account: ThreadAccount::new(counts, rows.pop()),
        shared: &shared,
        on_error: OnError::Stop,
        may_poll: true,
        waits_for_others: false,
        time: clock.clone(),
    };
    let (counts, rows) = worker.run().unwrap();
    drop(rows);
    let mut records: Vec<IoRecord> = Vec::new();
    let folder = std::env::temp_dir();
    record::record(&facts, &receiver, Bytes(0), &folder, &mut records).unwrap();
    Replayed {
        log: clock.log.take(),
        counts,
        records,
        polls: clock.polls.get(),
    }
}

fn facts(trace: &Path) -> ReplayFacts {
    let (all, stop) = (ReplaySelection::default(), AtomicBool::new(false));
    prepare(trace, &all, &stop, |_| {}).unwrap()
}

/// Replays in real time, and returns the outcome and the records of it.
fn run(plan: &ReplayPlan, facts: &ReplayFacts) -> (ReplayOutcome, Vec<IoRecord>) {
    let mut records = Vec::new();
    let record_to = crate::RecordTo {
        sink: &mut records,
        memory: Bytes(1 << 24),
        folder: &std::env::temp_dir(),
    };
    let (clock, stop) = (q2c_sys::Clock::new().into(), AtomicBool::new(false));
    let read = AtomicU64::new(0);
    let done = crate::replay(plan, facts, &clock, Some(record_to), &read, &stop);
    (done.unwrap(), records)
}
