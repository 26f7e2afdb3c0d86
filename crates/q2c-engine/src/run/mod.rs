//! A run: lanes on their CPUs, phases in time, one start, one clock, and a sampler next to the
//! lanes.

pub(crate) mod crew;
#[cfg(test)]
mod fault_seeds;
mod live;
mod plan;
pub(crate) mod thread;

pub use live::{Live, LiveAnswer, LivePlan, LiveSlice, live};
pub use plan::{Activity, JobPlan, LaneData, Mark, PhaseData, RunData, RunPlan};

use crate::time::{MAX_SLEEP_NS, sleep_unless_stopped};
use crate::{EngineError, Time};
use crew::{SideWork, run_crew};
use q2c_model::{CpuId, Nanos};
use std::sync::atomic::{AtomicBool, Ordering};
use thiserror::Error;
use thread::PhasesWork;

/// The reason why a run failed.
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
    /// A lane's thread, or the one next to the lanes, panicked: a fault of q2c.
    #[error("run {0}: its thread panicked")]
    Panic(String),
    /// A simulated run makes no progress, because no step of its lanes takes time.
    #[error(
        "run in simulated time: stuck at {}: no step of the lanes takes time; give the device a service time, or \
         the machine costs above 0",
        Nanos(*at_ns)
    )]
    Stuck {
        /// The time at which it stood still, ns on the run's clock.
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

/// Runs the plan: sets up every lane, starts all at the same time, goes through the phases, and
/// returns all data.
///
/// Raising `stop` ends the run early; the data so far is then returned with `stopped` set. The
/// first failed I/O of a job with `stop_on_fault` does the same. No thread is left behind.
///
/// `on_boundary` is called in the sampler's thread when phase number `phase`, from 0, is about to
/// begin; the number of phases stands for the end of the run. A run that is stopped early reports
/// its first phase and its end, but not phases that never began.
pub fn run(
    plan: RunPlan,
    on_boundary: &mut (dyn FnMut(usize) + Send),
    stop: &AtomicBool,
) -> Result<RunData, RunError> {
    if plan.interval == Nanos::ZERO {
        let problem = "the interval of its readings must be above 0";
        return Err(plan::invalid("sampler", problem));
    }
    plan::check_jobs(&plan.jobs, plan.phases.len())?;
    let halt = AtomicBool::new(false);
    let phases = &plan.phases[..];
    let sampler = Sampler {
        phases,
        interval: plan.interval,
        cpu: plan.sampler_cpu,
        on_boundary,
        stop,
        halt: &halt,
    };
    let jobs = plan.jobs.into_iter().map(|job| (job, PhasesWork(phases)));
    let results = run_crew(jobs.collect(), &plan.time, &halt, "sampler", sampler)?;
    let mut lanes = results.lanes;
    for (lane, readings) in lanes.iter_mut().zip(results.side) {
        lane.cpu_readings = readings;
    }
    Ok(RunData {
        lanes,
        start_ns: results.start_ns,
        stopped: halt.load(Ordering::Relaxed),
    })
}

/// Reads the lanes' CPU time while they run, reports phase boundaries, and passes a stop on.
struct Sampler<'a> {
    phases: &'a [Nanos],
    interval: Nanos,
    cpu: Option<CpuId>,
    on_boundary: &'a mut (dyn FnMut(usize) + Send),
    stop: &'a AtomicBool,
    halt: &'a AtomicBool,
}

/// Reads every lane's CPU time at each interval of each phase, and passes `stop` on to `halt`.
/// Returns for each lane its readings: the time on the run's clock and the thread CPU, both in ns.
impl SideWork for Sampler<'_> {
    type Out = Vec<Vec<(u64, u64)>>;

    fn run<T: Time>(self, time: T, begin: u64, threads: &[u32]) -> Self::Out {
        if let Some(cpu) = self.cpu {
            // If pinning fails, the sampler may disturb the lanes a little, but no figure becomes
            // wrong.
            time.pin(cpu).ok();
        }
        let pause = |until| pause(time, until, self.stop, self.halt);
        let mut readings = vec![Vec::new(); threads.len()];
        let mut phase_begin = begin;
        'run: for (phase, length) in self.phases.iter().enumerate() {
            // The first phase is always reported, because lanes do at least one I/O in it.
            if !pause(phase_begin) && phase > 0 {
                break;
            }
            (self.on_boundary)(phase);
            for tick in 0..=length.0 / self.interval.0 {
                if !pause(phase_begin + tick * self.interval.0) {
                    break 'run;
                }
                for (thread, readings) in threads.iter().zip(&mut readings) {
                    // The thread of a lane that ended early no longer has a CPU clock, so its
                    // readings end here.
                    if let Some(cpu_ns) = time.cpu_ns_of(*thread) {
                        readings.push((time.now(), cpu_ns));
                    }
                }
            }
            phase_begin += length.0;
        }
        pause(phase_begin);
        (self.on_boundary)(self.phases.len());
        readings
    }
}

/// Sleeps until the run's clock shows `until`. Returns false if the run is halted; this is checked
/// at least once, even if `until` has passed.
fn pause<T: Time>(time: T, until: u64, stop: &AtomicBool, halt: &AtomicBool) -> bool {
    loop {
        if stop.load(Ordering::Relaxed) {
            halt.store(true, Ordering::Relaxed);
        }
        let now = time.now();
        if halt.load(Ordering::Relaxed) || now >= until {
            return !halt.load(Ordering::Relaxed);
        }
        sleep_unless_stopped(until.min(now + MAX_SLEEP_NS), time, halt);
    }
}
