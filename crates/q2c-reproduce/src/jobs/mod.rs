//! The study of jobs, which do I/O in phases of time; a phase may change their settings.

mod kernel;
mod lanes;
mod series;
mod stages;

pub(crate) use stages::STAGE_FIGURES;
pub use stages::capture_refusal;

use crate::devices::{DeviceMaker, DevicesByName};
use crate::file::{Experiment, ExperimentJob, JobSettings, SettingsText, TARGET};
use kernel::KernelPolling;
use lanes::{LiveTrial, TrialJob, workers};
use q2c_bench::abilities::{Abilities, MethodPath};
use q2c_bench::interface::Interface;
use q2c_bench::media::Media;
use q2c_engine::engines::behind_interface;
use q2c_engine::{EngineSpec, Medium};
use q2c_model::{Bytes, CpuId, Nanos};
use q2c_policy::{KernelSleep, LaneMethod, Method};
use q2c_result::reproduce::{CpuUse, PointTrial, Window};
use q2c_run::runner::{CellError, CellPlan, Context, Plan};
use q2c_sys::Clock;
use q2c_workbench::workload::Site;
use series::JobTrial;
use stages::TrialCapture;
use std::collections::BTreeMap;
use std::path::PathBuf;

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
        let by_phases = phases.map(|phase| phase.as_secs_f64() / MIN_PHASE_SLICES);
        let windows = self.experiment.windows.iter();
        let length = |window: &Window| window.to_s.map(|to| (to - window.from_s) * self.scale);
        let by_windows = windows.filter_map(length).map(|s| s / MIN_WINDOW_SLICES);
        let longest = by_phases.chain(by_windows).map(Nanos::from_secs_f64).min();
        let longest = longest.unwrap_or(self.experiment.interval);
        self.experiment.interval.min(longest).max(MIN_SLICE)
    }

    /// The CPUs that a point needs in each phase; empty if its settings are invalid.
    pub fn cpus(&self, at: &AxisValues) -> Vec<CpuUse> {
        cpu_use(self.experiment, at, self.resources.cpus.len() as u32)
    }

    fn build_jobs(&self, at: &AxisValues, devs: &DevicesByName) -> Result<Vec<TrialJob>, String> {
        let by_phase = demands(self.experiment, at)?;
        let at = &self.experiment.expand(at);
        let cpus = by_phase.iter().map(|d| assign_cpus(d, self.resources.cpus));
        let cpus: Vec<Vec<Vec<CpuId>>> = cpus.collect();
        let job = |(n, job): (usize, &ExperimentJob)| {
            let phase = |(settings, cpus): (&Option<SettingsText>, &Vec<Vec<CpuId>>)| {
                let settings = settings.as_ref().map(|settings| settings.settings_at(at));
                let job = settings.transpose()?;
                let job = job.map(|job| self.resources.prepare(job, cpus[n].clone(), devs));
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
            let prepared = job.phases.iter().flatten();
            prepared.flat_map(|job| job.cpus.clone()).collect()
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
        let point = self.experiment.expand(at);
        let devices = self.resources.maker.make(&self.experiment.devices, &point);
        let devices = devices.map_err(CellError::Cell)?;
        let jobs = self.build_jobs(at, &devices).map_err(CellError::Cell)?;
        let workers = workers(&jobs);
        // The kernel's capture uses CLOCK_MONOTONIC.
        let mut site = self.resources.site.clone();
        if self.experiment.capture && site.time.world().is_none() {
            site.time = Clock::monotonic().into();
        }
        let trial = LiveTrial {
            jobs: &jobs,
            workers: &workers,
            phases: &self.phases(),
            slice: self.slice(),
            listener: self.listener(&jobs),
            cpus: self.resources.cpus,
            site: &site,
            seed: context.seed >> 1,
            stop: context.cancel,
        };
        let capture = TrialCapture::start(self.experiment.capture, &trial)?;
        let journal = self.resources.restore_dir.as_deref();
        let kernel = KernelPolling::lock(&jobs, self.resources.site, journal);
        let mut kernel = kernel.map_err(CellError::Cell)?;
        kernel.enter(0).map_err(CellError::Cell)?;
        let outcome = trial.run(&mut kernel);
        let outcome = outcome.map_err(|e| CellError::Cell(format!("failed to {e}")))?;
        if let Some(fault) = outcome.fault {
            return Err(CellError::Abort(fault.into()));
        }
        if outcome.stopped || context.cancelled() {
            return Err(CellError::Cancelled);
        }
        if let Some(reason) = outcome.setting_error {
            return Err(CellError::Trial(reason));
        }
        if outcome.silent_threads > 0 {
            return Err(CellError::Trial(format!(
                "{} of {} threads handed over nothing of the last phase; make the phase longer, or use fewer threads",
                outcome.silent_threads,
                workers.len()
            )));
        }
        kernel.restore().map_err(CellError::Trial)?;
        let run = JobTrial {
            log: &outcome.log,
            jobs: &jobs,
            workers: &workers,
            orders: &outcome.orders,
            boundaries: &outcome.boundaries,
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
    if let Some(mix) = &experiment.mix {
        let tasks = mix.tasks(&experiment.expand(at)).into_iter();
        let demand = |threads| CpuDemand {
            threads,
            cpus: Some(threads),
        };
        return tasks
            .map(|tasks| cpus_needed(&[Some(demand(tasks))], present))
            .collect();
    }
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

/// The demand of a job in a phase: its threads, and the number of CPUs that they share (`None` if
/// they are unpinned).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CpuDemand {
    threads: u32,
    cpus: Option<u32>,
}

/// The CPUs of each job's threads. A `None` in `demands` is a resting job. Jobs take CPUs in turn.
/// If there are too few, the first job keeps its CPUs, and the other jobs share the other CPUs.
fn assign_cpus(demands: &[Option<CpuDemand>], cpus: &[CpuId]) -> Vec<Vec<CpuId>> {
    let mut taken = 0;
    let mut first_cpus = 0;
    let place = |demand: &Option<CpuDemand>| {
        let Some(demand) = demand else {
            return Vec::new();
        };
        // Unpinned threads leave the CPUs to the other jobs, as far as numbers go.
        let Some(wanted) = demand.cpus.map(|wanted| wanted as usize) else {
            let dealt = cpus.iter().cycle().take(demand.threads as usize);
            return dealt.copied().collect();
        };
        let fits = taken + wanted <= cpus.len();
        let others = cpus.get(first_cpus..).filter(|c| !c.is_empty() && !fits);
        let (pool, from) = match others {
            Some(others) => (others, taken - first_cpus),
            None => (cpus, taken),
        };
        let cpu = |thread: usize| pool[(from + thread % wanted) % pool.len()];
        let threads = (0..demand.threads as usize).map(cpu).collect();
        if taken == 0 {
            first_cpus = wanted.min(cpus.len());
        }
        taken += wanted;
        threads
    };
    demands.iter().map(place).collect()
}

/// Unpinned threads can run on a single CPU, however many they are.
fn cpus_needed(demands: &[Option<CpuDemand>], present: u32) -> CpuUse {
    let demands = demands.iter().flatten();
    let unpinned = demands.clone().filter(|demand| demand.cpus.is_none());
    let unpinned: u32 = unpinned.map(|demand| demand.threads).sum();
    CpuUse {
        needed: demands.map(|demand| demand.cpus.unwrap_or(1)).sum(),
        present,
        unpinned: (unpinned > 0).then_some(unpinned),
    }
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

/// The user's target, opened.
pub struct UserTarget<'a> {
    /// Where the I/O of each interface goes.
    pub media: &'a Media,
    /// Bytes of the target in use.
    pub span: Bytes,
    /// Engine of jobs that name none: that of a simulated target, or the user's. `None`: io_uring.
    pub engine: Option<EngineSpec>,
    /// The abilities of device and kernel.
    pub abilities: Abilities,
}

/// All resources of the jobs.
pub struct JobResources<'a> {
    /// The user's target; `None` if the experiment uses none.
    pub target: Option<UserTarget<'a>>,
    /// The clock, and the source of the machine's counters.
    pub site: &'a Site,
    /// CPUs in the order in which jobs take them.
    pub cpus: &'a [CpuId],
    /// Creates the devices of the file.
    pub maker: DeviceMaker,
    /// Folder of the journal of changed settings; without it no setting can be changed.
    pub restore_dir: Option<PathBuf>,
}

/// A job's settings on the device that they name, ready to run.
#[derive(Clone, Debug)]
pub(crate) struct PreparedJob {
    pub engine: EngineSpec,
    pub medium: Medium,
    pub span: Bytes,
    pub waits: LaneMethod,
    /// The sleep that the kernel does inside the call; `None` for other methods.
    pub kernel: Option<KernelSleep>,
    pub settings: JobSettings,
    /// The CPU of each thread.
    pub cpus: Vec<CpuId>,
}

impl PreparedJob {
    pub(crate) fn method(&self) -> Method {
        let lane = || self.waits.clone().into();
        self.kernel.clone().map_or_else(lane, Method::HybridKernel)
    }

    /// True if threads can continue from `other` with these settings: only the method differs.
    pub(crate) fn can_share_ring(&self, other: &PreparedJob) -> bool {
        let (one, two) = (&self.settings, &other.settings);
        self.engine == other.engine
            && one.device == two.device
            && (one.pattern, one.bs, one.depth) == (two.pattern, two.bs, two.depth)
            && one.cpus.is_some() == two.cpus.is_some()
    }
}

/// The device that a job does its I/O on.
struct JobDevice<'a> {
    interface: Interface,
    abilities: Abilities,
    medium: &'a dyn Fn(&EngineSpec) -> Medium,
    span: Bytes,
}

impl JobResources<'_> {
    /// Resolves the settings on their device, by the first of their methods that works here.
    pub(crate) fn prepare(
        &self,
        settings: JobSettings,
        cpus: Vec<CpuId>,
        devices: &DevicesByName,
    ) -> Result<PreparedJob, String> {
        let null = Interface::Engine(EngineSpec::Null);
        if settings.engine.as_ref() == Some(&null) {
            let device = JobDevice {
                interface: null,
                abilities: Abilities::default(),
                medium: &|_| Medium::None,
                span: NULL_SPAN,
            };
            return device.prepare(settings, cpus);
        }
        if settings.device != TARGET {
            let made = devices.get(&settings.device);
            let made = made.ok_or_else(|| format!("there is no device {}", settings.device))?;
            let device = JobDevice {
                interface: interface(&settings, made.engine.as_ref())?,
                abilities: Abilities::default(),
                medium: &|_| made.medium.clone(),
                span: made.span,
            };
            return device.prepare(settings, cpus);
        }
        let target = self
            .target
            .as_ref()
            .ok_or("the job works on the user's target, and none was named; name one with --target or --scratch")?;
        let interface = interface(&settings, target.engine.as_ref())?;
        target.media.absence(&interface).map_or(Ok(()), Err)?;
        let device = JobDevice {
            interface,
            abilities: target.abilities,
            medium: &|engine| target.media.medium_for(engine),
            span: target.span,
        };
        device.prepare(settings, cpus)
    }
}

