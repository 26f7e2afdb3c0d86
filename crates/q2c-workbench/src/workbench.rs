//! The workbench of a measuring command: its workload on chosen CPUs, its open target, and the
//! facts of the machine.

use crate::cpu_choice::{CpuChoice, WorkloadCpus, allowed_cpus, ring_engine};
use crate::examine::examine;
use crate::polling::{IopollSupport, iopoll_support, settle, too_large};
use crate::workload::{BackgroundSpec, Site, Workload};
use crate::workload_target::{TargetFile, WorkloadTarget, open_character_device, wanted_target};
use q2c_engine::engine::EngineError;
use q2c_engine::engines::{RingKind, SimDevices};
use q2c_engine::{EngineSpec, TimeSource, World};
use q2c_host::Roots;
use q2c_host::block::{is_pci_address, pci_node};
use q2c_host::cpu_time::{QUIET_CPUS, REST_LOOKS};
use q2c_host::signals::Orderly;
use q2c_host::target::{OpenNamespace, Scratch, TargetError, check_size};
use q2c_host::topology::{ChosenCpus, Topology, UnnamedCpus, device_node};
use q2c_model::{CpuId, Exit, Fault, Nanos, OrFault};
use q2c_result::{Device, DoctorReport, Machine, Target, TargetKind};
use q2c_run::Identity;
use q2c_sys::Clock;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

pub use crate::cpu_choice::try_cpus;
pub use crate::workload_target::WorkloadRequest;

/// The needs of a measuring command: workload, facts, and the doctor's report. Dropping it removes
/// the scratch file, unless [`Workbench::keep_scratch`] is called.
#[derive(Debug)]
pub struct Workbench {
    /// The workload. Its `site.idle_busy_cpus` is 0 until [`Workbench::measure_idle_baseline`].
    pub workload: Workload,
    /// Facts of the machine.
    pub machine: Machine,
    /// Facts of the target.
    pub target: Target,
    /// The doctor's report.
    pub doctor: DoctorReport,
    /// Distinguishes this target from another one of the same name.
    pub target_id: String,
    /// Target name in stored calibrations. Scratch files of one size on one disk share a name.
    pub calibration_target: String,
    /// The device that gets the engine's commands in place of the named target.
    pub character_device: Option<PathBuf>,
    /// `Ok` if io_uring can poll the target's device, else the reason why it cannot.
    pub polling: IopollSupport,
    /// The target, if it is a scratch file from an earlier session.
    pub kept_scratch: Option<PathBuf>,
    seed: u64,
    file: TargetFile,
    scratch: Option<Scratch>,
    /// Makes a signal end the work in order, so that measured data is stored.
    _orderly: Orderly,
}

/// Length of one look at the machine at rest.
const REST_LOOK: Nanos = Nanos::from_millis(1_000);

impl Workbench {
    /// Opens the target, chooses the CPUs, and reads the facts of the machine.
    pub fn open(
        roots: &Roots,
        request: &WorkloadRequest,
        scratch: Option<Scratch>,
        stop: &AtomicBool,
    ) -> Result<Self, Fault> {
        let engine = EngineSpec::for_target(request.engine.as_ref(), &request.target);
        let engine = engine.or_exit(Exit::Usage)?;
        let devices = SimDevices::new(q2c_study::service_times);
        let target = if engine.needs_file() {
            WorkloadTarget::open(roots, request, scratch.as_ref())?.for_engine(roots, &engine)?
        } else {
            WorkloadTarget::simulated(&request.target, &engine, &devices).map_err(engine_fault)?
        };
        Self::new(request, engine, target, devices, roots, scratch, stop)
    }

    /// Opens a workbench as [`Workbench::open`] does, for a command that chooses among several
    /// interfaces. The target may also be a namespace's character device, or a controller's PCI
    /// address. The target is also opened for the request's background jobs. The workload has none,
    /// since they belong to only some of the command's points.
    pub fn for_interfaces(
        roots: &Roots,
        request: &WorkloadRequest,
        scratch: Option<Scratch>,
        stop: &AtomicBool,
    ) -> Result<Self, Fault> {
        let name = request.target.as_str();
        let engine = EngineSpec::for_target(request.engine.as_ref(), name);
        let engine = engine.or_exit(Exit::Usage)?;
        let devices = SimDevices::new(q2c_study::service_times);
        let target = if !engine.needs_file() {
            WorkloadTarget::simulated(name, &engine, &devices).map_err(engine_fault)?
        } else if is_pci_address(name) && !Path::new(name).exists() {
            WorkloadTarget::controller(request)?
        } else {
            WorkloadTarget::open(roots, request, scratch.as_ref())?
        };
        // Nothing is read or written before the first trial, and each trial opens its own engine.
        // So the null engine suffices here: io_uring may be forbidden while the requested
        // interfaces are not.
        let needs_file = engine.needs_file();
        let engine = if needs_file { EngineSpec::Null } else { engine };
        let mut bench = Self::new(request, engine, target, devices, roots, scratch, stop)?;
        bench.workload.background.clear();
        Ok(bench)
    }

