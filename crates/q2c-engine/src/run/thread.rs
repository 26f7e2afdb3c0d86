//! A lane's thread: it sets the lane up, waits for the common start and goes through the phases.

use crate::engines::Memory;
use crate::lane::{Flights, LaneThinkTime, NO_REQUEST, PoissonPace};
use crate::offsets::Offsets;
use crate::run::crew::LaneWork;
use crate::sample::{SampleRecorder, prefaulted_samples};
use crate::time::sleep_unless_stopped;
use crate::{
    Activity, EngineError, EngineLane, IoTally, JobPlan, LaneData, Mark, PhaseData, Request, Time,
};
use q2c_model::Nanos;
use q2c_policy::Wait;
use std::sync::atomic::{AtomicBool, Ordering};

/// Changes the seed, so that due times are drawn independently of offsets.
const PACE_SEED: u64 = 0x70ac_e000_0000_0000;

pub(crate) type PhasesResult = Result<Vec<PhaseData>, EngineError>;
pub(crate) type LaneResult = Result<LaneData, EngineError>;

/// The points at which the threads of a run wait for each other: before the start and before the
/// end.
pub trait Meeting {
    /// Reports whether this thread is set up, waits for the others, and returns the common start,
    /// ns on the run's clock; `None` if there is no start.
    fn ready(&self, is_set_up: bool) -> Option<u64>;

    /// Waits until the work next to the lanes is over.
    fn wait_for_end(&self) {}
}

/// Sets the lane up, reports, waits for the common start and does `work` with the lane, its job and
/// the start on the run's clock, ns. Raises `halt` if the work fails, because without this lane the
/// others no longer follow the plan.
pub(crate) fn lane_thread<T: Time>(
    job: JobPlan,
    time: T,
    halt: &AtomicBool,
    meeting: &impl Meeting,
    work: impl LaneWork,
) -> LaneResult {
    let lane = set_up(&job, time, halt);
    let begin_ns = meeting.ready(lane.is_ok());
    let mut lane = lane?;
    let Some(begin_ns) = begin_ns else {
        return Ok(LaneData::default());
    };
    let name = job.name.clone();
    let phases = work.run(&mut lane, job, begin_ns);
    let phases = phases.inspect_err(|_| halt.store(true, Ordering::Relaxed))?;
    meeting.wait_for_end();
    lane.check_idle()?;
    Ok(LaneData {
        name,
        phases,
        tid: time.thread_id(),
        facts: lane.engine.facts(),
        ios: lane.recorder.ios,
        faults: lane.recorder.faults,
        first_fault: lane.recorder.first_fault,
        samples: lane.recorder.samples,
        ..LaneData::default()
    })
}

/// Pins the thread to its CPU, or lets the scheduler place it, as it places the threads of other
/// programs.
fn place(job: &JobPlan, time: impl Time) -> Result<(), EngineError> {
    let (cpu, placed) = match &job.roams_on[..] {
        [] => (job.cpu, time.pin(job.cpu)),
        cpus @ [first, ..] => (*first, time.roam(cpus)),
    };
    placed.map_err(|source| EngineError::Pin { cpu: cpu.0, source })
}

fn set_up<'a, T: Time + 'a>(
    job: &JobPlan,
    time: T,
    halt: &'a AtomicBool,
) -> Result<EngineLane<'a, T>, EngineError> {
    place(job, time)?;
    let slots = job.depth as usize;
    let memory = Memory::new(slots, job.bs.0 as usize);
    let engine = job.engine.open_at(time, &job.medium, memory, job.seed)?;
    let facts = engine.facts();
    let mut recorder = SampleRecorder {
        capacity: job.capacity,
        tally: (job.tally).then(|| Box::new(IoTally::empty(job.pattern.has_kinds()))),
        ..SampleRecorder::default()
    };
    // In simulated time page faults cost nothing, so memory grows when it is needed.
    if !T::SIMULATED {
        recorder.samples = prefaulted_samples(job.capacity)?;
    }
    let mut offsets = Offsets::new(job.pattern, job.bs, job.span, job.seed);
    offsets.base = job.base.0;
    let think = |length: Nanos| LaneThinkTime {
        length_ns: length.0,
        ..LaneThinkTime::default()
    };
    let pace = |rate| PoissonPace::new(rate, job.depth, job.seed ^ PACE_SEED);
    Ok(EngineLane {
        waits: facts.waits,
        two_paths: facts.interrupting_flags.is_some(),
        helper: facts.helper,
        engine,
        offsets,
        time,
        recorder,
        length: job.bs.0 as u32,
        stop: halt,
        stop_on_fault: job.stop_on_fault,
        depth: job.depth,
        slots: vec![(NO_REQUEST, Request::default()); slots],
        flights: Flights::new(slots),
        in_flight: 0,
        carries_requests: false,
        pace: job.rate.map(pace),
        think: job.think.map(think),
    })
}

