//! A run: lanes on their CPUs, phases over time, one start, one clock, a sampler beside them.

use crate::engine::{EngineError, Facts};
use crate::engines::{EngineSpec, Medium};
use crate::lane::{Lane, Wait};
use crate::pattern::{Offsets, Pattern};
use crate::sample::{Fault, Recorder, Sample};
use q2c_model::{Bytes, CpuId, Nanos};
use q2c_sys::Clock;
use q2c_sys::clock::{monotonic_ns, thread_cpu_ns};
use q2c_sys::thread::{Switches, cpu_ns_of, least_timer_slack, pin, sleep_until, switches};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError, mpsc};
use std::thread;
use thiserror::Error;

/// What a lane does in one phase.
pub enum Activity {
    /// Nothing: it sleeps.
    Idle,
    /// I/O in this way.
    Start(Wait),
    /// Goes on as in the phase before, its rule's state kept.
    Continue,
}

/// One lane of a run.
pub struct JobPlan {
    /// Name for messages: `foreground 0`, `background 2`.
    pub name: String,
    /// The interface.
    pub engine: EngineSpec,
    /// Where the I/O goes.
    pub medium: Medium,
    /// Access pattern.
    pub pattern: Pattern,
    /// Bytes per request.
    pub bs: Bytes,
    /// Bytes of the target in use, from its start.
    pub span: Bytes,
    /// Requests in flight, from 1.
    pub depth: u16,
    /// The CPU it is pinned to.
    pub cpu: CpuId,
    /// Seed of its offsets.
    pub seed: u64,
    /// One entry per phase of the run.
    pub activities: Vec<Activity>,
    /// Samples kept at most; 0 counts only.
    pub capacity: usize,
    /// Stop the whole run at its first failed I/O.
    pub stop_on_fault: bool,
}

/// A whole run.
pub struct RunPlan {
    /// Lengths of the phases.
    pub phases: Vec<Nanos>,
    /// The lanes.
    pub jobs: Vec<JobPlan>,
    /// Distance of the sampler's readings of thread CPU, above 0.
    pub interval: Nanos,
    /// The sampler's CPU; best one without a job.
    pub sampler_cpu: Option<CpuId>,
    /// The clock of all times.
    pub clock: Clock,
}

/// Is told of phase boundaries, from the sampler's thread.
pub trait Observer {
    /// Phase number `phase` is about to begin; `phase == phases` is the end of the run. A run that is stopped early
    /// tells its first phase and its end, and leaves out the phases that never began.
    fn boundary(&mut self, phase: usize);
}

/// An observer that does not care.
impl Observer for () {
    fn boundary(&mut self, _phase: usize) {}
}

/// A moment in a lane's life, read by the lane itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// On the run's clock.
    pub t_ns: u64,
    /// Thread CPU so far.
    pub cpu_ns: u64,
    /// Context switches so far.
    pub switches: Switches,
}

/// One phase of one lane.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PhaseData {
    /// At its begin.
    pub begin: Mark,
    /// At its end.
    pub end: Mark,
    /// I/Os.
    pub ios: u64,
    /// Which of the lane's samples belong to it.
    pub samples: Range<usize>,
}

/// What a lane leaves behind.
#[derive(Debug, Default)]
pub struct LaneData {
    /// Name from the plan.
    pub name: String,
    /// What its engine was.
    pub facts: Facts,
    /// Its phases; fewer than planned when it was stopped.
    pub phases: Vec<PhaseData>,
    /// Its samples, in the order of reaping.
    pub samples: Vec<Sample>,
    /// I/Os in all; more than samples when the capacity was too small or 0.
    pub ios: u64,
    /// Failed I/Os.
    pub faults: u64,
    /// The first of them.
    pub first_fault: Option<Fault>,
    /// The sampler's readings: instant on the run's clock, thread CPU, both ns.
    pub cpu_readings: Vec<(u64, u64)>,
}

/// What a run leaves behind.
#[derive(Debug, Default)]
pub struct RunData {
    /// In the order of the plan.
    pub lanes: Vec<LaneData>,
    /// The common start on the run's clock.
    pub start_ns: u64,
    /// It was stopped before its end.
    pub stopped: bool,
}

