//! The study of jobs, which do I/O in phases of time; a phase may change their settings.

mod cpus;
mod kernel;
mod lanes;
mod live;
mod resources;
mod series;
mod stages;

pub use resources::{JobResources, UserTarget};
pub(crate) use stages::STAGE_FIGURES;
pub use stages::capture_refusal;

use crate::devices::DevicesByName;
use crate::file::{Experiment, ExperimentJob, JobSettings, SettingsText};
use cpus::{CpuDemand, assign_cpus, cpus_needed};
use kernel::KernelPolling;
use lanes::{TrialJob, workers};
use live::LiveTrial;
use q2c_model::{CpuId, Nanos};
use q2c_result::reproduce::{CpuUse, PointTrial, Window};
use q2c_run::runner::{CellError, CellPlan, Context, Plan};
use q2c_sys::Clock;
use series::JobTrial;
use stages::TrialCapture;
use std::collections::BTreeMap;

/// The value of each axis.
pub type AxisValues = BTreeMap<String, String>;

/// An experiment with jobs as a plan for the runner, with one cell for each point of its axes.
pub struct JobsPlan<'a> {
    /// The experiment.
    pub experiment: &'a Experiment,
    /// The resources of the jobs.
    pub resources: &'a JobResources<'a>,
    /// The factor of all times.
    pub scale: f64,
}

/// Fewest slices of a phase, however short it is.
const MIN_PHASE_SLICES: f64 = 10.0;
/// Fewest slices of a window, so that some remain if a late thread loses one.
const MIN_WINDOW_SLICES: f64 = 4.0;
/// The shortest slice, since an order needs 2 ms to reach all threads.
pub(crate) const MIN_SLICE: Nanos = Nanos::from_millis(10);

impl JobsPlan<'_> {
    /// The lengths of the phases in this run.
    pub(crate) fn phases(&self) -> Vec<Nanos> {
        self.experiment.scaled_phases(self.scale)
    }

    /// Length of a slice: as in the file, but at most a tenth of the shortest phase and a quarter
    /// of the shortest window; at least 10 ms.
    pub(crate) fn slice(&self) -> Nanos {
        let phases = self.phases().into_iter();
        let of_phases = phases.map(|phase| phase.as_secs_f64() / MIN_PHASE_SLICES);
        let windows = self.experiment.windows.iter();
        let length = |window: &Window| window.to_s.map(|to| (to - window.from_s) * self.scale);
        let of_windows = windows.filter_map(length).map(|s| s / MIN_WINDOW_SLICES);
        let longest = of_phases.chain(of_windows).map(Nanos::from_secs_f64).min();
        let longest = longest.unwrap_or(self.experiment.interval);
        self.experiment.interval.min(longest).max(MIN_SLICE)
    }

    /// The CPUs that a point needs in each phase; empty if its settings are invalid.
    pub fn cpus(&self, at: &AxisValues) -> Vec<CpuUse> {
        cpu_use(self.experiment, at, self.resources.cpus.len() as u32)
    }

    fn build_jobs(&self, at: &AxisValues, made: &DevicesByName) -> Result<Vec<TrialJob>, String> {
        let by_phase = demands(self.experiment, at)?;
        let at = &self.experiment.expand(at);
        let cpus = by_phase.iter().map(|d| assign_cpus(d, self.resources.cpus));
        let cpus: Vec<Vec<Vec<CpuId>>> = cpus.collect();
        let job = |(n, job): (usize, &ExperimentJob)| {
            let phase = |(settings, cpus): (&Option<SettingsText>, &Vec<Vec<CpuId>>)| {
                let settings = settings.as_ref().map(|settings| settings.settings_at(at));
                let job = settings.transpose()?;
                let job = job.map(|job| self.resources.prepare(job, cpus[n].clone(), made));
                job.transpose()
            };
            let phases = job.phases.iter().zip(&cpus).map(phase);
            let (name, phases) = (job.name.clone(), phases.collect::<Result<_, String>>()?);
            Ok(TrialJob { name, phases })
        };
        let jobs = self.experiment.jobs.iter();
        jobs.enumerate().map(job).collect()
    }

    /// A CPU for the thread that collects slices: a free one, else not one of the first job.
    fn listener(&self, jobs: &[TrialJob]) -> Option<CpuId> {
        let taken = |job: &TrialJob| -> Vec<CpuId> {
            let placed = job.phases.iter().flatten();
            placed.flat_map(|placed| placed.cpus.clone()).collect()
        };
        let taken_by_all: Vec<CpuId> = jobs.iter().flat_map(taken).collect();
        let taken_by_first = jobs.first().map(taken).unwrap_or_default();
        let without = |taken: &[CpuId]| {
            let mut cpus = self.resources.cpus.iter().rev();
            cpus.find(|cpu| !taken.contains(cpu)).copied()
        };
        without(&taken_by_all).or_else(|| without(&taken_by_first))
    }

    fn trial(&self, at: &AxisValues, context: &Context<'_>) -> Result<PointTrial, CellError> {
        let full = self.experiment.expand(at);
        let made = self.resources.maker.make(&self.experiment.devices, &full);
        let made = made.map_err(CellError::Cell)?;
        let jobs = self.build_jobs(at, &made).map_err(CellError::Cell)?;
        let workers = workers(&jobs);
        // The kernel's capture uses CLOCK_MONOTONIC.
        let mut site = self.resources.site.clone();
        if self.experiment.capture {
            site.time = Clock::monotonic().into();
        }
        let trial = LiveTrial {
            jobs: &jobs,
            workers: &workers,
            phases: &self.phases(),
            slice: self.slice(),
            listener: self.listener(&jobs),
            site: &site,
            seed: context.seed >> 1,
            stop: context.cancel,
        };
        let capture = TrialCapture::start(self.experiment.capture, &trial)?;
        let journal = self.resources.restore_dir.as_deref();
        let kernel = KernelPolling::lock(&jobs, self.resources.site, journal);
        let mut kernel = kernel.map_err(CellError::Cell)?;
        kernel.enter(0).map_err(CellError::Cell)?;
        let ran = trial.run(&mut kernel);
        let ran = ran.map_err(|e| CellError::Cell(format!("failed to {e}")))?;
        if let Some(fault) = ran.fault {
            return Err(CellError::Abort(fault.into()));
        }
        if ran.stopped || context.cancelled() {
            return Err(CellError::Cancelled);
        }
        if let Some(reason) = ran.setting_error {
            return Err(CellError::Trial(reason));
        }
        if ran.silent_threads > 0 {
            return Err(CellError::Trial(format!(
                "{} of {} threads handed over nothing of the last phase; make the phase longer, or use fewer threads",
                ran.silent_threads,
                workers.len()
            )));
        }
        let run = JobTrial {
            log: &ran.log,
            jobs: &jobs,
            workers: &workers,
            orders: &ran.orders,
            boundaries: &ran.boundaries,
            site: self.resources.site,
        };
        let mut phases = run.phases();
        kernel.add_sleeps(&mut phases, self.slice(), &run);
        capture.stop(&mut phases, &run)?;
        Ok(PointTrial {
            trial: context.trial,
            phases,
            ..PointTrial::default()
        })
    }
}