/// A lane's work in phases of these lengths.
pub(super) struct PhasesWork<'a>(pub &'a [Nanos]);

impl LaneWork for PhasesWork<'_> {
    fn run<T: Time>(self, lane: &mut EngineLane<'_, T>, job: JobPlan, begin: u64) -> PhasesResult {
        let (mut state, mut end) = (WaitState::default(), begin);
        let mut data = Vec::with_capacity(self.0.len());
        sleep_unless_stopped(begin, lane.time, lane.stop);
        let mut activities = job.activities.into_iter().zip(self.0).peekable();
        while let Some((activity, length)) = activities.next() {
            end += length.0;
            state.apply(activity);
            // If the next phase continues in the same way, requests stay in flight at its begin:
            // draining them would affect the measurement.
            lane.carries_requests = matches!(activities.peek(), Some((Activity::Continue, _)));
            let (phase, stopped) = run_phase(lane, &mut state, end)?;
            data.push(phase);
            if stopped {
                break;
            }
        }
        state.drain(lane)?;
        Ok(data)
    }
}

/// How a lane waits for completions (`None` if it does no I/O), and the way that it used before.
#[derive(Default)]
pub(super) struct WaitState {
    wait: Option<Wait>,
    previous: Option<Wait>,
}

impl WaitState {
    pub(crate) fn apply(&mut self, activity: Activity) {
        match activity {
            Activity::Idle => self.wait = None,
            Activity::Start(new) => self.previous = self.wait.replace(new),
            Activity::Continue => {}
            Activity::Resume => std::mem::swap(&mut self.wait, &mut self.previous),
        }
    }

    /// Does I/O, or sleeps, until the run's clock shows `end` or the lane's `stop` is raised.
    pub(crate) fn advance<T: Time>(
        &mut self,
        lane: &mut EngineLane<'_, T>,
        end: u64,
    ) -> Result<(), EngineError> {
        match &mut self.wait {
            Some(wait) => lane.run_until(wait, end),
            None => {
                sleep_unless_stopped(end, lane.time, lane.stop);
                Ok(())
            }
        }
    }

    /// Reaps the requests that a lane with `carries_requests` has in flight.
    pub(crate) fn drain<T: Time>(
        &mut self,
        lane: &mut EngineLane<'_, T>,
    ) -> Result<(), EngineError> {
        self.wait.as_mut().map_or(Ok(()), |wait| lane.drain(wait))
    }
}

/// Returns the phase, and true if it is the last one because the lane is to stop.
fn run_phase<T: Time>(
    lane: &mut EngineLane<'_, T>,
    state: &mut WaitState,
    end: u64,
) -> Result<(PhaseData, bool), EngineError> {
    let (begin, ios_before) = (read_mark(lane), lane.recorder.ios);
    let first_sample = lane.recorder.samples.len();
    state.advance(lane, end)?;
    let stopped = lane.stop.load(Ordering::Relaxed);
    if stopped {
        // A stop just behind the last I/O finds requests in flight that were to stay there.
        state.drain(lane)?;
    }
    let phase = PhaseData {
        begin,
        end: read_mark(lane),
        ios: lane.recorder.ios - ios_before,
        samples: first_sample..lane.recorder.samples.len(),
        tally: lane.recorder.take_tally(),
    };
    Ok((phase, stopped))
}

pub(super) fn read_mark<T: Time>(lane: &EngineLane<'_, T>) -> Mark {
    // A helper lives as long as its engine, so its CPU time can be read.
    let helper = lane.helper.and_then(|tid| lane.time.cpu_ns_of(tid));
    Mark {
        t_ns: lane.time.now(),
        cpu_ns: lane.time.cpu_ns(),
        helper_cpu_ns: helper.unwrap_or(0),
        switches: lane.time.switches(),
    }
}
