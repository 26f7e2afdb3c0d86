//! The measured workload: foreground lanes of depth 1 on given CPUs, background jobs beside them,
//! and stages in time.
//!
//! One call of [`Workload::run`] keeps one thread and one ring per lane through all stages, so that
//! the stages can be compared. The machine's counters are read at each boundary between them.

mod background;
mod watch;

pub use background::{BackgroundSpec, ParseBackgroundError};
pub use watch::{Boundary, Site, Span, Watched, first_fault};

use q2c_engine::{Activity, EngineSpec, JobPlan, Medium, Pattern, RunError, RunPlan, run};
use q2c_model::{Bytes, CpuId, Nanos};
use q2c_policy::LaneMethod;
use q2c_sys::Clock;
use std::sync::atomic::AtomicBool;
use watch::Watcher;

/// The way in which foreground lanes wait for completions in a stage.
#[derive(Clone, Debug)]
pub enum Step {
    /// The lanes wait by this method. A rule begins without state.
    By(LaneMethod),
    /// The lanes wait as in the stage before, and a rule keeps its state.
    Same,
    /// The lanes wait as before the last [`Step::By`], and the rule of that time keeps its state.
    Resume,
    /// The lanes do no I/O.
    Rest,
}

impl Step {
    /// Classic polling.
    pub const POLL: Step = Step::By(LaneMethod::Poll);
}

/// A period of time with one way of waiting.
#[derive(Clone, Debug)]
pub struct Stage {
    /// How the foreground lanes wait.
    pub step: Step,
    /// Length of the stage.
    pub length: Nanos,
}

impl Stage {
    /// A stage of this step and length.
    #[must_use]
    pub fn new(step: Step, length: Nanos) -> Self {
        Stage { step, length }
    }
}

/// The measured workload.
#[derive(Clone, Debug)]
pub struct Workload {
    /// Engine of the foreground lanes.
    pub engine: EngineSpec,
    /// The file or device that the I/O goes to.
    pub medium: Medium,
    /// Access pattern of the foreground lanes.
    pub pattern: Pattern,
    /// Bytes of the target that are used, counted from its start.
    pub span: Bytes,
    /// CPU of each foreground lane; there is one lane per entry.
    pub cpus: Vec<CpuId>,
    /// Background jobs, which run beside the foreground.
    pub background: Vec<BackgroundSpec>,
    /// CPU of the sampler; `None` leaves the choice to the kernel.
    pub sampler_cpu: Option<CpuId>,
    /// The places where the machine's counters are read.
    pub site: Site,
    /// The clock that all times are taken from.
    pub clock: Clock,
}

/// Interrupts per I/O at and above which completions came by interrupts.
pub const BY_INTERRUPT: f64 = 0.5;

/// Voluntary switches per I/O that slept. Below this number the kernel returned from most sleeps
/// without leaving the CPU.
pub const REALLY_SLEPT: f64 = 0.5;

/// Most samples that are kept per foreground lane; each has 48 bytes.
const MOST_SAMPLES: f64 = 4e6;
/// Block size of lanes that do no I/O, bytes.
const SMALL: u64 = 4096;
/// IOPS per lane that are assumed when none were measured yet.
const UNKNOWN_IOPS: f64 = 400e3;

impl Workload {
    /// Runs the stages at block size `bs`. `iops_hint`, in IOPS per lane, sizes the memory for
    /// samples. `stop` ends the run early.
    ///
    /// # Errors
    /// When a lane cannot be set up or an engine breaks.
    pub fn run(
        &self,
        bs: Bytes,
        stages: &[Stage],
        seed: u64,
        iops_hint: Option<f64>,
        stop: &AtomicBool,
    ) -> Result<Watched, RunError> {
        let seconds: f64 = stages.iter().map(|s| s.length.as_secs_f64()).sum();
        let wanted = seconds * iops_hint.map_or(UNKNOWN_IOPS, |iops| iops * 2.0) + 10_000.0;
        let capacity = wanted.min(MOST_SAMPLES) as usize;
        let steps: Vec<&Step> = stages.iter().map(|stage| &stage.step).collect();
        let mut jobs = self.foreground(bs, &steps, seed, capacity);
        jobs.extend(self.background_jobs(stages.len(), seed));
        let plan = RunPlan {
            phases: stages.iter().map(|stage| stage.length).collect(),
            jobs,
            interval: INTERVAL,
            sampler_cpu: self.sampler_cpu,
            clock: self.clock,
        };
        let mut watcher = Watcher::new(&self.site, stages.len());
        let mut data = run(plan, &mut watcher, stop)?;
        let fault = first_fault(&data);
        data.lanes.truncate(self.cpus.len());
        Ok(Watched {
            data,
            boundaries: watcher.boundaries,
            fault,
        })
    }

