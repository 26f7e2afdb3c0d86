//! A lane's thread: set up, wait for the common start, live through the phases.

use super::data::{LaneData, Mark, PhaseData};
use super::plan::{Activity, JobPlan};
use super::start::{NEVER, Start};
use crate::engine::EngineError;
use crate::lane::{Lane, Wait};
use crate::pattern::Offsets;
use crate::sample::Recorder;
use q2c_model::Nanos;
use q2c_sys::Clock;
use q2c_sys::clock::{monotonic_ns, thread_cpu_ns};
use q2c_sys::thread::{least_timer_slack, pin, sleep_until, switches};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;

/// How long anything sleeps without looking whether to stop.
pub(super) const NAP_NS: u64 = 50_000_000;

/// A thread that panics must not leave the others at work until the run's planned end.
pub(super) struct HaltsOnPanic<'a>(pub &'a AtomicBool);

impl Drop for HaltsOnPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

pub(super) type LaneResult = Result<LaneData, EngineError>;

pub(super) fn lane_thread(
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
    let (mut wait, mut parked, mut end) = (None, None, begin);
    let mut data = Vec::with_capacity(phases.len());
    rest_until(begin, lane.clock, lane.stop);
    for (activity, length) in job.activities.into_iter().zip(phases) {
        end += length.0;
        match activity {
            Activity::Idle => wait = None,
            Activity::Start(new) => parked = wait.replace(new),
            Activity::Continue => {}
            Activity::Resume => std::mem::swap(&mut wait, &mut parked),
        }
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
pub(super) fn rest_until(end: u64, clock: Clock, stop: &AtomicBool) {
    loop {
        let left = end.saturating_sub(clock.now());
        if left == 0 || stop.load(Ordering::Relaxed) {
            return;
        }
        sleep_until(monotonic_ns() + left.min(NAP_NS));
    }
}
