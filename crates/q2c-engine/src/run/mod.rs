//! A run: lanes on their CPUs, phases in time, one start, one clock, and a sampler beside the
//! lanes.

mod crew;
mod data;
mod live;
mod plan;
mod sampler;
mod thread;

pub use data::{LaneData, Mark, PhaseData, RunData};
pub use live::{Heard, Live, LivePlan, LiveSlice, live};
pub use plan::{Activity, JobPlan, RunPlan};

use crate::engine::EngineError;
use crate::lane::Lane;
use crew::crew;
use sampler::Sampler;
use std::sync::atomic::{AtomicBool, Ordering};
use thiserror::Error;
use thread::through_phases;

/// Is told of the phase boundaries, in the sampler's thread.
pub trait Observer {
    /// Phase number `phase` is about to begin; `phase` equal to the number of phases is the end of
    /// the run. A run that is stopped early tells its first phase and its end, and leaves out the
    /// phases that never began.
    fn boundary(&mut self, phase: usize);
}

/// An observer that does nothing.
impl Observer for () {
    fn boundary(&mut self, _phase: usize) {}
}

/// The reason why a run could not be done.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RunError {
    /// A lane could not be set up, or its engine broke.
    #[error("run {lane}: {source}")]
    Lane {
        /// Name of the lane.
        lane: String,
        /// Error of the engine.
        source: EngineError,
    },
    /// The plan contradicts itself, or asks for something that an engine cannot do.
    #[error("plan {lane}: {problem}")]
    Plan {
        /// Name of the lane, or of the part of the plan that is wrong.
        lane: String,
        /// The contradiction, and a way out of it.
        problem: String,
    },
    /// A lane's thread, or the one beside the lanes, panicked: a fault of q2c.
    #[error("run {0}: its thread panicked")]
    Panic(String),
    /// A lane's thread could not be started.
    #[error(
        "run {lane}: start its thread: {source}; use fewer jobs or raise the limit of tasks (ulimit -u)"
    )]
    Spawn {
        /// Name of the lane.
        lane: String,
        /// Error of the system call.
        source: std::io::Error,
    },
}

/// Runs the plan: sets up every lane, starts all at one time, goes through the phases, and returns
/// all data.
///
/// Raising `stop` ends the run early; the data so far is then returned with `stopped` set. For a
/// job with `stop_on_fault` its first failed I/O does the same.
///
/// # Errors
/// The plan is wrong, a lane cannot be set up, or an engine breaks. No thread is left behind.
pub fn run(
    plan: RunPlan,
    observer: &mut (dyn Observer + Send),
    stop: &AtomicBool,
) -> Result<RunData, RunError> {
    plan::check_plan(&plan)?;
    let halt = AtomicBool::new(false);
    let (clock, phases) = (plan.clock, &plan.phases[..]);
    let sampler = Sampler {
        clock,
        phases,
        interval: plan.interval,
        cpu: plan.sampler_cpu,
    };
    let work = |lane: &mut Lane<'_>, job, begin| through_phases(lane, job, begin, phases);
    let jobs = plan.jobs.into_iter().map(|job| (job, work)).collect();
    let sample = |begin, tids: &[u32]| sampler.follow(begin, tids, observer, stop, &halt);
    let crewed = crew(jobs, clock, &halt, "sampler", sample)?;
    let mut lanes = crewed.lanes;
    lanes
        .iter_mut()
        .zip(crewed.beside)
        .for_each(|(lane, readings)| lane.cpu_readings = readings);
    Ok(RunData {
        lanes,
        start_ns: crewed.start_ns,
        stopped: halt.load(Ordering::Relaxed),
    })
}
