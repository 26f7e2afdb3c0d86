//! What a run is asked to do.

use super::RunError;
use crate::engines::{EngineSpec, Medium};
use crate::lane::Wait;
use crate::pattern::Pattern;
use q2c_model::{Bytes, CpuId, Nanos};
use q2c_sys::Clock;

/// What a lane does in one phase.
pub enum Activity {
    /// Nothing: it sleeps.
    Idle,
    /// I/O in this way.
    Start(Wait),
    /// Goes on as in the phase before, its rule's state kept.
    Continue,
    /// Takes up again what the last [`Activity::Start`] ended, its rule's state kept; nothing when nothing was.
    Resume,
}

/// One lane of a run.
pub struct JobPlan {
    /// Name for messages: `foreground 0`, `background 2`.
    pub name: String,
    /// The interface.
    pub engine: EngineSpec,
    /// Where the I/O goes.
    pub medium: Medium,
    /// Access pattern.
    pub pattern: Pattern,
    /// Bytes per request.
    pub bs: Bytes,
    /// Bytes of the target in use, from its start.
    pub span: Bytes,
    /// Requests in flight, from 1.
    pub depth: u16,
    /// The CPU it is pinned to.
    pub cpu: CpuId,
    /// Seed of its offsets.
    pub seed: u64,
    /// One entry per phase of the run.
    pub activities: Vec<Activity>,
    /// Samples kept at most; 0 counts only.
    pub capacity: usize,
    /// Count every I/O in classes, phase by phase: [`PhaseData::tally`](super::PhaseData::tally).
    pub tally: bool,
    /// Open loop: so many submissions per second, as a Poisson process; latency counts from the intended times. With several in
    /// flight only by polling.
    pub rate: Option<f64>,
    /// Stop the whole run at its first failed I/O.
    pub stop_on_fault: bool,
}

/// A whole run.
pub struct RunPlan {
    /// Lengths of the phases.
    pub phases: Vec<Nanos>,
    /// The lanes.
    pub jobs: Vec<JobPlan>,
    /// Distance of the sampler's readings of thread CPU, above 0.
    pub interval: Nanos,
    /// The sampler's CPU; best one without a job.
    pub sampler_cpu: Option<CpuId>,
    /// The clock of all times.
    pub clock: Clock,
}

pub(super) fn check_plan(plan: &RunPlan) -> Result<(), RunError> {
    if plan.interval == Nanos::ZERO {
        return Err(RunError::Plan {
            lane: "sampler".to_owned(),
            problem: "the interval of its readings must be above 0".to_owned(),
        });
    }
    check_jobs(&plan.jobs, plan.phases.len())
}

pub(super) fn check_jobs(jobs: &[JobPlan], phases: usize) -> Result<(), RunError> {
    jobs.iter().try_for_each(|job| check(job, phases))
}

fn check(job: &JobPlan, phases: usize) -> Result<(), RunError> {
    let wrong = |problem: &str| {
        Err(RunError::Plan {
            lane: job.name.clone(),
            problem: problem.to_owned(),
        })
    };
    if job.activities.len() != phases {
        return wrong("every phase needs an activity");
    }
    if job.depth == 0 || job.bs.0 == 0 || u32::try_from(job.bs.0).is_err() {
        return wrong("depth and block size must be above 0 and the block size below 4 GiB");
    }
    if job.span < job.bs {
        return wrong("the target is smaller than one block");
    }
    if job.rate.is_some_and(|rate| !(rate > 0.0 && rate <= 1e9)) {
        return wrong("the rate must be above 0 and at most 10^9 per second");
    }
    let waits_deep = |a: &Activity| matches!(a, Activity::Start(Wait::Interrupt | Wait::Hybrid(_)));
    if job.rate.is_some() && job.depth > 1 && job.activities.iter().any(waits_deep) {
        return wrong(
            "an open loop with several in flight has to see completions and due times at once: use poll, or depth 1 and more jobs",
        );
    }
    let mut activities = job.activities.iter();
    activities.try_for_each(|activity| check_activity(&job.name, &job.engine, job.depth, activity))
}

pub(super) fn check_activity(
    lane: &str,
    engine: &EngineSpec,
    depth: u16,
    activity: &Activity,
) -> Result<(), RunError> {
    let Activity::Start(wait) = activity else {
        return Ok(());
    };
    let problem = engine.refuses(depth, wait);
    problem.map_or(Ok(()), |problem| {
        Err(RunError::Plan {
            lane: lane.to_owned(),
            problem,
        })
    })
}