impl JobDevice<'_> {
    fn prepare(&self, settings: JobSettings, cpus: Vec<CpuId>) -> Result<PreparedJob, String> {
        let path = |method: &Method| -> Result<(MethodPath, EngineSpec), String> {
            let interface = interface_for(&self.interface, &settings, method);
            let path = MethodPath::resolve(&interface, method, settings.depth, self.abilities)?;
            let engine = path.interface.engine().cloned().ok_or_else(|| {
                format!("{interface} is a program of its own, and its figures have no series")
            })?;
            Ok((path, engine))
        };
        let mut paths = settings.methods.iter().map(path);
        let first = paths.next().ok_or("the job names no method")?;
        let (path, engine) = first.or_else(|reason| paths.find_map(Result::ok).ok_or(reason))?;
        Ok(PreparedJob {
            medium: (self.medium)(&engine),
            engine,
            span: self.span,
            waits: path.waits,
            kernel: path.kernel,
            settings,
            cpus,
        })
    }
}

/// The span of a job on the null engine, which does no I/O.
const NULL_SPAN: Bytes = Bytes(1 << 30);

/// Chooses pvsync2 on a real device for the kernel's sleep, which exists only in its calls.
fn interface_for(interface: &Interface, settings: &JobSettings, method: &Method) -> Interface {
    let real = interface.engine().is_some_and(EngineSpec::needs_file);
    let pvsync2 = match (method, &settings.engine) {
        (Method::HybridKernel(_), None) if real => "pvsync2".parse().ok(),
        _ => None,
    };
    pvsync2.unwrap_or_else(|| interface.clone())
}

