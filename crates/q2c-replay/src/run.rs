//! A replay from its start to its end: the reader, the submitting threads and the recorder.

use crate::change::Change;
use crate::error::ReplayError;
use crate::facts::Facts;
use crate::feed::{self, Fed};
use crate::gate::Rule;
use crate::item::Item;
use crate::outcome::{Outcome, windows};
use crate::plan::{Count, LaneBy, Mode, Plan};
use crate::record::{self, Row, Rows};
use crate::shared::{Busy, Shared};
use crate::tally::Tally;
use crate::time::Real;
use crate::windows::Windows;
use crate::worker::{Parts, Worker};
use q2c_engine::EngineSpec;
use q2c_engine::engine::EngineError;
use q2c_model::{Bytes, CpuId};
use q2c_sys::clock::thread_cpu_ns;
use q2c_sys::{Clock, thread};
use q2c_trace::TraceReader;
use q2c_trace::import::RecordSink;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::thread::{Builder, Scope, ScopedJoinHandle, scope};

/// Time between the moment when all threads are ready and the schedule's start, ns.
const LEAD: u64 = 20_000_000;
/// First length of a window where the trace does not tell how long the replay will take, and the
/// shortest length elsewhere, ns.
const SHORT: u64 = 1_000_000;

/// Where the recording of a replay goes.
pub struct Into<'a> {
    /// Takes the records, in the order of their submissions.
    pub sink: &'a mut (dyn RecordSink + Send),
    /// Bytes of records that are held in memory at most.
    pub memory: Bytes,
    /// Folder for the records that do not fit in memory, until the sink gets them.
    pub folder: &'a Path,
}

/// Replays the trace that `facts` describes and returns when all its threads have ended. `read`
/// counts the records that were taken from the trace; raising `stop` ends the replay early.
///
/// The threads are the plan's submitting threads, one reader, and with `into` one recorder. Their
/// order:
/// 1. Every submitting thread opens its engine and reports that it is ready, even when that failed.
///    The reader fills their channels meanwhile.
/// 2. When all have reported, the start is set 20 ms ahead, the same for all of them.
/// 3. At the trace's end the reader closes the channels. A submitting thread ends when it has
///    submitted what it got and nothing of it is in flight.
/// 4. When the last submitting thread has been joined, the recorder writes the rows to the sink.
///
/// A thread that fails or panics makes all others end: it raises `Shared::failed`, and the start is
/// told on every way out, so that no thread waits for it for ever.
///
/// # Errors
/// The trace cannot be read or lacks what the mode needs, an engine cannot be opened or breaks, or
/// the recording fails.
pub fn replay(
    plan: &Plan,
    facts: &Facts,
    clock: Clock,
    into: Option<Into<'_>>,
    read: &AtomicU64,
    stop: &AtomicBool,
) -> Result<Outcome, ReplayError> {
    check(&plan.mode, facts)?;
    let trace = TraceReader::open(&facts.path)?;
    let threads = plan.threads();
    let shared = Shared::new(plan, facts, threads, stop);
    let (mut rows, from) = ends(threads, into.is_some());
    let (ready, readies) = channel();
    let start = Start {
        at: OnceLock::new(),
        ready,
    };
    let base = part_length(plan, facts);
    scope(|scope| {
        let begins = Begins(&start, clock);
        let mut workers = Vec::new();
        let mut senders = Vec::new();
        for (number, rows) in rows.iter_mut().enumerate() {
            let (to, items) = sync_channel(feed::AHEAD);
            senders.push(to);
            let setup = Setup {
                number,
                plan,
                items,
                shared: &shared,
                tally: Tally::new(Windows::new(base)),
                rows: rows.take(),
                clock,
                start: &start,
            };
            workers.push(spawn(scope, setup)?);
        }
        drop(rows);
        let recorded = matches!(plan.mode, Mode::Timed { .. }).then(|| Windows::new(base));
        let (trace, shared) = (&trace, &shared);
        let feeding = named(scope, "reader", move || {
            leave(plan);
            let ends = [shared.stop, &shared.failed];
            let fed = feed::feed(plan, facts, trace, recorded, &senders, ends, read);
            if fed.is_err() {
                shared.failed.store(true, Ordering::Relaxed);
            }
            fed
        })?;
        let recording = into.zip(from).map(|(into, from)| {
            let Into {
                sink,
                memory,
                folder,
            } = into;
            named(scope, "recorder", move || {
                leave(plan);
                let recorded = record::record(facts, &from, memory, folder, sink);
                if recorded.is_err() {
                    shared.failed.store(true, Ordering::Relaxed);
                }
                recorded
            })
        });
        let recording = recording.transpose()?;
        readies.iter().take(threads).for_each(drop);
        drop(begins);
        let done = join_all(workers);
        let fed = feeding.join().map_err(|_| ReplayError::Panic("reading"))?;
        let recorder_cpu = match recording {
            Some(recording) => recording
                .join()
                .map_err(|_| ReplayError::Panic("recording"))??,
            None => 0,
        };
        Ok(conclude(done?, fed?, facts, shared, recorder_cpu))
    })
}

