//! A lane's thread: it sets the lane up, waits for the common start and goes through the phases.

use super::data::{LaneData, Mark, PhaseData};
use super::plan::{Activity, JobPlan};
use crate::engine::EngineError;
use crate::lane::{Flights, Lane, Pace, Think};
use crate::pattern::Offsets;
use crate::rest::rest_until;
use crate::sample::Recorder;
use crate::start::{Member, Start};
use q2c_model::Nanos;
use q2c_policy::Wait;
use q2c_sys::Clock;
use q2c_sys::clock::thread_cpu_ns;
use q2c_sys::thread::{cpu_ns_of, least_timer_slack, pin, switches};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// Keeps the draws of due times apart from those of offsets.
const PACE_SEED: u64 = 0x70ac_e000_0000_0000;

/// The phases that a lane has gone through.
pub(super) type PhasesResult = Result<Vec<PhaseData>, EngineError>;
pub(super) type LaneResult = Result<LaneData, EngineError>;

/// The parts of a run that all its lanes' threads have in common.
#[derive(Clone, Copy)]
pub(super) struct Common<'a> {
    pub clock: Clock,
    /// When it is raised, all lanes end.
    pub halt: &'a AtomicBool,
    pub start: &'a Start,
    /// Set when the work beside the lanes is over. Until then the engines stay open, so that the
    /// CPU of their helpers can be read.
    pub over: &'a OnceLock<()>,
}

/// Sets the lane up, reports, waits for the common start and calls `work` with the lane, its job
/// and the start on the run's clock.
pub(super) fn lane_thread(
    index: usize,
    job: JobPlan,
    common: Common<'_>,
    work: impl FnOnce(&mut Lane<'_>, JobPlan, u64) -> PhasesResult,
) -> LaneResult {
    let member = Member::new(common.start, index, common.halt);
    let set_up = set_up(&job, common.clock, common.halt);
    let begin_ns = member.ready(set_up.is_ok());
    let mut lane = set_up?;
    let Some(begin_ns) = begin_ns else {
        return Ok(LaneData::default());
    };
    let name = job.name.clone();
    // Without this lane the others no longer do what the plan says, so they end too.
    let phases = member.checked(work(&mut lane, job, begin_ns))?;
    common.over.wait();
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
        two_paths: facts.interrupting.is_some(),
        helper: facts.helper,
        engine,
        offsets: Offsets::new(job.pattern, job.bs, job.span, job.seed).from(job.base),
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
        think: job.think.map(Think::new),
    })
}

/// Goes through the phases, which begin at `begin`.
pub(super) fn through_phases(
    lane: &mut Lane<'_>,
    job: JobPlan,
    begin: u64,
    phases: &[Nanos],
) -> PhasesResult {
    let (mut state, mut end) = (WaitState::default(), begin);
    let mut data = Vec::with_capacity(phases.len());
    rest_until(begin, lane.clock, lane.stop);
    let mut activities = job.activities.into_iter().zip(phases).peekable();
    while let Some((activity, length)) = activities.next() {
        end += length.0;
        state.take(activity);
        // If the next phase goes on in the same way, requests stay in flight at its begin: draining
        // them would show in the measurement.
        lane.carries = matches!(activities.peek(), Some((Activity::Continue, _)));
        data.push(phase(lane, &mut state, end)?);
        if lane.stop.load(Ordering::Relaxed) {
            break;
        }
    }
    state.drain(lane)?;
    Ok(data)
}

/// The data of a lane that has ended.
fn left_behind(lane: Lane<'_>, name: String, phases: Vec<PhaseData>) -> LaneData {
    let (faults, first_fault) = lane.recorder.faults();
    LaneData {
        name,
        phases,
        tid: q2c_sys::thread::id(),
        facts: lane.engine.facts(),
        ios: lane.recorder.ios(),
        samples: lane.recorder.into_samples(),
        faults,
        first_fault,
        ..LaneData::default()
    }
}

/// How a lane waits for completions (`None` when it does no I/O), and the way that was in use
/// before.
#[derive(Default)]
pub(super) struct WaitState {
    wait: Option<Wait>,
    parked: Option<Wait>,
}

impl WaitState {
    pub fn take(&mut self, activity: Activity) {
        match activity {
            Activity::Idle => self.wait = None,
            Activity::Start(new) => self.parked = self.wait.replace(new),
            Activity::Continue => {}
            Activity::Resume => std::mem::swap(&mut self.wait, &mut self.parked),
        }
    }

    /// Does I/O, or rests, until the run's clock shows `end` or the lane's `stop` is raised.
    pub fn go_on(&mut self, lane: &mut Lane<'_>, end: u64) -> Result<(), EngineError> {
        match &mut self.wait {
            Some(wait) => lane.run_until(wait, end),
            None => {
                rest_until(end, lane.clock, lane.stop);
                Ok(())
            }
        }
    }

    /// Reaps the requests that a lane with `carries` has in flight.
    pub fn drain(&mut self, lane: &mut Lane<'_>) -> Result<(), EngineError> {
        self.wait.as_mut().map_or(Ok(()), |wait| lane.drain(wait))
    }
}

fn phase(lane: &mut Lane<'_>, state: &mut WaitState, end: u64) -> Result<PhaseData, EngineError> {
    let (begin, ios, first) = (mark(lane), lane.recorder.ios(), lane.recorder.recorded());
    state.go_on(lane, end)?;
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
    // A helper lives as long as its engine, so its CPU can be read.
    let helper = lane.helper.and_then(|tid| cpu_ns_of(tid).ok());
    Mark {
        t_ns: lane.clock.now(),
        cpu_ns: thread_cpu_ns(),
        helper_cpu_ns: helper.unwrap_or(0),
        switches: switches(),
    }
}
