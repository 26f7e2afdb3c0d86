//! The study of a mix of work: tasks that create, read, write and remove files on a made device.

use crate::file::TaskMix;
use crate::jobs::{AxisValues, JobsPlan};
use q2c_fs::MixTrial;
use q2c_model::Exit;
use q2c_result::fs::FileSystem;
use q2c_result::reproduce::PointTrial;
use q2c_run::runner::{CellError, CellPlan, Context, Plan};

const JOBS_PER_MINUTE: &str = "jobs_per_minute";

/// The figures of a mix.
pub(crate) const FIGURES: [&str; 1] = [
    JOBS_PER_MINUTE, // jobs of all tasks together, by the operations in the counted time
];

/// Time before the counted time of a trial, whatever the scale, seconds.
pub(crate) const WARM_UP_S: f64 = 0.3;

/// The study as a plan for the runner. Each trial has a new file system.
pub struct MixStudyPlan<'a> {
    /// The experiment and its resources, as those of jobs.
    pub jobs: &'a JobsPlan<'a>,
    /// The tasks.
    pub mix: &'a TaskMix,
    /// Name of the device.
    pub device: &'a str,
    /// The file system that is made on it.
    pub fs: FileSystem,
}

impl MixStudyPlan<'_> {
    fn jobs_per_minute(&self, at: &AxisValues, context: &Context<'_>) -> Result<f64, CellError> {
        let JobsPlan {
            experiment,
            resources,
            scale,
        } = self.jobs;
        let tasks = self.mix.tasks(at).map_err(CellError::Cell)?;
        let devices = resources.maker.make(&experiment.devices, at);
        let devices = devices.map_err(CellError::Cell)?;
        let mounted = resources.maker.mount(&devices[self.device], self.fs);
        let mounted = mounted.map_err(|fault| match fault.exit() {
            Exit::Device => CellError::Trial(format!("failed to {fault}")),
            _ => CellError::Cell(format!("failed to {fault}")),
        })?;
        let cpus: Vec<u32> = resources.cpus.iter().map(|cpu| cpu.0).collect();
        let trial = MixTrial {
            tasks,
            cpus: &cpus,
            warm_up_s: WARM_UP_S,
            seconds: self.mix.length.as_secs_f64() * scale,
            seed: context.seed,
            stop: context.cancel,
        };
        trial.run_on(&mounted, &resources.site.roots)
    }
}

impl Plan for MixStudyPlan<'_> {
    type Cell = AxisValues;
    type Outcome = PointTrial;
    const UNIT: &'static str = "jobs per minute";

    fn cells(&self) -> Vec<CellPlan<AxisValues>> {
        self.jobs.cells()
    }

    fn metric(&self, trial: &PointTrial) -> f64 {
        let jobs = trial.figures.get(JOBS_PER_MINUTE);
        jobs.copied().unwrap_or(f64::NAN)
    }

    fn run(
        &mut self,
        cell: &CellPlan<AxisValues>,
        context: &mut Context<'_>,
    ) -> Result<PointTrial, CellError> {
        let at = self.jobs.experiment.expand(&cell.cell);
        let jobs = self.jobs_per_minute(&at, context)?;
        Ok(PointTrial {
            trial: context.trial,
            figures: crate::figures([(JOBS_PER_MINUTE, Some(jobs))]),
            ..PointTrial::default()
        })
    }
}