/// The senders of rows, one for each thread, and the recorder's receiver. `None` everywhere when no
/// recording is wanted.
fn ends(threads: usize, wanted: bool) -> (Vec<Option<Rows>>, Option<Receiver<Vec<Row>>>) {
    if !wanted {
        return ((0..threads).map(|_| None).collect(), None);
    }
    let (rows, from) = record::channel(threads);
    (rows.into_iter().map(Some).collect(), Some(from))
}

/// Checks that the trace has what the mode needs.
///
/// # Errors
/// [`ReplayError::NoCompletions`] in outstanding mode, when too few requests have a completion.
/// [`ReplayError::NoKey`] in closed mode, when no request has the pid or the CPU that names its
/// lane.
pub fn check(mode: &Mode, facts: &Facts) -> Result<(), ReplayError> {
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

/// The first length of a window, ns: in timed mode the replay's expected time in [`Plan::windows`]
/// parts.
fn part_length(plan: &Plan, facts: &Facts) -> u64 {
    match plan.mode {
        Mode::Timed { speed } => {
            let whole = (facts.whole().0 as f64 / speed) as u64;
            whole.div_ceil(plan.windows.max(1) as u64).max(SHORT)
        }
        _ => SHORT,
    }
}

impl<'a> Shared<'a> {
    fn new(plan: &Plan, facts: &Facts, threads: usize, stop: &'a AtomicBool) -> Self {
        let streams = match plan.mode {
            Mode::Timed { .. } => threads,
            Mode::Outstanding { .. } => facts.devices.len(),
            // There may be as many lanes as requests. Above 2^20 of them lanes share counters,
            // which can count inversions that are not there.
            Mode::Closed { .. } => 1 << 20,
        };
        Shared {
            progress: (0..streams).map(|_| AtomicU64::new(0)).collect(),
            devices: facts.devices.iter().map(|_| Default::default()).collect(),
            stop,
            failed: AtomicBool::new(false),
            in_flight: Busy::default(),
        }
    }
}

/// The start that all submitting threads have in common. It is set once, when every thread has
/// reported.
struct Start {
    at: OnceLock<u64>,
    ready: Sender<()>,
}

impl Start {
    /// Called by a submitting thread, also when it could not open its engine: reports, waits for
    /// the others, and returns the start on the clock.
    fn wait(&self) -> u64 {
        // The receiver is gone when another thread could not be started.
        self.ready.send(()).ok();
        *self.at.wait()
    }
}

/// Sets the start when it is dropped, and so on every way out of the scope: no submitting thread
/// waits for it for ever.
struct Begins<'a>(&'a Start, Clock);

impl Drop for Begins<'_> {
    fn drop(&mut self) {
        self.0.at.get_or_init(|| self.1.now() + LEAD);
    }
}

/// Held by each submitting thread: if the thread panics, the others end too, and its report is not
/// missed.
struct Breaks<'a>(&'a Shared<'a>, &'a Start);

impl Drop for Breaks<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.failed.store(true, Ordering::Relaxed);
            self.1.ready.send(()).ok();
        }
    }
}

/// The arguments of a submitting thread.
struct Setup<'a> {
    number: usize,
    plan: &'a Plan,
    items: Receiver<Vec<Item>>,
    shared: &'a Shared<'a>,
    tally: Tally,
    rows: Option<Rows>,
    clock: Clock,
    start: &'a Start,
}

type Done = Result<(Tally, Option<Rows>), EngineError>;

fn spawn<'s, 'e>(
    scope: &'s Scope<'s, 'e>,
    setup: Setup<'s>,
) -> Result<ScopedJoinHandle<'s, Done>, ReplayError> {
    named(scope, "submitter", move || {
        let done = submit(setup);
        done.map(|(mut tally, rows)| {
            tally.cpu_ns = thread_cpu_ns();
            (tally, rows)
        })
    })
}

fn named<'s, 'e, T: Send + 's>(
    scope: &'s Scope<'s, 'e>,
    name: &str,
    body: impl FnOnce() -> T + Send + 's,
) -> Result<ScopedJoinHandle<'s, T>, ReplayError> {
    let thread = Builder::new().name(format!("q2c-{name}"));
    thread.spawn_scoped(scope, body).map_err(ReplayError::Spawn)
}