/// A run that could not be done.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RunError {
    /// A lane could not start or broke down.
    #[error("run {lane}: {source}")]
    Lane {
        /// Its name.
        lane: String,
        /// Cause.
        source: EngineError,
    },
    /// The plan contradicts itself.
    #[error("plan {lane}: {problem}")]
    Plan {
        /// Its name.
        lane: String,
        /// What is wrong, and what to do.
        problem: String,
    },
    /// A lane's thread panicked: a fault of q2c.
    #[error("run {0}: its thread panicked")]
    Panic(String),
    /// A lane's thread could not be had.
    #[error(
        "run {lane}: start its thread: {source}; use fewer jobs or raise the limit of tasks (ulimit -u)"
    )]
    Spawn {
        /// Its name.
        lane: String,
        /// Cause.
        source: std::io::Error,
    },
}

/// Does the run: every lane set up, a common start, the phases, and all data back.
///
/// `stop` ends it early (data so far is returned, `stopped` set). With `stop_on_fault` the first failed I/O does.
///
/// # Errors
/// When the plan is wrong, a lane cannot be set up, or an engine breaks. No thread is left behind.
pub fn run(
    plan: RunPlan,
    observer: &mut (dyn Observer + Send),
    stop: &AtomicBool,
) -> Result<RunData, RunError> {
    check_plan(&plan)?;
    let halt = AtomicBool::new(false);
    let start = Start::default();
    let (clock, phases) = (plan.clock, &plan.phases[..]);
    let sampler = Sampler {
        clock,
        phases,
        interval: plan.interval,
        cpu: plan.sampler_cpu,
    };
    let halt = &halt;
    thread::scope(|scope| {
        let (ready, setups) = mpsc::channel();
        let mut threads = Vec::new();
        let mut refused = None;
        for (index, job) in plan.jobs.into_iter().enumerate() {
            let (ready, start) = (ready.clone(), &start);
            let lane = job.name.clone();
            let body = move || lane_thread(index, job, clock, phases, halt, start, &ready);
            match thread::Builder::new().spawn_scoped(scope, body) {
                Ok(thread) => threads.push((lane, thread)),
                Err(source) => {
                    refused = Some(RunError::Spawn { lane, source });
                    break;
                }
            }
        }
        drop(ready);
        let tids = collect_setups(&setups, threads.len()).filter(|_| refused.is_none());
        let begin = clock.now() + LEAD_NS;
        start.tell(if tids.is_some() { begin } else { NEVER });
        let readings = match tids {
            // A thread of its own: its CPU is not the caller's.
            Some(tids) => scope
                .spawn(move || {
                    let _halts = HaltsOnPanic(halt);
                    sampler.follow(begin, &tids, observer, stop, halt)
                })
                .join(),
            None => Ok(Vec::new()),
        };
        let readings = readings.map_err(|_| RunError::Panic("sampler".to_owned()));
        let lanes = threads
            .into_iter()
            .map(|(name, thread)| finish(name, thread))
            .collect();
        refused.map_or(Ok(()), Err)?;
        gather(lanes, readings?, begin, halt.load(Ordering::Relaxed))
    })
}

/// No start: a lane could not be set up.
const NEVER: u64 = u64::MAX;
/// From the last set-up to the common start.
const LEAD_NS: u64 = 3_000_000;
/// How long anything sleeps without looking whether to stop.
const NAP_NS: u64 = 50_000_000;

/// Where the lanes wait for the common start.
#[derive(Default)]
struct Start {
    at: Mutex<Option<u64>>,
    told: Condvar,
}

impl Start {
    /// An instant on the run's clock, or [`NEVER`].
    fn tell(&self, at: u64) {
        *self.at.lock().unwrap_or_else(PoisonError::into_inner) = Some(at);
        self.told.notify_all();
    }

    fn hear(&self) -> u64 {
        let mut at = self.at.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match *at {
                Some(at) => return at,
                None => at = self.told.wait(at).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }
}

/// A thread that panics must not leave the others at work until the run's planned end.
struct HaltsOnPanic<'a>(&'a AtomicBool);

impl Drop for HaltsOnPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

fn check_plan(plan: &RunPlan) -> Result<(), RunError> {
    if plan.interval == Nanos::ZERO {
        return Err(RunError::Plan {
            lane: "sampler".to_owned(),
            problem: "the interval of its readings must be above 0".to_owned(),
        });
    }
    plan.jobs
        .iter()
        .try_for_each(|job| check(job, plan.phases.len()))
}

