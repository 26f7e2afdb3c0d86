//! A run: lanes on their CPUs, phases in time, one start, one clock, and a sampler beside the
//! lanes.

pub(crate) mod crew;
mod data;
mod live;
mod plan;
mod sampler;
pub(crate) mod thread;

pub use data::{LaneData, Mark, PhaseData, RunData};
pub use live::{Live, LiveAnswer, LivePlan, LiveSlice, live};
pub use plan::{Activity, JobPlan, RunPlan};

use crate::EngineError;
use crew::crew;
use q2c_model::Nanos;
use sampler::Sampler;
use std::sync::atomic::{AtomicBool, Ordering};
use thiserror::Error;
use thread::PhasesWork;

/// Is told of the phase boundaries, in the sampler's thread.
pub trait Observer {
    /// Phase number `phase` is about to begin; `phase` equal to the number of phases is the end of
    /// the run. A run that is stopped early tells its first phase and its end, and leaves out the
    /// phases that never began.
    fn boundary(&mut self, phase: usize);
}

impl Observer for () {
    fn boundary(&mut self, _phase: usize) {}
}

/// The reason why a run could not be done.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "the messages say it")]
#[non_exhaustive]
pub enum RunError {
    #[error("run {lane}: {source}")]
    Lane { lane: String, source: EngineError },
    #[error("plan {lane}: {problem}")]
    Plan {
        /// Name of the lane, or of the part of the plan that is wrong.
        lane: String,
        problem: String,
    },
    /// A lane's thread, or the one beside the lanes, panicked: a fault of q2c.
    #[error("run {0}: its thread panicked")]
    Panic(String),
    /// A simulated run goes on without getting anywhere: no step of its lanes takes time.
    #[error(
        "run in simulated time: stuck at {}: no step of the lanes takes time; give the device a service time, or \
         the machine costs above 0",
        Nanos(*at_ns)
    )]
    Stuck {
        /// Where time stood still, ns on the run's clock.
        at_ns: u64,
    },
    #[error(
        "run {lane}: start its thread: {source}; use fewer jobs or raise the limit of tasks (ulimit -u)"
    )]
    Spawn {
        lane: String,
        source: std::io::Error,
    },
}

/// Runs the plan: sets up every lane, starts all at one time, goes through the phases, and returns
/// all data.
///
/// Raising `stop` ends the run early; the data so far is then returned with `stopped` set. For a
/// job with `stop_on_fault` its first failed I/O does the same. No thread is left behind.
pub fn run(
    plan: RunPlan,
    observer: &mut (dyn Observer + Send),
    stop: &AtomicBool,
) -> Result<RunData, RunError> {
    plan::check_plan(&plan)?;
    let halt = AtomicBool::new(false);
    let phases = &plan.phases[..];
    let sampler = Sampler {
        phases,
        interval: plan.interval,
        cpu: plan.sampler_cpu,
        observer,
        stop,
        halt: &halt,
    };
    let jobs = plan.jobs.into_iter().map(|job| (job, PhasesWork(phases)));
    let crewed = crew(jobs.collect(), &plan.time, &halt, "sampler", sampler)?;
    let mut lanes = crewed.lanes;
    for (lane, readings) in lanes.iter_mut().zip(crewed.beside) {
        lane.cpu_readings = readings;
    }
    Ok(RunData {
        lanes,
        start_ns: crewed.start_ns,
        stopped: halt.load(Ordering::Relaxed),
    })
}
