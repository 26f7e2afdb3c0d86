//! The measured workload: foreground lanes of depth 1 on given CPUs, background jobs beside them,
//! and stages in time.
//!
//! One call of [`Workload::run`] keeps one thread and one ring per lane through all stages, so that
//! the stages can be compared. The machine's counters are read at each boundary between them.

mod background;
mod stages;
mod watch;

pub use background::{Background, BackgroundPlace, BackgroundSpec, ParseBackgroundError};
pub use stages::{StageId, Stages, Step};
pub use watch::{Boundary, Site, StageActivity, WorkloadRun, first_fault};

use crate::busy::OtherWork;
use q2c_engine::engines::SimDevices;
use q2c_engine::{Activity, EngineSpec, JobPlan, Medium, Pattern, RunError, RunPlan, run};
use q2c_model::{Bytes, CpuId, Nanos};
use std::sync::atomic::AtomicBool;

/// The measured workload.
#[derive(Clone, Debug)]
pub struct Workload {
    /// Engine of the foreground lanes.
    pub engine: EngineSpec,
    /// The file or device that the I/O goes to.
    pub medium: Medium,
    /// Simulated devices of jobs whose engine simulates: the target's, or others.
    pub simulated: SimDevices,
    /// Access pattern of the foreground lanes.
    pub pattern: Pattern,
    /// Time that a foreground lane sleeps after each I/O, before it submits the next one.
    pub think: Option<Nanos>,
    /// Length of the used part of the target, which starts at offset 0.
    pub span: Bytes,
    /// CPU of each foreground lane; there is one lane per entry.
    pub cpus: Vec<CpuId>,
    /// Background jobs, which run beside the foreground.
    pub background: Vec<BackgroundSpec>,
    /// CPU of the sampler; `None` leaves the choice to the kernel.
    pub sampler_cpu: Option<CpuId>,
    /// The clock, and the places where the machine's counters are read.
    pub site: Site,
}

/// Samples in memory per foreground lane; each takes 48 bytes.
const MAX_SAMPLES: f64 = 4e6;
/// Block size of lanes that do no I/O.
const IDLE_BLOCK_BYTES: u64 = 4096;
/// IOPS per lane that are assumed before the first measurement.
const ASSUMED_IOPS: f64 = 400e3;

impl Workload {
    /// Runs the stages. `iops_hint` is the IOPS of one lane; it sizes the memory for samples.
    pub fn run(
        &self,
        bs: Bytes,
        stages: &Stages,
        seed: u64,
        iops_hint: Option<f64>,
        stop: &AtomicBool,
    ) -> Result<WorkloadRun, RunError> {
        let samples = stages.seconds() * iops_hint.map_or(ASSUMED_IOPS, |n| n * 2.0) + 10_000.0;
        let capacity = samples.min(MAX_SAMPLES) as usize;
        let mut jobs = self.foreground(bs, stages, seed, capacity);
        jobs.extend(self.background_jobs(stages, seed));
        let plan = RunPlan {
            phases: stages.iter().map(|(_, stage)| stage.length).collect(),
            jobs,
            interval: INTERVAL,
            sampler_cpu: self.sampler_cpu,
            time: self.site.time.clone(),
        };
        let mut boundaries = Vec::with_capacity(stages.iter().len() + 1);
        let mut data = run(
            plan,
            &mut |_| boundaries.push(Boundary::read(&self.site)),
            stop,
        )?;
        let fault = first_fault(&data);
        data.lanes.truncate(self.cpus.len());
        Ok(WorkloadRun {
            data,
            boundaries,
            fault,
        })
    }

    /// Busy CPUs while only the background runs; `None` if they cannot be read.
    pub(crate) fn idle_busy_cpus(
        &self,
        length: Nanos,
        seed: u64,
        stop: &AtomicBool,
    ) -> Result<Option<f64>, RunError> {
        let bs = Bytes(IDLE_BLOCK_BYTES.min(self.span.0));
        let mut stages = Stages::default();
        let rest_stage = stages.push(Step::Rest, length);
        let watched = self.run(bs, &stages, seed, None, stop)?;
        Ok(watched.span(rest_stage).busy_cpus)
    }

    /// Other work on the CPUs, as measured at rest, without that of background jobs.
    pub fn others(&self) -> OtherWork {
        let others = OtherWork::from_idle_cpus(self.site.idle_busy_cpus);
        OtherWork {
            uses_idle_time: others.uses_idle_time && self.background.is_empty(),
            ..others
        }
    }

    /// One job per foreground lane, with one activity per stage and memory for `room` samples.
    pub fn foreground(&self, bs: Bytes, stages: &Stages, seed: u64, room: usize) -> Vec<JobPlan> {
        let mut columns: Vec<Vec<Activity>> = self.cpus.iter().map(|_| Vec::new()).collect();
        for (_, stage) in stages.iter() {
            let activities = stage.step.activities(&self.cpus);
            for (lane, activity) in columns.iter_mut().zip(activities) {
                lane.push(activity);
            }
        }
        let lanes = self.cpus.iter().zip(columns).enumerate();
        let plans = lanes.map(|(lane, (&cpu, activities))| JobPlan {
            name: format!("foreground job {lane}"),
            engine: self.engine.clone(),
            medium: self.medium.clone(),
            pattern: self.pattern,
            bs,
            base: Bytes(0),
            span: self.span,
            depth: 1,
            cpu,
            roams_on: Vec::new(),
            seed: seed.wrapping_add(lane as u64 * 7919),
            activities,
            capacity: room,
            tally: self.pattern.has_kinds(),
            rate: None,
            think: self.think,
            stop_on_fault: true,
        });
        plans.collect()
    }

    /// One job per background lane, with one activity per stage.
    pub fn background_jobs(&self, stages: &Stages, seed: u64) -> Vec<JobPlan> {
        let place = BackgroundPlace {
            engine: &self.engine,
            medium: &|engine| self.simulated.background_medium(&self.medium, engine),
            span: self.span,
            seed,
        };
        Background(self.background.clone()).plans(&place, &|job| job.activities(stages))
    }
}

/// Length of the sampler's intervals.
pub const INTERVAL: Nanos = Nanos::from_millis(100);