fn check(job: &JobPlan, phases: usize) -> Result<(), RunError> {
    let wrong = |problem: &str| {
        Err(RunError::Plan {
            lane: job.name.clone(),
            problem: problem.to_owned(),
        })
    };
    let sleeps = |a: &Activity| matches!(a, Activity::Start(Wait::Hybrid(_)));
    if job.activities.len() != phases {
        return wrong("every phase needs an activity");
    }
    if job.depth == 0 || job.bs.0 == 0 || u32::try_from(job.bs.0).is_err() {
        return wrong("depth and block size must be above 0 and the block size below 4 GiB");
    }
    if job.depth > 1 && job.activities.iter().any(sleeps) {
        return wrong("hybrid polling sleeps for one I/O: use depth 1, or interrupt or poll");
    }
    if job.span < job.bs {
        return wrong("the target is smaller than one block");
    }
    Ok(())
}

/// Thread ids of all lanes in the order of the plan; `None` when one of them could not be set up.
fn collect_setups(setups: &mpsc::Receiver<(usize, Option<u32>)>, lanes: usize) -> Option<Vec<u32>> {
    let mut tids = vec![None; lanes];
    setups
        .iter()
        .take(lanes)
        .for_each(|(lane, tid)| tids[lane] = tid);
    tids.into_iter().collect()
}

type LaneResult = Result<LaneData, EngineError>;

fn finish(
    name: String,
    thread: thread::ScopedJoinHandle<'_, LaneResult>,
) -> Result<LaneData, RunError> {
    match thread.join() {
        Ok(Ok(data)) => Ok(data),
        Ok(Err(source)) => Err(RunError::Lane { lane: name, source }),
        Err(_) => Err(RunError::Panic(name)),
    }
}

fn gather(
    lanes: Vec<Result<LaneData, RunError>>,
    readings: Vec<Vec<(u64, u64)>>,
    start_ns: u64,
    stopped: bool,
) -> Result<RunData, RunError> {
    let mut lanes = lanes.into_iter().collect::<Result<Vec<_>, _>>()?;
    lanes
        .iter_mut()
        .zip(readings)
        .for_each(|(lane, readings)| lane.cpu_readings = readings);
    Ok(RunData {
        lanes,
        start_ns,
        stopped,
    })
}

fn lane_thread(
    index: usize,
    job: JobPlan,
    clock: Clock,
    phases: &[Nanos],
    halt: &AtomicBool,
    start: &Start,
    ready: &mpsc::Sender<(usize, Option<u32>)>,
) -> LaneResult {
    // Every lane reports, even one whose set-up panics: the run waits for it.
    let set_up = catch_unwind(AssertUnwindSafe(|| set_up(&job, clock, halt)));
    let tid = matches!(set_up, Ok(Ok(_))).then(q2c_sys::thread::id);
    // The receiver lives until every lane has reported.
    ready
        .send((index, tid))
        .expect("the run waits for every lane");
    let begin = start.hear();
    let lane = set_up.unwrap_or_else(|panic| resume_unwind(panic))?;
    if begin == NEVER {
        return Ok(LaneData::default());
    }
    let _halts = HaltsOnPanic(halt);
    // What the others would still measure has no counterpart any more.
    live(lane, job, begin, phases).inspect_err(|_| halt.store(true, Ordering::Relaxed))
}

fn set_up<'a>(job: &JobPlan, clock: Clock, halt: &'a AtomicBool) -> Result<Lane<'a>, EngineError> {
    let pinned = pin(job.cpu).and_then(|()| least_timer_slack());
    pinned.map_err(|source| EngineError::Pin {
        cpu: job.cpu.0,
        source,
    })?;
    let (slots, size) = (job.depth as usize, job.bs.0 as usize);
    Ok(Lane {
        engine: job.engine.open(&job.medium, slots, size, job.seed)?,
        offsets: Offsets::new(job.pattern, job.bs, job.span, job.seed),
        clock,
        recorder: Recorder::new(job.capacity),
        write: job.pattern.write,
        length: job.bs.0 as u32,
        stop: halt,
        stop_on_fault: job.stop_on_fault,
        depth: job.depth,
        slots: vec![(0, 0); slots],
    })
}

