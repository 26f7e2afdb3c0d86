//! A run: lanes on their CPUs, phases over time, one start, one clock, a sampler beside them.

mod crew;
mod data;
mod live;
mod plan;
mod sampler;
mod start;
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
