//! A lane's thread: set up, wait for the common start, live through the phases.

use super::data::{LaneData, Mark, PhaseData};
use super::plan::{Activity, JobPlan};
use super::start::{NEVER, Start};
use crate::engine::EngineError;
use crate::lane::{Flights, Lane, Pace, Wait};
use crate::pattern::Offsets;
use crate::sample::Recorder;
use q2c_model::Nanos;
use q2c_sys::Clock;
use q2c_sys::clock::{monotonic_ns, thread_cpu_ns};
use q2c_sys::thread::{cpu_ns_of, least_timer_slack, pin, sleep_until, switches};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;

/// How long anything sleeps without looking whether to stop.
pub(super) const NAP_NS: u64 = 50_000_000;

/// Offsets and times are drawn apart.
const PACE_SEED: u64 = 0x70ac_e000_0000_0000;

/// A thread that panics must not leave the others at work until the run's planned end.
pub(super) struct HaltsOnPanic<'a>(pub &'a AtomicBool);

impl Drop for HaltsOnPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

/// The phases that a lane lived through.
pub(super) type Lived = Result<Vec<PhaseData>, EngineError>;
pub(super) type LaneResult = Result<LaneData, EngineError>;

/// What every lane's thread of a run is given.
pub(super) struct Post<'a> {
    pub clock: Clock,
    /// Raised: everybody ends.
    pub halt: &'a AtomicBool,
    pub start: &'a Start,
    /// Told when what goes on beside the lanes is over: until then their engines stay open, for their helpers to be read.
    pub over: &'a Start,
    /// Takes the lane's index, and its thread's id once it is set up.
    pub ready: mpsc::Sender<(usize, Option<u32>)>,
}

/// Sets the lane up, waits for the common start and does `work` with it, which is given that instant on the run's clock.
pub(super) fn lane_thread(
    index: usize,
    job: JobPlan,
    post: Post<'_>,
    work: impl FnOnce(&mut Lane<'_>, JobPlan, u64) -> Lived,
) -> LaneResult {
    let halt = post.halt;
    // Every lane reports, even one whose set-up panics: the run waits for it.
    let set_up = catch_unwind(AssertUnwindSafe(|| set_up(&job, post.clock, halt)));
    let tid = matches!(set_up, Ok(Ok(_))).then(q2c_sys::thread::id);
    // The receiver lives until every lane has reported.
    let told = post.ready.send((index, tid));
    told.expect("the run waits for every lane");
    drop(post.ready);
    let begin = post.start.hear();
    let mut lane = set_up.unwrap_or_else(|panic| resume_unwind(panic))?;
    if begin == NEVER {
        return Ok(LaneData::default());
    }
    let _halts = HaltsOnPanic(halt);
    // What the others would still measure has no counterpart any more.
    let name = job.name.clone();
    let phases =
        work(&mut lane, job, begin).inspect_err(|_| halt.store(true, Ordering::Relaxed))?;
    post.over.hear();
    Ok(left_behind(lane, name, phases))
}

fn set_up<'a>(job: &JobPlan, clock: Clock, halt: &'a AtomicBool) -> Result<Lane<'a>, EngineError> {
    let pinned = pin(job.cpu).and_then(|()| least_timer_slack());
    pinned.map_err(|source| EngineError::Pin {
        cpu: job.cpu.0,
        source,
    })?;
    let (slots, size) = (job.depth as usize, job.bs.0 as usize);
    let engine = job.engine.open(&job.medium, slots, size, job.seed)?;
    let facts = engine.facts();
    Ok(Lane {
        waits: facts.waits,
        helper: facts.helper,
        engine,
        offsets: Offsets::new(job.pattern, job.bs, job.span, job.seed),
        clock,
        recorder: match job.tally {
            true => Recorder::new(job.capacity).tallying(),
            false => Recorder::new(job.capacity),
        },
        write: job.pattern.write,
        length: job.bs.0 as u32,
        stop: halt,
        stop_on_fault: job.stop_on_fault,
        depth: job.depth,
        slots: vec![(0, 0); slots],
        flights: Flights::new(slots),
        in_flight: 0,
        carries: false,
        pace: job
            .rate
            .map(|rate| Pace::new(rate, job.depth, job.seed ^ PACE_SEED)),
    })
}

