//! A replay from its start to its end: the reader, the submitting threads and the recorder.

mod thread;

pub use thread::{avoid_submitter_cpus, has_spare_cpus};

use crate::feed::{self, FeedResult};
use crate::outcome::join_windows;
use crate::record;
use crate::{ReplayCounts, ReplayError, ReplayFacts, ReplayOutcome, ReplayPlan, WindowSeries};
use q2c_engine::start::{Start, Starter};
use q2c_model::Bytes;
use q2c_model::replay::{Change, LaneBy, Mode};
use q2c_sys::Clock;
use q2c_trace::TraceReader;
use q2c_trace::import::RecordSink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread::scope;
use thread::{ThreadSetup, join_all, spawn_named, submit};

/// Time from the moment when all threads are ready to the schedule's start, ns.
const START_DELAY_NS: u64 = 20_000_000;
/// Shortest window, ns; also the initial window if the length of the replay is unknown.
const MIN_WINDOW_NS: u64 = 1_000_000;

/// Where the recording of a replay goes.
pub struct RecordTo<'a> {
    /// Receives the records, in the order of their submissions.
    pub sink: &'a mut (dyn RecordSink + Send),
    /// Most bytes of records that are held in memory.
    pub memory: Bytes,
    /// Folder for records that do not fit in memory, until the sink gets them.
    pub folder: &'a Path,
}

/// Replays the trace that `facts` describes, and returns after all threads have ended. `read`
/// counts the records taken from the trace; raising `stop` ends the replay early.
///
/// The threads are the plan's submitting threads, one reader, and with `record_to` one recorder.
/// Their order:
/// 1. Every submitting thread opens its engine and reports its success. The reader fills their
///    channels meanwhile.
/// 2. When all have reported, the start is set 20 ms ahead, for all of them. If one of them could
///    not open its engine, there is no start, and all of them end.
/// 3. At the trace's end the reader closes the channels. A submitting thread ends when it has
///    submitted all that it got, and nothing is in flight.
/// 4. When the last submitting thread has been joined, the recorder writes the rows to the sink.
///
/// A thread that fails or panics ends all others, because it raises `Shared::failed`
/// ([`q2c_engine::start`] explains why no thread waits for ever).
///
/// # Errors
/// Fails if the trace cannot be read or lacks what the mode needs, an engine cannot be opened or
/// breaks, a target is too small, a thread cannot start or panics, or the recording fails.
pub fn replay(
    plan: &ReplayPlan,
    facts: &ReplayFacts,
    clock: Clock,
    record_to: Option<RecordTo<'_>>,
    read: &AtomicU64,
    stop: &AtomicBool,
) -> Result<ReplayOutcome, ReplayError> {
    check(&plan.mode, facts)?;
    let trace = TraceReader::open(&facts.path)?;
    let threads = plan.threads();
    let shared = Shared::new(plan, facts, threads, stop);
    let channel = record_to.as_ref().map(|_| record::channel(threads));
    let (rows, recorder_rows) = channel.unzip();
    let mut rows = rows.into_iter().flatten();
    let start = Start::for_members(threads);
    let window_ns = window_ns(plan, facts);
    scope(|scope| {
        let starter = Starter::new(&start);
        let mut submitting = Vec::new();
        let mut senders = Vec::new();
        for number in 0..threads {
            let (sender, deliveries) = sync_channel(feed::MAX_QUEUED_BATCHES);
            senders.push(sender);
            let setup = ThreadSetup {
                number,
                plan,
                deliveries,
                shared: &shared,
                counts: ReplayCounts {
                    windows: WindowSeries::new(window_ns),
                    ..ReplayCounts::default()
                },
                rows: rows.next(),
                clock,
                start: &start,
            };
            submitting.push(spawn_named(scope, "submitter", move || submit(setup))?);
        }
        let timed = matches!(plan.mode, Mode::Timed { .. });
        let recorded_windows = timed.then(|| WindowSeries::new(window_ns));
        let (trace, shared) = (&trace, &shared);
        let reading = spawn_named(scope, "reader", move || {
            avoid_submitter_cpus(plan);
            let flags = [shared.stop, &shared.failed];
            let fed = feed::feed(plan, facts, trace, recorded_windows, &senders, flags, read);
            shared.note_failure(fed)
        })?;
        let recording = record_to.zip(recorder_rows).map(|(to, rows)| {
            spawn_named(scope, "recorder", move || {
                avoid_submitter_cpus(plan);
                shared.note_failure(record::record(facts, &rows, to.memory, to.folder, to.sink))
            })
        });
        let recording = recording.transpose()?;
        match starter.wait_for_all() {
            Some(_) => starter.start_at(clock.now() + START_DELAY_NS),
            None => drop(starter),
        }
        let submitted = join_all(submitting);
        let fed = reading.join().map_err(|_| ReplayError::Panic("reading"))?;
        let mut recorder_cpu_ns = 0;
        if let Some(recording) = recording {
            let recorded = recording.join();
            recorder_cpu_ns = recorded.map_err(|_| ReplayError::Panic("recording"))??;
        }
        Ok(conclude(submitted?, fed?, facts, shared, recorder_cpu_ns))
    })
}

