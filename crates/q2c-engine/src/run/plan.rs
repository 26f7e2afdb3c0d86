use crate::{EngineSpec, Medium, Pattern, RunError, TimeSource};
use q2c_model::{Bytes, CpuId, Nanos};
use q2c_policy::Wait;

/// The work of a lane in one phase.
pub enum Activity {
    /// The lane does no I/O and sleeps.
    Idle,
    /// The lane does I/O and waits for completions in this way.
    Start(Wait),
    /// The lane goes on as in the phase before; its rule keeps its state.
    Continue,
    /// The lane goes back to the way of waiting that the last [`Activity::Start`] replaced; its
    /// rule has kept its state. If that replaced none, the lane does no I/O.
    Resume,
}

/// The plan of one lane.
pub struct JobPlan {
    /// Name for messages: `foreground 0`, `background 2`.
    pub name: String,
    /// The engine, opened in the lane's thread.
    pub engine: EngineSpec,
    /// The file or device that the I/O goes to.
    pub medium: Medium,
    /// Access pattern.
    pub pattern: Pattern,
    /// Bytes per request.
    pub bs: Bytes,
    /// First byte of the target that is used.
    pub base: Bytes,
    /// Bytes of the target that are used, counted from `base`.
    pub span: Bytes,
    /// Requests in flight, at least 1.
    pub depth: u16,
    /// CPU that the lane is pinned to.
    pub cpu: CpuId,
    /// Seed of the offsets, of an open loop's times, and of a simulated device.
    pub seed: u64,
    /// One activity for each phase of the run.
    pub activities: Vec<Activity>,
    /// The most samples that are kept. With 0 (and no tally) I/Os are only counted.
    pub capacity: usize,
    /// Whether every I/O is added to a tally, phase by phase:
    /// [`PhaseData::tally`](super::PhaseData::tally).
    pub tally: bool,
    /// Open loop: submissions per second on average, as a Poisson process; latency counts from the
    /// intended times. With several requests in flight it works only by polling.
    pub rate: Option<f64>,
    /// Closed loop of depth 1: the lane sleeps so long after each I/O before it submits the next
    /// one. What is left of it at the end of a phase is part of the next one.
    pub think: Option<Nanos>,
    /// Whether the first failed I/O of this lane stops the whole run.
    pub stop_on_fault: bool,
}

/// The plan of a run.
pub struct RunPlan {
    /// Lengths of the phases.
    pub phases: Vec<Nanos>,
    /// The lanes.
    pub jobs: Vec<JobPlan>,
    /// Time between the sampler's readings of thread CPU, above 0.
    pub interval: Nanos,
    /// CPU of the sampler, best one without a lane. `None`: the kernel chooses.
    pub sampler_cpu: Option<CpuId>,
    /// The clock of all times in the run.
    pub time: TimeSource,
}

pub(super) fn check_plan(plan: &RunPlan) -> Result<(), RunError> {
    if plan.interval == Nanos::ZERO {
        return Err(wrong(
            "sampler",
            "the interval of its readings must be above 0",
        ));
    }
    check_jobs(&plan.jobs, plan.phases.len())
}

pub(super) fn wrong(lane: &str, problem: impl Into<String>) -> RunError {
    RunError::Plan {
        lane: lane.to_owned(),
        problem: problem.into(),
    }
}

pub(super) fn check_jobs(jobs: &[JobPlan], phases: usize) -> Result<(), RunError> {
    jobs.iter().try_for_each(|job| check(job, phases))
}

fn check(job: &JobPlan, phases: usize) -> Result<(), RunError> {
    let wrong = |problem: &str| Err(wrong(&job.name, problem));
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
    if job.think.is_some() && (job.rate.is_some() || job.depth > 1) {
        return wrong(
            "think time needs a closed loop with one request in flight: no rate, depth 1",
        );
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
    problem.map_or(Ok(()), |problem| Err(wrong(lane, problem)))
}