fn live(mut lane: Lane<'_>, job: JobPlan, begin: u64, phases: &[Nanos]) -> LaneResult {
    let (mut wait, mut end) = (None, begin);
    let mut data = Vec::with_capacity(phases.len());
    rest_until(begin, lane.clock, lane.stop);
    for (activity, length) in job.activities.into_iter().zip(phases) {
        end += length.0;
        wait = match activity {
            Activity::Idle => None,
            Activity::Start(new) => Some(new),
            Activity::Continue => wait,
        };
        data.push(phase(&mut lane, wait.as_mut(), end)?);
        if lane.stop.load(Ordering::Relaxed) {
            break;
        }
    }
    let (faults, first_fault) = lane.recorder.faults();
    Ok(LaneData {
        name: job.name,
        facts: lane.engine.facts(),
        phases: data,
        ios: lane.recorder.ios(),
        samples: lane.recorder.into_samples(),
        faults,
        first_fault,
        cpu_readings: Vec::new(),
    })
}

fn phase(lane: &mut Lane<'_>, wait: Option<&mut Wait>, end: u64) -> Result<PhaseData, EngineError> {
    let (begin, ios, first) = (
        mark(lane.clock),
        lane.recorder.ios(),
        lane.recorder.recorded(),
    );
    match wait {
        Some(wait) => lane.run_until(wait, end)?,
        None => rest_until(end, lane.clock, lane.stop),
    }
    Ok(PhaseData {
        begin,
        end: mark(lane.clock),
        ios: lane.recorder.ios() - ios,
        samples: first..lane.recorder.recorded(),
    })
}

fn mark(clock: Clock) -> Mark {
    Mark {
        t_ns: clock.now(),
        cpu_ns: thread_cpu_ns(),
        switches: switches(),
    }
}

/// Sleeps until the run's clock shows `end`, or `stop` is raised.
fn rest_until(end: u64, clock: Clock, stop: &AtomicBool) {
    loop {
        let left = end.saturating_sub(clock.now());
        if left == 0 || stop.load(Ordering::Relaxed) {
            return;
        }
        sleep_until(monotonic_ns() + left.min(NAP_NS));
    }
}

struct Sampler<'a> {
    clock: Clock,
    phases: &'a [Nanos],
    interval: Nanos,
    cpu: Option<CpuId>,
}

impl Sampler<'_> {
    /// Reads every lane's CPU at each interval of each phase; passes `stop` on to `halt`.
    fn follow(
        &self,
        begin: u64,
        tids: &[u32],
        observer: &mut (dyn Observer + Send),
        stop: &AtomicBool,
        halt: &AtomicBool,
    ) -> Vec<Vec<(u64, u64)>> {
        if let Some(cpu) = self.cpu {
            // Best effort: an unplaced sampler costs the lanes a little, and changes no number's meaning.
            pin(cpu).ok();
        }
        let mut readings = vec![Vec::new(); tids.len()];
        let mut phase_begin = begin;
        'run: for (phase, length) in self.phases.iter().enumerate() {
            // Lanes do at least one I/O of the first phase.
            if !self.pause(phase_begin, stop, halt) && phase > 0 {
                break;
            }
            observer.boundary(phase);
            for tick in 0..=length.0 / self.interval.0 {
                if !self.pause(phase_begin + tick * self.interval.0, stop, halt) {
                    break 'run;
                }
                self.read(tids, &mut readings);
            }
            phase_begin += length.0;
        }
        self.pause(phase_begin, stop, halt);
        observer.boundary(self.phases.len());
        readings
    }

    /// Sleeps until the run's clock shows `until`; false when the run is halted. A sampler that is late looks too.
    fn pause(&self, until: u64, stop: &AtomicBool, halt: &AtomicBool) -> bool {
        loop {
            if stop.load(Ordering::Relaxed) {
                halt.store(true, Ordering::Relaxed);
            }
            let now = self.clock.now();
            if halt.load(Ordering::Relaxed) || now >= until {
                return !halt.load(Ordering::Relaxed);
            }
            rest_until(until.min(now + NAP_NS), self.clock, halt);
        }
    }

    fn read(&self, tids: &[u32], readings: &mut [Vec<(u64, u64)>]) {
        for (tid, readings) in tids.iter().zip(readings) {
            // A lane that has ended early has no clock any more: its series just ends.
            if let Ok(cpu) = cpu_ns_of(*tid) {
                readings.push((self.clock.now(), cpu));
            }
        }
    }
}