    fn new(
        request: &WorkloadRequest,
        engine: EngineSpec,
        target: WorkloadTarget,
        simulated: SimDevices,
        roots: &Roots,
        scratch: Option<Scratch>,
        stop: &AtomicBool,
    ) -> Result<Self, Fault> {
        // Recordings of background devices are read now, not during the first trial.
        let mut engines = engines_of(&request.background);
        let read = engines.try_for_each(|engine| simulated.medium(engine).map(drop));
        read.map_err(engine_fault)?;
        let time = time_source(request, &engine).map_err(engine_fault)?;
        let disk = target.target_disk.as_ref();
        let cpus = WorkloadCpus::choose(request, roots, disk, time.world())?;
        let kind = match (&target.character_device, target.facts.kind) {
            (Some(_), _) | (_, TargetKind::NvmeGeneric) => RingKind::Commands,
            _ => RingKind::File,
        };
        let polling = iopoll_support(kind, &target.medium, &target.facts);
        let engine = settle(engine, &polling)?;
        // A background job that asks for polling by name is refused if the device cannot be polled.
        engines_of(&request.background)
            .try_for_each(|engine| settle(engine.clone(), &polling).map(drop))?;
        check_bs(&engine, request, &target.facts)?;
        if target.facts.kind == TargetKind::Simulated {
            check_size(&wanted_target(request), target.span)?;
        }
        let mut workload = Workload {
            engine,
            medium: target.medium,
            simulated,
            pattern: request.pattern,
            think: None,
            span: target.span,
            background: Vec::new(),
            cpus: Vec::new(),
            sampler_cpu: None,
            site: Site {
                target_disk: target.target_disk,
                ..Site::without_disk(roots.clone(), time)
            },
        };
        let mut facts = target.facts;
        let bs = request.sizes.iter().min().copied();
        let choice = CpuChoice {
            engine: ring_engine(kind, &polling, bs, &facts),
            workload: &workload,
            seed: request.seed,
            bs,
        };
        choice.run_trials(&cpus.candidates, &mut facts, stop);
        let cpus = match facts.chosen_trial() {
            Some(best) => cpus.beginning_with(best.cpu, request),
            None => cpus,
        };
        workload.background = cpus.background(request);
        (workload.cpus, workload.sampler_cpu) = (cpus.foreground, cpus.spare);
        // The kernel has no facts of a controller that it does not drive.
        let examined = Some(&facts).filter(|facts| facts.kind != TargetKind::Pci);
        Ok(Workbench {
            machine: read_machine(&workload.site),
            doctor: examine(roots, examined, &workload.cpus, &workload.site.time),
            calibration_target: calibration_target(&facts, scratch.is_some()),
            target: facts,
            target_id: target.id,
            character_device: target.character_device,
            polling,
            kept_scratch: None,
            seed: request.seed,
            file: target.file,
            workload,
            scratch,
            _orderly: Orderly::begin(),
        })
    }

    /// Watches the machine at rest for 1 to 5 s, and stores the number of busy CPUs. It is the
    /// least of several looks, or with background jobs that of a single look.
    pub fn measure_idle_baseline(&mut self, stop: &AtomicBool) -> Result<(), Fault> {
        let mut busy_cpus = f64::INFINITY;
        for _ in 0..REST_LOOKS {
            let busy = self.workload.idle_busy_cpus(REST_LOOK, self.seed, stop);
            let busy = busy.or_exit(Exit::Environment)?;
            busy_cpus = busy_cpus.min(busy.unwrap_or(0.0));
            if busy_cpus <= QUIET_CPUS || !self.workload.background.is_empty() {
                break;
            }
        }
        self.workload.site.idle_busy_cpus = busy_cpus;
        Ok(())
    }

