use crate::{
    EngineFacts, EngineSpec, FailedIo, IoTally, Medium, Pattern, RunError, Sample, TimeSource,
};
use q2c_model::{Bytes, CpuId, Nanos};
use q2c_policy::Wait;
use q2c_sys::thread::ContextSwitches;
use std::ops::Range;

/// The work of a lane in one phase.
pub enum Activity {
    /// The lane does no I/O and sleeps.
    Idle,
    /// The lane does I/O and waits for completions in this way.
    Start(Wait),
    /// The lane continues as in the phase before; its rule keeps its state.
    Continue,
    /// The lane returns to the way of waiting that the last [`Activity::Start`] replaced; its rule
    /// has kept its state. If there was none, the lane does no I/O.
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
    /// First byte of the target that the lane uses.
    pub base: Bytes,
    /// Number of bytes of the target that the lane uses, from `base` on.
    pub span: Bytes,
    /// Requests in flight, at least 1.
    pub depth: u16,
    /// CPU that the lane is pinned to, unless it roams.
    pub cpu: CpuId,
    /// CPUs among which the scheduler places the lane; if empty, the lane is pinned to `cpu`.
    pub roams_on: Vec<CpuId>,
    /// Seed of the offsets, of an open loop's times, and of a simulated device.
    pub seed: u64,
    /// One activity for each phase of the run.
    pub activities: Vec<Activity>,
    /// The most samples that are kept. With 0 and no tally, I/Os are only counted.
    pub capacity: usize,
    /// True if every I/O is added to a tally, one per phase: [`PhaseData::tally`].
    pub tally: bool,
    /// Open loop: submissions per second on average, as a Poisson process. Latency counts from the
    /// intended times. At a depth above 1 it works only by polling.
    pub rate: Option<f64>,
    /// Closed loop of depth 1: time that the lane sleeps after each I/O before it submits the next.
    /// Think time that the end of a phase cuts off continues in the next phase.
    pub think: Option<Nanos>,
    /// True if the first failed I/O of this lane stops the whole run.
    pub stop_on_fault: bool,
}

impl JobPlan {
    /// Random reads of 4 KiB in the first GiB, one in flight, of which no samples are kept.
    pub fn new(engine: EngineSpec, medium: Medium, activities: Vec<Activity>) -> Self {
        JobPlan {
            name: format!("lane on {engine}"),
            engine,
            medium,
            pattern: Pattern::RANDREAD,
            bs: Bytes(4096),
            base: Bytes(0),
            span: Bytes(1 << 30),
            depth: 1,
            cpu: CpuId(0),
            roams_on: Vec::new(),
            seed: 1,
            activities,
            capacity: 0,
            tally: false,
            rate: None,
            think: None,
            stop_on_fault: false,
        }
    }
}

/// The plan of a run.
pub struct RunPlan {
    /// Lengths of the phases.
    pub phases: Vec<Nanos>,
    /// The lanes.
    pub jobs: Vec<JobPlan>,
    /// Time between the sampler's readings of thread CPU, above 0.
    pub interval: Nanos,
    /// CPU of the sampler, best a CPU without a lane. `None`: the kernel chooses.
    pub sampler_cpu: Option<CpuId>,
    /// The clock of all times in the run.
    pub time: TimeSource,
}

/// The state of a lane at one moment, as the lane itself reads it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// Time on the run's clock, ns.
    pub t_ns: u64,
    /// Thread CPU since the thread began, ns.
    pub cpu_ns: u64,
    /// CPU time so far of the kernel thread that works for the lane's engine alone (SQPOLL), ns; 0
    /// without such a thread.
    pub helper_cpu_ns: u64,
    /// Context switches since the thread began.
    pub switches: ContextSwitches,
}

/// The data of one lane in one phase.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PhaseData {
    /// The lane's state at the phase's begin.
    pub begin: Mark,
    /// The lane's state at the phase's end.
    pub end: Mark,
    /// Number of I/Os.
    pub ios: u64,
    /// Indices of the phase's samples among those of the lane.
    pub samples: Range<usize>,
    /// Counts and a histogram of all I/Os of the phase; `None` unless [`JobPlan::tally`] is set.
    pub tally: Option<Box<IoTally>>,
}

/// The data of one lane.
#[derive(Debug, Default)]
pub struct LaneData {
    /// Name from the plan.
    pub name: String,
    /// The kernel's id of its thread; 0 if the run never began.
    pub tid: u32,
    /// The facts that its engine reported at the end.
    pub facts: EngineFacts,
    /// Its phases; fewer than planned when the run was stopped.
    pub phases: Vec<PhaseData>,
    /// Its samples, in the order of reaping.
    pub samples: Vec<Sample>,
    /// Number of I/Os; larger than the number of samples if the capacity was too small.
    pub ios: u64,
    /// Number of I/Os that failed or were short.
    pub faults: u64,
    /// The first of the `faults`.
    pub first_fault: Option<FailedIo>,
    /// The sampler's readings: time on the run's clock and thread CPU, both in ns.
    pub cpu_readings: Vec<(u64, u64)>,
}

/// The data of a run.
#[derive(Debug, Default)]
pub struct RunData {
    /// The lanes in the order of the plan.
    pub lanes: Vec<LaneData>,
    /// The common start on the run's clock, ns.
    pub start_ns: u64,
    /// True if the run was stopped before its planned end.
    pub stopped: bool,
}

impl LaneData {
    /// The samples of phase number `phase`, from 0.
    pub fn phase_samples(&self, phase: usize) -> &[Sample] {
        &self.samples[self.phases[phase].samples.clone()]
    }
}

pub(super) fn invalid(lane: &str, problem: impl Into<String>) -> RunError {
    RunError::Plan {
        lane: lane.to_owned(),
        problem: problem.into(),
    }
}

pub(super) fn check_jobs(jobs: &[JobPlan], phases: usize) -> Result<(), RunError> {
    jobs.iter().try_for_each(|job| check_job(job, phases))
}

fn check_job(job: &JobPlan, phases: usize) -> Result<(), RunError> {
    let refuse = |problem: &str| Err(invalid(&job.name, problem));
    if job.activities.len() != phases {
        return refuse("every phase needs an activity");
    }
    if job.depth == 0 || job.bs.0 == 0 || u32::try_from(job.bs.0).is_err() {
        return refuse("depth and block size must be above 0 and the block size below 4 GiB");
    }
    if job.pattern.fdatasync.is_some() && job.depth > 1 {
        return refuse(
            "fdatasync after a write needs one request in flight: depth 1, and more jobs instead",
        );
    }
    if job.span < job.bs {
        return refuse("the target is smaller than one block");
    }
    if job.rate.is_some_and(|rate| !(rate > 0.0 && rate <= 1e9)) {
        return refuse("the rate must be above 0 and at most 10^9 per second");
    }
    if job.think.is_some() && (job.rate.is_some() || job.depth > 1) {
        return refuse(
            "think time needs a closed loop with one request in flight: no rate, depth 1",
        );
    }
    let may_sleep = |a: &Activity| matches!(a, Activity::Start(Wait::Interrupt | Wait::Hybrid(_)));
    if job.rate.is_some() && job.depth > 1 && job.activities.iter().any(may_sleep) {
        return refuse(
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
    problem.map_or(Ok(()), |problem| Err(invalid(lane, problem)))
}
