//! A replay from its start to its end: the reader, the submitting threads and the recorder.

mod thread;

pub use thread::{avoid_submitter_cpus, has_spare_cpus};

use crate::feed::{self, Deliveries, FeedResult};
use crate::outcome::join_windows;
use crate::record::{self, ReplayRow};
use crate::{
    ReplayCounts, ReplayError, ReplayFacts, ReplayOutcome, ReplayPlan, RowSender, ScheduledIo,
    WindowSeries,
};
use q2c_engine::TimeSource;
use q2c_engine::start::{Start, Starter};
use q2c_model::Bytes;
use q2c_model::replay::{Change, LaneBy, Mode};
use q2c_trace::TraceReader;
use q2c_trace::import::RecordSink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::{Scope, ScopedJoinHandle, scope};
use thread::{ThreadSetup, join_all, spawn_named, spawn_submitters, submit_in_world};

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
/// In a world the submitting threads are coroutines of the calling thread, and the start comes when
/// all of them are set up. The reader and the recorder take no simulated time: submitting threads
/// wait for them while time stands still.
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
    time: &TimeSource,
    record_to: Option<RecordTo<'_>>,
    read: &AtomicU64,
    stop: &AtomicBool,
) -> Result<ReplayOutcome, ReplayError> {
    check(&plan.mode, facts)?;
    let parts = ReplayParts {
        plan,
        facts,
        trace: TraceReader::open(&facts.path)?,
        shared: Shared::new(plan, facts, plan.threads(), stop),
        read,
        in_world: time.world().is_some(),
    };
    let channel = record_to
        .as_ref()
        .map(|_| record::channel(plan.threads(), parts.in_world));
    let (rows, recorder_rows) = channel.unzip();
    let recorder = record_to.zip(recorder_rows);
    let setups = parts.setups(rows);
    let start = Start::for_members(plan.threads());
    scope(|scope| match time {
        TimeSource::Real(clock) => {
            let starter = Starter::new(&start);
            let (submitting, senders) = spawn_submitters(scope, setups, *clock, &start)?;
            let send = move |thread: usize, requests| senders[thread].send(requests).is_ok();
            let others = parts.spawn_others(scope, send, recorder)?;
            match starter.wait_for_all() {
                Some(_) => starter.start_at(clock.now() + START_DELAY_NS),
                None => drop(starter),
            }
            parts.conclude(join_all(submitting), others)
        }
        TimeSource::World(world) => {
            let (sender, from) = sync_channel(feed::MAX_QUEUED_BATCHES);
            let send = move |thread, requests| sender.send((thread, requests)).is_ok();
            let others = parts.spawn_others(scope, send, recorder)?;
            let deliveries = Deliveries::new(from, plan.threads());
            parts.conclude(submit_in_world(world, setups, deliveries), others)
        }
    })
}

/// The parts of a replay that all its threads use.
struct ReplayParts<'a> {
    plan: &'a ReplayPlan,
    facts: &'a ReplayFacts,
    trace: TraceReader,
    shared: Shared<'a>,
    read: &'a AtomicU64,
    /// True in simulated time.
    in_world: bool,
}

/// The reader and the recorder.
struct OtherThreads<'s> {
    reading: ScopedJoinHandle<'s, Result<FeedResult, ReplayError>>,
    recording: Option<ScopedJoinHandle<'s, Result<u64, ReplayError>>>,
}

impl<'a> ReplayParts<'a> {
    fn setups(&'a self, rows: Option<Vec<RowSender>>) -> Vec<ThreadSetup<'a>> {
        let window_ns = window_ns(self.plan, self.facts);
        let mut rows = rows.into_iter().flatten();
        let setup = |number| ThreadSetup {
            number,
            plan: self.plan,
            shared: &self.shared,
            counts: ReplayCounts {
                windows: WindowSeries::new(window_ns),
                ..ReplayCounts::default()
            },
            rows: rows.next(),
        };
        (0..self.plan.threads()).map(setup).collect()
    }

    /// Starts the reader and, if there is something to record to, the recorder.
    fn spawn_others<'s, 'r: 's>(
        &'s self,
        scope: &'s Scope<'s, '_>,
        mut send: impl FnMut(usize, Vec<ScheduledIo>) -> bool + Send + 's,
        recorder: Option<(RecordTo<'r>, Receiver<Vec<ReplayRow>>)>,
    ) -> Result<OtherThreads<'s>, ReplayError> {
        let timed = matches!(self.plan.mode, Mode::Timed { .. });
        let windows = timed.then(|| WindowSeries::new(window_ns(self.plan, self.facts)));
        let (plan, facts, shared) = (self.plan, self.facts, &self.shared);
        let reading = spawn_named(scope, "reader", move || {
            self.leave_submitter_cpus();
            let flags = [shared.stop, &shared.failed];
            let (trace, read) = (&self.trace, self.read);
            let fed = feed::feed(plan, facts, trace, windows, &mut send, flags, read);
            shared.note_failure(fed)
        })?;
        let recording = recorder.map(|(to, rows)| {
            spawn_named(scope, "recorder", move || {
                self.leave_submitter_cpus();
                shared.note_failure(record::record(facts, &rows, to.memory, to.folder, to.sink))
            })
        });
        Ok(OtherThreads {
            reading,
            recording: recording.transpose()?,
        })
    }

    fn leave_submitter_cpus(&self) {
        if !self.in_world {
            avoid_submitter_cpus(self.plan);
        }
    }

    /// Waits for the other threads, and sums up. In simulated time these take no CPU time.
    fn conclude(
        &self,
        submitted: Result<(ReplayCounts, u64), ReplayError>,
        others: OtherThreads<'_>,
    ) -> Result<ReplayOutcome, ReplayError> {
        let fed = others.reading.join();
        let fed = fed.map_err(|_| ReplayError::Panic("reading"))?;
        let mut recorder_cpu_ns = 0;
        if let Some(recording) = others.recording {
            let recorded = recording.join();
            recorder_cpu_ns = recorded.map_err(|_| ReplayError::Panic("recording"))??;
        }
        let (submitted, fed) = (submitted?, fed?);
        let cpu_ns = fed.cpu_ns + recorder_cpu_ns;
        let reader_cpu_ns = if self.in_world { 0 } else { cpu_ns };
        let (facts, shared) = (self.facts, &self.shared);
        Ok(conclude(submitted, fed, facts, shared, reader_cpu_ns))
    }
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
    fn note_failure<T, E>(&self, result: Result<T, E>) -> Result<T, E> {
        result.inspect_err(|_| self.failed.store(true, Ordering::Relaxed))
    }
}

fn conclude(
    (mut counts, rows_lost): (ReplayCounts, u64),
    fed: FeedResult,
    facts: &ReplayFacts,
    shared: &Shared<'_>,
    reader_cpu_ns: u64,
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
        reader_cpu_ns,
        rows_lost,
        windows: join_windows(replayed, fed.recorded, profiled),
    }
}