/// Lives through the phases from `begin`.
pub(super) fn through_phases(
    lane: &mut Lane<'_>,
    job: JobPlan,
    begin: u64,
    phases: &[Nanos],
) -> Lived {
    let (mut way, mut end) = (Way::default(), begin);
    let mut data = Vec::with_capacity(phases.len());
    rest_until(begin, lane.clock, lane.stop);
    let mut activities = job.activities.into_iter().zip(phases).peekable();
    while let Some((activity, length)) = activities.next() {
        end += length.0;
        way.take(activity);
        // Where the next phase goes on in the same way, what is in flight stays there: its end would show otherwise.
        lane.carries = matches!(activities.peek(), Some((Activity::Continue, _)));
        data.push(phase(lane, &mut way, end)?);
        if lane.stop.load(Ordering::Relaxed) {
            break;
        }
    }
    way.drain(lane)?;
    Ok(data)
}

/// What any lane leaves behind at its end.
fn left_behind(lane: Lane<'_>, name: String, phases: Vec<PhaseData>) -> LaneData {
    let (faults, first_fault) = lane.recorder.faults();
    LaneData {
        name,
        phases,
        facts: lane.engine.facts(),
        ios: lane.recorder.ios(),
        samples: lane.recorder.into_samples(),
        faults,
        first_fault,
        ..LaneData::default()
    }
}

/// What a lane does, and what it did before.
#[derive(Default)]
pub(super) struct Way {
    wait: Option<Wait>,
    parked: Option<Wait>,
}

impl Way {
    pub fn take(&mut self, activity: Activity) {
        match activity {
            Activity::Idle => self.wait = None,
            Activity::Start(new) => self.parked = self.wait.replace(new),
            Activity::Continue => {}
            Activity::Resume => std::mem::swap(&mut self.wait, &mut self.parked),
        }
    }

    /// I/O, or rest, until the run's clock shows `end` or the lane's `stop` is raised.
    pub fn go_on(&mut self, lane: &mut Lane<'_>, end: u64) -> Result<(), EngineError> {
        match &mut self.wait {
            Some(wait) => lane.run_until(wait, end),
            None => {
                rest_until(end, lane.clock, lane.stop);
                Ok(())
            }
        }
    }

    /// Takes in what a lane that carries its requests has in flight.
    pub fn drain(&mut self, lane: &mut Lane<'_>) -> Result<(), EngineError> {
        self.wait.as_mut().map_or(Ok(()), |wait| lane.drain(wait))
    }
}

fn phase(lane: &mut Lane<'_>, way: &mut Way, end: u64) -> Result<PhaseData, EngineError> {
    let (begin, ios, first) = (mark(lane), lane.recorder.ios(), lane.recorder.recorded());
    way.go_on(lane, end)?;
    let data = PhaseData {
        begin,
        end: mark(lane),
        ios: lane.recorder.ios() - ios,
        samples: first..lane.recorder.recorded(),
        tally: None,
    };
    Ok(PhaseData {
        tally: lane.recorder.cut(),
        ..data
    })
}

pub(super) fn mark(lane: &Lane<'_>) -> Mark {
    // A helper lives as long as its engine.
    let helper = lane.helper.and_then(|tid| cpu_ns_of(tid).ok());
    Mark {
        t_ns: lane.clock.now(),
        cpu_ns: thread_cpu_ns(),
        helper_cpu_ns: helper.unwrap_or(0),
        switches: switches(),
    }
}

/// Sleeps until the run's clock shows `end`, or `stop` is raised.
pub(super) fn rest_until(end: u64, clock: Clock, stop: &AtomicBool) {
    loop {
        let left = end.saturating_sub(clock.now());
        if left == 0 || stop.load(Ordering::Relaxed) {
            return;
        }
        sleep_until(monotonic_ns() + left.min(NAP_NS));
    }
}