fn submit(setup: Setup<'_>) -> Done {
    let Setup {
        number,
        plan,
        items,
        shared,
        tally,
        rows,
        clock,
        start,
    } = setup;
    let _guard = Breaks(shared, start);
    let opened = open(plan, number);
    // The thread reports even when the engine could not be opened: the others wait for every
    // report.
    let begin = start.wait();
    let engine = opened.inspect_err(|_| shared.failed.store(true, Ordering::Relaxed))?;
    let (rule, count) = match plan.mode {
        Mode::Timed { .. } => (Rule::Timed, Count::Requests),
        Mode::Outstanding { count, keep_idle } => (Rule::Outstanding { keep: keep_idle }, count),
        Mode::Closed { .. } => (Rule::Closed, Count::Requests),
    };
    let parts = Parts {
        engine,
        sleeps: matches!(
            plan.targets[number / plan.submitters].engine,
            EngineSpec::Libaio(_)
        ),
        rule,
        count,
        on_error: plan.on_error,
        look: spare_cpus(plan),
        in_flight: plan.in_flight,
        items,
        shared,
        tally,
        rows,
    };
    let worked = Worker::new(parts, Real::new(clock, begin, plan.spin)).run();
    worked.inspect_err(|_| shared.failed.store(true, Ordering::Relaxed))
}

/// Whether each submitting thread can have a CPU to itself and one is left for the other threads. A
/// thread that looks for completions then takes the CPU from nobody.
#[must_use]
pub fn spare_cpus(plan: &Plan) -> bool {
    let threads = plan.threads();
    let named: BTreeSet<&CpuId> = plan.cpus.iter().collect();
    let room = named.is_empty() || named.len() >= threads;
    room && threads < plan.room
}

/// Moves the calling thread off the CPUs of the submitting threads, if it may run on others.
pub fn leave(plan: &Plan) {
    let taken = &plan.cpus[..plan.cpus.len().min(plan.threads())];
    let allowed = thread::allowed_cpus().unwrap_or_default();
    let free: Vec<CpuId> = allowed
        .into_iter()
        .filter(|cpu| !taken.contains(cpu))
        .collect();
    if !free.is_empty() {
        // If this is refused, the kernel chooses the CPU.
        thread::allow(&free).ok();
    }
}

fn open(plan: &Plan, number: usize) -> Result<Box<dyn q2c_engine::engine::Engine>, EngineError> {
    if !plan.cpus.is_empty() {
        let cpu = plan.cpus[number % plan.cpus.len()];
        thread::pin(cpu).map_err(|source| EngineError::Pin { cpu: cpu.0, source })?;
    }
    // With the default timer slack sleeps end up to 50 us late, and the margin that waits learn
    // would grow by that.
    thread::least_timer_slack().ok();
    let target = &plan.targets[number / plan.submitters];
    target
        .engine
        .open_in(&target.medium, plan.memory, plan.seed + number as u64)
}

fn join_all(workers: Vec<ScopedJoinHandle<'_, Done>>) -> Result<(Tally, u64), ReplayError> {
    let mut all: Option<Tally> = None;
    let mut lost = 0;
    let mut failed = None;
    for worker in workers {
        match worker.join() {
            Ok(Ok((tally, rows))) => {
                lost += rows.map_or(0, |rows| rows.lost);
                match &mut all {
                    None => all = Some(tally),
                    Some(all) => all.merge(tally),
                }
            }
            Ok(Err(error)) => failed = failed.or(Some(error.into())),
            Err(_) => failed = failed.or(Some(ReplayError::Panic("submitting"))),
        }
    }
    match (failed, all) {
        (Some(error), _) => Err(error),
        (None, Some(all)) => Ok((all, lost)),
        (None, None) => Err(ReplayError::Panic("submitting")),
    }
}

fn conclude(
    (mut tally, rows_lost): (Tally, u64),
    fed: Fed,
    facts: &Facts,
    shared: &Shared<'_>,
    recorder_cpu: u64,
) -> Outcome {
    let profiled = facts.has_completions();
    let done = std::mem::replace(&mut tally.windows, Windows::new(1));
    let stopped = shared.stop.load(Ordering::Relaxed) || shared.failed.load(Ordering::Relaxed);
    let mut changed = fed.changed;
    if rows_lost > 0 {
        changed.insert(Change::Unrecorded, rows_lost);
    }
    Outcome {
        complete: !stopped,
        counts: tally,
        profiled,
        changed,
        idle: shared.in_flight.idle(),
        reader_cpu: fed.cpu_ns + recorder_cpu,
        rows_lost,
        windows: windows(done, fed.recorded, profiled),
    }
}
