//! The study of jobs, which do I/O in phases of time; a phase may change their settings.

mod cpus;
mod ground;
mod kernel;
mod lanes;
mod live;
mod series;
mod stages;

pub use ground::{Ground, OpenTarget};
pub(crate) use stages::STAGE_FIGURES;
pub use stages::no_capture;

use crate::devices::MadeDevices;
use crate::file::{Experiment, ExperimentJob, JobSettings, SettingsText};
use cpus::{CpuDemand, needed, placed};
use kernel::KernelPolling;
use lanes::{Course, strands};
use live::LiveTrial;
use q2c_model::{CpuId, Nanos};
use q2c_result::reproduce::{CpuUse, PointTrial, Window};
use q2c_run::runner::{CellError, CellPlan, Context, Plan};
use q2c_sys::Clock;
use series::Run;
use stages::Capture;
use std::collections::BTreeMap;

/// The value of each axis.
pub type AxisValues = BTreeMap<String, String>;

/// An experiment with jobs as a plan for the runner, with one cell for each point of its axes.
pub struct JobsPlan<'a> {
    /// The experiment.
    pub experiment: &'a Experiment,
    /// The resources of the jobs.
    pub ground: &'a Ground<'a>,
    /// The factor of all times.
    pub scale: f64,
}

/// Fewest slices of a phase, however short it is.
const LEAST_SLICES: f64 = 10.0;
/// Fewest slices of a window, so that some remain if a late thread loses one.
const LEAST_IN_WINDOW: f64 = 4.0;
/// The shortest slice, since an order needs 2 ms to reach all threads.
pub(crate) const LEAST_SLICE: Nanos = Nanos::from_millis(10);

impl JobsPlan<'_> {
    /// The lengths of the phases in this run.
    pub(crate) fn phases(&self) -> Vec<Nanos> {
        self.experiment.phases_at(self.scale)
    }

    /// Length of a slice: as in the file, but at most a tenth of the shortest phase and a quarter
    /// of the shortest window; at least 10 ms.
    pub(crate) fn slice(&self) -> Nanos {
        let phases = self.phases().into_iter();
        let of_phases = phases.map(|phase| phase.as_secs_f64() / LEAST_SLICES);
        let windows = self.experiment.windows.iter();
        let length = |window: &Window| window.to_s.map(|to| (to - window.from_s) * self.scale);
        let of_windows = windows.filter_map(length).map(|s| s / LEAST_IN_WINDOW);
        let longest = of_phases.chain(of_windows).map(Nanos::from_secs_f64).min();
        let longest = longest.unwrap_or(self.experiment.interval);
        self.experiment.interval.min(longest).max(LEAST_SLICE)
    }

    /// The CPUs that a point needs in each phase; empty if its settings are invalid.
    pub fn cpus(&self, at: &AxisValues) -> Vec<CpuUse> {
        cpu_use(self.experiment, at, self.ground.cpus.len() as u32)
    }

    fn courses(&self, at: &AxisValues, made: &MadeDevices) -> Result<Vec<Course>, String> {
        let wishes = wishes(self.experiment, at)?;
        let at = &self.experiment.full(at);
        let cpus = wishes.iter().map(|wishes| placed(wishes, self.ground.cpus));
        let cpus: Vec<Vec<Vec<CpuId>>> = cpus.collect();
        let course = |(n, job): (usize, &ExperimentJob)| {
            let phase = |(settings, cpus): (&Option<SettingsText>, &Vec<Vec<CpuId>>)| {
                let settings = settings.as_ref().map(|settings| settings.settings_at(at));
                let job = settings.transpose()?;
                let job = job.map(|job| self.ground.ready(job, cpus[n].clone(), made));
                job.transpose()
            };
            let phases = job.phases.iter().zip(&cpus).map(phase);
            let (name, phases) = (job.name.clone(), phases.collect::<Result<_, String>>()?);
            Ok(Course { name, phases })
        };
        let jobs = self.experiment.jobs.iter();
        jobs.enumerate().map(course).collect()
    }

    /// A CPU for the thread that collects slices: a free one, else not one of the first job.
    fn listener(&self, courses: &[Course]) -> Option<CpuId> {
        let taken = |course: &Course| -> Vec<CpuId> {
            let placed = course.phases.iter().flatten();
            placed.flat_map(|placed| placed.cpus.clone()).collect()
        };
        let taken_by_all: Vec<CpuId> = courses.iter().flat_map(taken).collect();
        let taken_by_first = courses.first().map(taken).unwrap_or_default();
        let without = |taken: &[CpuId]| {
            let mut cpus = self.ground.cpus.iter().rev();
            cpus.find(|cpu| !taken.contains(cpu)).copied()
        };
        without(&taken_by_all).or_else(|| without(&taken_by_first))
    }

    fn trial(&self, at: &AxisValues, context: &Context<'_>) -> Result<PointTrial, CellError> {
        let full = self.experiment.full(at);
        let made = self.ground.maker.make(&self.experiment.devices, &full);
        let made = made.map_err(CellError::Cell)?;
        let courses = self.courses(at, &made).map_err(CellError::Cell)?;
        let strands = strands(&courses);
        // The kernel's capture uses CLOCK_MONOTONIC.
        let mut site = self.ground.site.clone();
        if self.experiment.capture {
            site.time = Clock::monotonic().into();
        }
        let trial = LiveTrial {
            courses: &courses,
            strands: &strands,
            phases: &self.phases(),
            slice: self.slice(),
            listener: self.listener(&courses),
            site: &site,
            seed: context.seed >> 1,
            stop: context.cancel,
        };
        let capture = Capture::begin(self.experiment.capture, &trial)?;
        let journal = self.ground.restore_dir.as_deref();
        let kernel = KernelPolling::begin(&courses, self.ground.site, journal);
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
        if let Some(reason) = ran.unset {
            return Err(CellError::Trial(reason));
        }
        if ran.unheard > 0 {
            return Err(CellError::Trial(format!(
                "{} of {} threads handed over nothing of the last phase; make the phase longer, or use fewer threads",
                ran.unheard,
                strands.len()
            )));
        }
        let run = Run {
            heap: &ran.heap,
            courses: &courses,
            strands: &strands,
            orders: &ran.orders,
            boundaries: &ran.boundaries,
            site: self.ground.site,
        };
        let mut phases = run.phases();
        kernel.tell(&mut phases, self.slice(), &run);
        capture.end(&mut phases, &run)?;
        Ok(PointTrial {
            trial: context.trial,
            phases,
            ..PointTrial::default()
        })
    }
}

/// Like [`JobsPlan::cpus`], on a machine with `present` CPUs.
pub(crate) fn cpu_use(experiment: &Experiment, at: &AxisValues, present: u32) -> Vec<CpuUse> {
    let wishes = wishes(experiment, at).unwrap_or_default();
    let uses = wishes.iter().map(|wishes| needed(wishes, present));
    uses.collect()
}

fn wishes(experiment: &Experiment, at: &AxisValues) -> Result<Vec<Vec<Option<CpuDemand>>>, String> {
    let (jobs, at) = (&experiment.jobs, &experiment.full(at));
    let wish = |job: &ExperimentJob, phase: usize| {
        let settings = job.phases[phase].as_ref();
        let demand = settings.map(|settings| {
            let JobSettings { threads, cpus, .. } = settings.settings_at(at)?;
            Ok(CpuDemand { threads, cpus })
        });
        demand.transpose()
    };
    let phase = |phase: usize| jobs.iter().map(|job| wish(job, phase)).collect();
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