/// Like [`JobsPlan::cpus`], on a machine with `present` CPUs.
pub(crate) fn cpu_use(experiment: &Experiment, at: &AxisValues, present: u32) -> Vec<CpuUse> {
    let by_phase = demands(experiment, at).unwrap_or_default();
    let uses = by_phase.iter().map(|demands| cpus_needed(demands, present));
    uses.collect()
}

/// The demand of each job in a phase; `None` for a resting job.
type PhaseDemands = Vec<Option<CpuDemand>>;

fn demands(experiment: &Experiment, at: &AxisValues) -> Result<Vec<PhaseDemands>, String> {
    let (jobs, at) = (&experiment.jobs, &experiment.expand(at));
    let demand = |job: &ExperimentJob, phase: usize| {
        let settings = job.phases[phase].as_ref();
        let demand = settings.map(|settings| {
            let JobSettings { threads, cpus, .. } = settings.settings_at(at)?;
            Ok(CpuDemand { threads, cpus })
        });
        demand.transpose()
    };
    let phase = |phase: usize| jobs.iter().map(|job| demand(job, phase)).collect();
    (0..experiment.phases.len()).map(phase).collect()
}

impl Plan for JobsPlan<'_> {
    type Cell = AxisValues;
    type Outcome = PointTrial;
    const UNIT: &'static str = "IOPS of the first job in the first phase";

    fn cells(&self) -> Vec<CellPlan<AxisValues>> {
        let cell = |at: AxisValues| {
            let values = at.iter().map(|(axis, value)| format!("{axis}={value}"));
            let values = values.collect::<Vec<_>>().join(" ");
            let name = Some(&self.experiment.name).filter(|_| values.is_empty());
            CellPlan {
                key: format!("at {values}"),
                label: name.unwrap_or(&values).clone(),
                seconds: self.experiment.trial_of_point_s(&at, self.scale),
                cell: at,
            }
        };
        self.experiment.points().into_iter().map(cell).collect()
    }

    fn metric(&self, trial: &PointTrial) -> f64 {
        let first = trial.phases.first();
        let first = first.and_then(|phase| Some((phase, phase.jobs.first()?)));
        first.map_or(f64::NAN, |(phase, job)| {
            job.ticks.iter().map(|tick| tick.ios).sum::<f64>() / phase.seconds
        })
    }

    fn run(
        &mut self,
        cell: &CellPlan<AxisValues>,
        context: &mut Context<'_>,
    ) -> Result<PointTrial, CellError> {
        self.trial(&cell.cell, context)
    }
}