/// The interface of a job; a simulated device is its own engine, or lies behind the one named.
fn interface(settings: &JobSettings, device: Option<&EngineSpec>) -> Result<Interface, String> {
    match (&settings.engine, device) {
        (None, Some(engine)) => Ok(Interface::Engine(engine.clone())),
        (None, None) => "io_uring".parse(),
        (Some(engine), Some(device)) if !device.needs_file() => {
            let behind = behind_interface(&device.to_string(), &engine.to_string());
            behind.map_or_else(
                || {
                    let text = "needs a file or device, and the device is simulated";
                    Err(format!("{engine} {text} ({device})"))
                },
                |text| text.parse(),
            )
        }
        (Some(engine), _) => Ok(engine.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn demand(threads: u32, cpus: u32) -> Option<CpuDemand> {
        Some(CpuDemand {
            threads,
            cpus: Some(cpus),
        })
    }

    fn numbers(placed: &[Vec<CpuId>]) -> Vec<Vec<u32>> {
        placed
            .iter()
            .map(|cpus| cpus.iter().map(|cpu| cpu.0).collect())
            .collect()
    }

    #[test]
    fn each_job_has_its_cpus_where_there_are_enough() {
        let cpus: Vec<CpuId> = (0..8).map(CpuId).collect();
        let cpus_by_job = assign_cpus(&[demand(1, 1), None, demand(4, 4), demand(2, 1)], &cpus);
        let wanted = vec![vec![0], vec![], vec![1, 2, 3, 4], vec![5, 5]];
        assert_eq!(numbers(&cpus_by_job), wanted);
    }

    #[test]
    fn the_first_job_keeps_its_cpu_where_there_are_too_few() {
        let cpus = [CpuId(1), CpuId(0)];
        let cpus_by_job = assign_cpus(&[demand(1, 1), demand(4, 4)], &cpus);
        assert_eq!(numbers(&cpus_by_job), [vec![1], vec![0, 0, 0, 0]]);
        let cpus_by_job = assign_cpus(&[demand(3, 3), demand(1, 1)], &cpus);
        assert_eq!(numbers(&cpus_by_job), [vec![1, 0, 1], vec![0]]);
        let cpus_by_job = assign_cpus(&[demand(1, 1), demand(1, 1)], &cpus[..1]);
        assert_eq!(numbers(&cpus_by_job), [vec![1], vec![1]]);
    }

    #[test]
    fn the_jobs_of_a_phase_are_counted() {
        let cpu_use = cpus_needed(&[demand(1, 1), None, demand(8, 4)], 2);
        assert_eq!((cpu_use.needed, cpu_use.present), (5, 2));
        assert_eq!(cpu_use.unpinned, None);
    }

    #[test]
    fn unpinned_threads_leave_the_other_jobs_their_cpus() {
        let cpus: Vec<CpuId> = (0..2).map(CpuId).collect();
        let roaming = Some(CpuDemand {
            threads: 3,
            cpus: None,
        });
        let demands = [roaming, demand(1, 1)];
        let cpus_by_job = assign_cpus(&demands, &cpus);
        assert_eq!(numbers(&cpus_by_job), [vec![0, 1, 0], vec![0]]);
        let cpu_use = cpus_needed(&demands, 2);
        assert_eq!((cpu_use.needed, cpu_use.unpinned), (2, Some(3)));
    }
}
