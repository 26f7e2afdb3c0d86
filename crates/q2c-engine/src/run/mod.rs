//! A run: lanes on their CPUs, phases in time, one start, one clock, and a sampler beside the
//! lanes.

pub(crate) mod crew;
mod live;
mod plan;
pub(crate) mod thread;

pub use live::{Live, LiveAnswer, LivePlan, LiveSlice, live};
pub use plan::{Activity, JobPlan, LaneData, Mark, PhaseData, RunData, RunPlan};

use crate::time::{NAP_NS, rest_until};
use crate::{EngineError, Time};
use crew::{SideWork, crew};
use q2c_model::{CpuId, Nanos};
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
    if plan.interval == Nanos::ZERO {
        let problem = "the interval of its readings must be above 0";
        return Err(plan::wrong("sampler", problem));
    }
    plan::check_jobs(&plan.jobs, plan.phases.len())?;
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

/// Reads the lanes' CPU time while they run, tells the phase boundaries, and passes a stop on.
struct Sampler<'a> {
    phases: &'a [Nanos],
    interval: Nanos,
    cpu: Option<CpuId>,
    observer: &'a mut (dyn Observer + Send),
    stop: &'a AtomicBool,
    halt: &'a AtomicBool,
}

/// Reads every lane's CPU time at each interval of each phase, and passes `stop` on to `halt`.
/// Returns the readings of each lane: time on the run's clock and thread CPU, ns.
impl SideWork for Sampler<'_> {
    type Out = Vec<Vec<(u64, u64)>>;

    fn go<T: Time>(self, time: T, begin: u64, threads: &[u32]) -> Self::Out {
        if let Some(cpu) = self.cpu {
            // If pinning fails, the sampler may cost the lanes a little, but no number changes its
            // meaning.
            time.pin(cpu).ok();
        }
        let pause = |until| pause(time, until, self.stop, self.halt);
        let mut readings = vec![Vec::new(); threads.len()];
        let mut phase_begin = begin;
        'run: for (phase, length) in self.phases.iter().enumerate() {
            // The first phase is told in any case, because lanes do at least one I/O of it.
            if !pause(phase_begin) && phase > 0 {
                break;
            }
            self.observer.boundary(phase);
            for tick in 0..=length.0 / self.interval.0 {
                if !pause(phase_begin + tick * self.interval.0) {
                    break 'run;
                }
                read(time, threads, &mut readings);
            }
            phase_begin += length.0;
        }
        pause(phase_begin);
        self.observer.boundary(self.phases.len());
        readings
    }
}

/// Sleeps until the run's clock shows `until`. False when the run is halted; this is checked at
/// least once, even when `until` is over.
fn pause<T: Time>(time: T, until: u64, stop: &AtomicBool, halt: &AtomicBool) -> bool {
    loop {
        if stop.load(Ordering::Relaxed) {
            halt.store(true, Ordering::Relaxed);
        }
        let now = time.now();
        if halt.load(Ordering::Relaxed) || now >= until {
            return !halt.load(Ordering::Relaxed);
        }
        rest_until(until.min(now + NAP_NS), time, halt);
    }
}

fn read<T: Time>(time: T, threads: &[u32], readings: &mut [Vec<(u64, u64)>]) {
    for (thread, readings) in threads.iter().zip(readings) {
        // The thread of a lane that has ended early has no CPU clock any more, so its readings end
        // here.
        if let Some(cpu) = time.cpu_ns_of(*thread) {
            readings.push((time.now(), cpu));
        }
    }
}