    /// Opens and closes each of `engines` on the target, until one can be opened. Engines whose I/O
    /// goes elsewhere count as open, since their medium is unknown here.
    ///
    /// # Errors
    /// If none can be opened, the first engine's error.
    pub fn opens_one_of<'a>(
        &self,
        engines: impl Iterator<Item = &'a EngineSpec>,
    ) -> Result<(), EngineError> {
        const BLOCK_BYTES: usize = 4096;
        let takes_commands = self.target.kind == TargetKind::NvmeGeneric;
        let mut first_error = Ok(());
        for engine in engines {
            let elsewhere = takes_commands || engine.needs_character_device();
            if elsewhere || !engine.needs_file() {
                return Ok(());
            }
            match engine.open(&self.workload.medium, 1, BLOCK_BYTES, self.seed) {
                Ok(_) => return Ok(()),
                Err(error) => first_error = first_error.and(Err(error)),
            }
        }
        first_error
    }

    /// Marks the target as a scratch file of an earlier session, so its calibrations hold.
    pub fn mark_scratch(&mut self) {
        if self.scratch.is_none() {
            self.kept_scratch = Some(PathBuf::from(&self.target.path));
        }
        self.calibration_target = calibration_target(&self.target, true);
    }

    /// Opens the character device of the target, which must be an NVMe namespace.
    pub fn namespace(&self) -> Result<OpenNamespace, TargetError> {
        let site = &self.workload.site;
        let disk = site.target_disk.as_ref();
        open_character_device(&site.roots, &self.target, &self.file, disk)
    }

    /// The CPUs of a curve over jobs: the named ones, else in the order of the machine's topology.
    /// The CPU that was best in trials comes first.
    ///
    /// # Errors
    /// A named CPU that may not be used, or that was named twice.
    pub fn cpus_by_topology(&self, named: Option<&[CpuId]>) -> Result<ChosenCpus, Fault> {
        let site = &self.workload.site;
        let (roots, time) = (&site.roots, &site.time);
        let node = match &site.target_disk {
            Some(target_disk) => device_node(roots, target_disk),
            None => pci_node(roots, &self.target.path),
        };
        let topology = match time.world() {
            Some(world) => Topology::simulated(world.machine()),
            None => Topology::read(roots),
        };
        let order = UnnamedCpus::ByTopology {
            topology: &topology,
            node,
            first: self.target.chosen_trial().map(|trial| trial.cpu),
        };
        allowed_cpus(time.world())?.choose(named, order)
    }

    /// Facts that two sessions of one run must share. `program` identifies the build of q2c.
    pub fn identity(&self, cpus: &[CpuId], program: &str) -> Identity {
        let cpus: Vec<String> = cpus.iter().map(|cpu| cpu.0.to_string()).collect();
        let cpu_model = self.machine.cpu_model.as_deref();
        Identity::default()
            .with("target", &self.target.path)
            .with("target_id", &self.target_id)
            .with("kernel", &self.machine.kernel)
            .with("cpu_model", cpu_model.unwrap_or_default())
            .with("cpus", cpus.join(","))
            .with("q2c", program)
    }

    /// Keeps the scratch file for a later session, and returns its path; `None` if there is none.
    pub fn keep_scratch(self) -> Option<PathBuf> {
        self.scratch.map(Scratch::keep)
    }
}

fn engines_of(jobs: &[BackgroundSpec]) -> impl Iterator<Item = &EngineSpec> {
    jobs.iter().filter_map(|job| job.engine.as_ref())
}

/// The clock of a workload: that of a new simulated world, with its background, or the system's.
fn time_source(request: &WorkloadRequest, engine: &EngineSpec) -> Result<TimeSource, EngineError> {
    let simulated = engine.simulates().is_some();
    let machine = request.machine.clone().filter(|_| simulated);
    let mut engines = engines_of(&request.background).chain([engine]);
    engines.try_for_each(|engine| engine.check_costs(machine.as_ref()))?;
    let Some(machine) = machine else {
        return Ok(Clock::new().into());
    };
    match engines_of(&request.background).find(|engine| engine.needs_file()) {
        Some(engine) => Err(EngineError::NotSimulated(engine.to_string())),
        None => Ok(World::new(machine).into()),
    }
}

fn engine_fault(error: EngineError) -> Fault {
    let exit = match error {
        EngineError::NotSimulated(_) | EngineError::NoCosts(_) => Exit::Usage,
        _ => Exit::Input,
    };
    Fault::from_error(exit, error)
}

fn read_machine(site: &Site) -> Machine {
    match site.time.world() {
        Some(world) => q2c_host::machine::simulated(world.machine(), world.cpus()),
        None => q2c_host::machine::read(&site.roots),
    }
}

/// Checks that no job polls for a request that the block layer may split.
fn check_bs(engine: &EngineSpec, request: &WorkloadRequest, target: &Target) -> Result<(), Fault> {
    let unsplit = target.device.as_ref().and_then(|device| device.unsplit);
    let foreground = request.sizes.iter().map(|&bs| (engine.clone(), bs));
    let background = request.background.iter();
    let background = background.map(|job| (job.engine_beside(engine), job.bs));
    let mut jobs = foreground.chain(background);
    let refused = jobs.find_map(|(engine, bs)| too_large(&engine, bs, unsplit));
    refused.map_or(Ok(()), |reason| {
        let text = format!("use these block sizes: {reason}");
        Err(Fault::new(Exit::Target, text))
    })
}

fn calibration_target(target: &Target, scratch: bool) -> String {
    match (&target.device, scratch) {
        (Some(Device { name, dev, .. }), true) => {
            format!("scratch file of {} on {name} {dev}", target.size)
        }
        _ => target.path.clone(),
    }
}
