//! What is measured: foreground lanes of depth 1 on stated CPUs, background jobs beside them, and stages over time.
//!
//! One call of [`Workload::run`] keeps one thread and one ring per lane through all its stages, so that stages can be
//! compared; at each boundary between them the machine's counters are read.

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

/// How foreground lanes wait in a stage.
#[derive(Clone, Debug)]
pub enum Step {
    /// By this method; a rule begins anew.
    By(LaneMethod),
    /// As in the stage before, the rule's state kept.
    Same,
    /// As before the last change of method, the rule's state kept.
    Resume,
    /// Not at all: they rest.
    Rest,
}

impl Step {
    /// Classic polling.
    pub const POLL: Step = Step::By(LaneMethod::Poll);
}

/// A stretch of time with one way of waiting.
#[derive(Clone, Debug)]
pub struct Stage {
    /// How.
    pub step: Step,
    /// How long.
    pub length: Nanos,
}

impl Stage {
    /// A stage.
    #[must_use]
    pub fn new(step: Step, length: Nanos) -> Self {
        Stage { step, length }
    }
}

/// The measured workload.
#[derive(Clone, Debug)]
pub struct Workload {
    /// Foreground interface.
    pub engine: EngineSpec,
    /// Where the I/O goes.
    pub medium: Medium,
    /// Foreground pattern.
    pub pattern: Pattern,
    /// Bytes of the target in use.
    pub span: Bytes,
    /// One foreground lane per entry.
    pub cpus: Vec<CpuId>,
    /// Background jobs.
    pub background: Vec<BackgroundSpec>,
    /// The sampler's CPU.
    pub sampler_cpu: Option<CpuId>,
    /// Where the machine's counters are read.
    pub site: Site,
    /// The clock of all times.
    pub clock: Clock,
}

/// Below this many voluntary switches per slept I/O the kernel returned from most sleeps without leaving the CPU.
pub const REALLY_SLEPT: f64 = 0.5;

/// Foreground samples kept per lane at most: 48 bytes each.
const MOST_SAMPLES: f64 = 4e6;
/// Block of lanes that do nothing.
const SMALL: u64 = 4096;
/// Assumed when nothing was measured yet.
const UNKNOWN_IOPS: f64 = 400e3;

impl Workload {
    /// Runs the stages at one block size. `iops_hint` (per lane) sizes the memory for samples.
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

    /// CPUs busy while the foreground rests and the background runs; `None` when it cannot be read.
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

    /// A job per foreground lane, `capacity` samples each.
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

    /// A job per background lane, through so many stages.
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

/// One activity per lane; a rule per device is shared among them, a rule per CPU among those on the same.
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