    /// Number of busy CPUs while the foreground rests and the background runs; `None` when it
    /// cannot be read.
    ///
    /// # Errors
    /// When a lane cannot be set up or an engine breaks.
    pub fn busy_at_rest(
        &self,
        length: Nanos,
        seed: u64,
        stop: &AtomicBool,
    ) -> Result<Option<f64>, RunError> {
        let bs = Bytes(SMALL.min(self.span.0));
        let watched = self.run(bs, &[Stage::new(Step::Rest, length)], seed, None, stop)?;
        Ok(watched.span(0).busy_cpus)
    }

    /// One job per foreground lane, with one activity per step and room for `capacity` samples.
    #[must_use]
    pub fn foreground(
        &self,
        bs: Bytes,
        steps: &[&Step],
        seed: u64,
        capacity: usize,
    ) -> Vec<JobPlan> {
        let mut columns: Vec<Vec<Activity>> = self.cpus.iter().map(|_| Vec::new()).collect();
        for step in steps {
            let activities = activities(step, &self.cpus);
            columns
                .iter_mut()
                .zip(activities)
                .for_each(|(lane, activity)| lane.push(activity));
        }
        let lanes = self.cpus.iter().zip(columns).enumerate();
        lanes
            .map(|(lane, (&cpu, activities))| JobPlan {
                name: format!("foreground job {lane}"),
                engine: self.engine.clone(),
                medium: self.medium.clone(),
                pattern: self.pattern,
                bs,
                span: self.span,
                depth: 1,
                cpu,
                seed: seed.wrapping_add(lane as u64 * 7919),
                activities,
                capacity,
                tally: false,
                rate: None,
                stop_on_fault: true,
            })
            .collect()
    }

    /// One job per background lane, with an activity for each of `stages` stages.
    #[must_use]
    pub fn background_jobs(&self, stages: usize, seed: u64) -> Vec<JobPlan> {
        let jobs = self
            .background
            .iter()
            .flat_map(|spec| (0..spec.jobs).map(move |_| spec));
        let job = |(n, spec): (usize, &BackgroundSpec)| JobPlan {
            name: format!("background job {n}"),
            engine: spec.engine.clone().unwrap_or_else(|| self.engine.clone()),
            medium: self.medium.clone(),
            pattern: spec.pattern,
            bs: spec.bs,
            span: self.span,
            depth: spec.depth,
            cpu: spec.cpus[n % spec.cpus.len()],
            seed: seed.wrapping_add(104_729 * (n as u64 + 1)),
            activities: (0..stages).map(|stage| spec.activity(stage)).collect(),
            capacity: 0,
            tally: false,
            rate: None,
            stop_on_fault: true,
        };
        jobs.enumerate().map(job).collect()
    }
}

/// Length of the sampler's intervals.
pub const INTERVAL: Nanos = Nanos::from_millis(100);

/// One activity per lane. A rule of scope per device is shared among all lanes, a rule of scope per
/// CPU among the lanes of one CPU.
#[must_use]
pub fn activities(step: &Step, cpus: &[CpuId]) -> Vec<Activity> {
    let lanes = cpus.len();
    match step {
        Step::Rest => (0..lanes).map(|_| Activity::Idle).collect(),
        Step::Same => (0..lanes).map(|_| Activity::Continue).collect(),
        Step::Resume => (0..lanes).map(|_| Activity::Resume).collect(),
        Step::By(method) => {
            let waits = method.build_on(cpus).into_iter();
            waits.map(Activity::Start).collect()
        }
    }
}
