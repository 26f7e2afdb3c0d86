//! A run: lanes on their CPUs, phases over time, one start, one clock, a sampler beside them.

mod data;
mod plan;
mod sampler;
mod start;
mod thread;

pub use data::{LaneData, Mark, PhaseData, RunData};
pub use plan::{Activity, JobPlan, RunPlan};

use crate::engine::EngineError;
use sampler::Sampler;
use start::{LEAD_NS, NEVER, Start};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::{Builder, ScopedJoinHandle, scope};
use thiserror::Error;
use thread::{HaltsOnPanic, LaneResult, lane_thread};

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
    let start = Start::default();
    let (clock, phases) = (plan.clock, &plan.phases[..]);
    let sampler = Sampler {
        clock,
        phases,
        interval: plan.interval,
        cpu: plan.sampler_cpu,
    };
    let halt = &halt;
    scope(|scope| {
        let (ready, setups) = mpsc::channel();
        let mut threads = Vec::new();
        let mut refused = None;
        for (index, job) in plan.jobs.into_iter().enumerate() {
            let (ready, start) = (ready.clone(), &start);
            let lane = job.name.clone();
            let body = move || lane_thread(index, job, clock, phases, halt, start, &ready);
            match Builder::new().spawn_scoped(scope, body) {
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

/// Thread ids of all lanes in the order of the plan; `None` when one of them could not be set up.
fn collect_setups(setups: &mpsc::Receiver<(usize, Option<u32>)>, lanes: usize) -> Option<Vec<u32>> {
    let mut tids = vec![None; lanes];
    setups
        .iter()
        .take(lanes)
        .for_each(|(lane, tid)| tids[lane] = tid);
    tids.into_iter().collect()
}

fn finish(name: String, thread: ScopedJoinHandle<'_, LaneResult>) -> Result<LaneData, RunError> {
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