/// Checks that the trace has what the mode needs.
///
/// # Errors
/// [`ReplayError::NoCompletions`] in outstanding mode, if too few requests have a completion.
/// [`ReplayError::NoKey`] in closed mode, if no request has the pid or CPU that names its lane.
pub fn check(mode: &Mode, facts: &ReplayFacts) -> Result<(), ReplayError> {
    match mode {
        Mode::Closed { lane: LaneBy::Pid } if facts.with_pid == 0 => Err(ReplayError::NoKey("pid")),
        Mode::Closed { lane: LaneBy::Cpu } if facts.with_cpu == 0 => Err(ReplayError::NoKey("CPU")),
        Mode::Outstanding { .. } if !facts.has_completions() => Err(ReplayError::NoCompletions {
            completed: facts.completed,
            requests: facts.requests,
        }),
        _ => Ok(()),
    }
}

fn window_ns(plan: &ReplayPlan, facts: &ReplayFacts) -> u64 {
    match plan.mode {
        Mode::Timed { speed } => {
            let whole_ns = (facts.time_to_last_end().0 as f64 / speed) as u64;
            let window_ns = whole_ns.div_ceil(plan.windows.max(1) as u64);
            window_ns.max(MIN_WINDOW_NS)
        }
        _ => MIN_WINDOW_NS,
    }
}

/// Counts requests in flight on all targets, and measures the time with nothing in flight.
#[derive(Debug, Default)]
pub(crate) struct InFlightCounter {
    in_flight: AtomicU32,
    idle_since_ns: AtomicU64,
    idle_ns: AtomicU64,
}

impl InFlightCounter {
    pub(crate) fn begin(&self, now_ns: u64) {
        if self.in_flight.fetch_add(1, Ordering::AcqRel) == 0 {
            let idle_since_ns = self.idle_since_ns.load(Ordering::Acquire);
            self.idle_ns
                .fetch_add(now_ns.saturating_sub(idle_since_ns), Ordering::Relaxed);
        }
    }

    pub(crate) fn end(&self, now_ns: u64) {
        self.idle_since_ns.fetch_max(now_ns, Ordering::AcqRel);
        self.in_flight.fetch_sub(1, Ordering::AcqRel);
    }

    pub(crate) fn idle_ns(&self) -> u64 {
        self.idle_ns.load(Ordering::Relaxed)
    }
}

/// State that the submitting threads of a replay share.
pub(crate) struct Shared<'a> {
    /// Number of requests submitted, by stream; stored after the submission has returned.
    pub progress: Vec<AtomicU64>,
    pub device_in_flight: Vec<AtomicU32>,
    pub in_flight: InFlightCounter,
    /// Raised by the replay's caller: no thread submits any more.
    pub stop: &'a AtomicBool,
    /// Raised if a failed request or thread ends the replay: no thread submits any more.
    pub failed: AtomicBool,
}

impl<'a> Shared<'a> {
    fn new(plan: &ReplayPlan, facts: &ReplayFacts, threads: usize, stop: &'a AtomicBool) -> Self {
        let streams = match plan.mode {
            Mode::Timed { .. } => threads,
            Mode::Outstanding { .. } => facts.devices.len(),
            // There may be as many lanes as requests. Above 2^20 lanes, some share counters, which
            // may count inversions that did not happen.
            Mode::Closed { .. } => 1 << 20,
        };
        Shared {
            progress: (0..streams).map(|_| AtomicU64::new(0)).collect(),
            device_in_flight: facts.devices.iter().map(|_| Default::default()).collect(),
            stop,
            failed: AtomicBool::new(false),
            in_flight: InFlightCounter::default(),
        }
    }

    #[inline]
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.failed.load(Ordering::Relaxed)
    }

    /// Ends the submitting threads if the work of another thread has failed.
    fn note_failure<T>(&self, result: Result<T, ReplayError>) -> Result<T, ReplayError> {
        result.inspect_err(|_| self.failed.store(true, Ordering::Relaxed))
    }
}

fn conclude(
    (mut counts, rows_lost): (ReplayCounts, u64),
    fed: FeedResult,
    facts: &ReplayFacts,
    shared: &Shared<'_>,
    recorder_cpu_ns: u64,
) -> ReplayOutcome {
    let profiled = facts.has_completions();
    let replayed = std::mem::take(&mut counts.windows);
    let mut changed = fed.changed;
    if rows_lost > 0 {
        changed.insert(Change::Unrecorded, rows_lost);
    }
    ReplayOutcome {
        complete: !shared.is_stopped(),
        counts,
        profiled,
        changed,
        idle_ns: shared.in_flight.idle_ns(),
        reader_cpu_ns: fed.cpu_ns + recorder_cpu_ns,
        rows_lost,
        windows: join_windows(replayed, fed.recorded, profiled),
    }
}
