//! A requested workload, and its open target: a file or a device of the kernel, a simulated device,
//! or a controller that the kernel does not drive.

use crate::workload::BackgroundSpec;
use q2c_engine::engine::EngineError;
use q2c_engine::engines::{SimDevices, SimSpec};
use q2c_engine::{EngineSpec, Medium, Pattern, SimMachine};
use q2c_host::Roots;
use q2c_host::block::TargetDisk;
use q2c_host::target::{
    FileId, OpenNamespace, SIMULATED_SIZE, Scratch, TargetError, TargetRequirements,
    WritePermission, open, open_namespace, simulated,
};
use q2c_model::{Bytes, CpuId, Exit, Fault};
use q2c_result::{Device, Target, TargetKind};
use q2c_run::run_dir::PlanFault;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Checks the simulated machine of a plan that is read back.
pub fn check_machine(machine: Option<&SimMachine>) -> Result<(), PlanFault> {
    let checked = machine.map_or(Ok(()), SimMachine::check);
    checked.map_err(|error| PlanFault::new("machine", "values in their ranges", error))
}

/// The workload that a command requests.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkloadRequest {
    /// The path of a file or device, or the text of a simulated device.
    pub target: String,
    /// Engine of the foreground; `None` means the target's, else io_uring.
    pub engine: Option<EngineSpec>,
    /// Access pattern of the foreground jobs.
    pub pattern: Pattern,
    /// All block sizes of the foreground jobs.
    pub sizes: Vec<Bytes>,
    /// Number of foreground jobs.
    pub jobs: u32,
    /// CPUs of the foreground jobs, used in turn; empty lets q2c choose.
    pub cpus: Vec<CpuId>,
    /// Background jobs. A job without CPUs gets one that has no foreground job.
    pub background: Vec<BackgroundSpec>,
    /// Files and devices that may be written.
    pub allow_write: Vec<PathBuf>,
    /// Seed of the offsets.
    pub seed: u64,
    /// The machine of a simulated target, in simulated time; `None` for the real one.
    pub machine: Option<SimMachine>,
}

impl WorkloadRequest {
    /// One job without a background on this machine, with the seed 1.
    pub fn new(target: &str, pattern: Pattern, sizes: Vec<Bytes>) -> Self {
        WorkloadRequest {
            target: target.to_owned(),
            engine: None,
            pattern,
            sizes,
            jobs: 1,
            cpus: Vec::new(),
            background: Vec::new(),
            allow_write: Vec::new(),
            seed: 1,
            machine: None,
        }
    }
}

/// A target holds at least this many blocks of the largest size; fewer would be read from the
/// device's cache.
pub const MIN_BLOCKS: u64 = 64;

/// The file of a target, if it has one. It must live as long as the target is in use.
#[derive(Debug, Default)]
pub(crate) struct TargetFile {
    id: Option<FileId>,
    write: bool,
    /// The block device, held open so that no one else can write to it meanwhile.
    _held_device: Option<File>,
}

#[derive(Debug)]
pub(crate) struct WorkloadTarget {
    pub(crate) medium: Medium,
    pub(crate) facts: Target,
    pub(crate) span: Bytes,
    pub(crate) target_disk: Option<TargetDisk>,
    /// Distinguishes the target from another one of the same name.
    pub(crate) id: String,
    pub(crate) file: TargetFile,
    /// The device that gets the engine's commands in place of the named target.
    pub(crate) character_device: Option<PathBuf>,
}

pub(crate) fn open_character_device(
    roots: &Roots,
    target: &Target,
    file: &TargetFile,
    target_disk: Option<&TargetDisk>,
) -> Result<OpenNamespace, TargetError> {
    let path = Path::new(&target.path);
    match file.id {
        Some(id) => open_namespace(roots, path, id, target_disk, file.write),
        None => Err(TargetError::NoNamespace(path.to_owned())),
    }
}

impl WorkloadTarget {
    /// Opens the target. For writes, `allow_write` must name it, or it is the scratch file.
    pub(crate) fn open(
        roots: &Roots,
        request: &WorkloadRequest,
        scratch: Option<&Scratch>,
    ) -> Result<Self, TargetError> {
        let mut permission = WritePermission::none();
        if !request.allow_write.is_empty() {
            permission = WritePermission::for_paths(&request.allow_write)?;
        }
        scratch.iter().for_each(|file| file.grant(&mut permission));
        let wanted = wanted_target(request);
        let target = open(roots, &wanted, &permission)?;
        Ok(WorkloadTarget {
            medium: Medium::File(Arc::new(target.file)),
            span: target.facts.size,
            facts: target.facts,
            target_disk: target.target_disk,
            id: target.id.to_string(),
            file: TargetFile {
                id: Some(target.id),
                write: wanted.write,
                _held_device: target.held_device,
            },
            character_device: None,
        })
    }

    /// Fits the target to `engine`. NVMe commands need a character device, which takes nothing
    /// else.
    pub(crate) fn for_engine(mut self, roots: &Roots, engine: &EngineSpec) -> Result<Self, Fault> {
        let Target { kind, path, .. } = &self.facts;
        let takes_commands = *kind == TargetKind::NvmeGeneric;
        match (takes_commands, engine.needs_character_device()) {
            (true, false) => {
                let text = format!(
                    "use {path} with {engine}: it takes NVMe commands alone; name the namespace's block device, or use \
                     --engine io_uring_cmd"
                );
                Err(Fault::new(Exit::Target, text))
            }
            (false, true) => {
                let disk = self.target_disk.as_ref();
                let open = open_character_device(roots, &self.facts, &self.file, disk)?;
                self.character_device = Some(open.character_device.path().to_owned());
                self.medium = Medium::File(Arc::new(open.file));
                Ok(self)
            }
            _ => Ok(self),
        }
    }

    /// A controller without a kernel driver: only its PCI address is known; its size is assumed.
    pub(crate) fn controller(request: &WorkloadRequest) -> Result<Self, TargetError> {
        let path = PathBuf::from(&request.target);
        if request.pattern.writes() && !request.allow_write.contains(&path) {
            return Err(TargetError::NoPermission(path));
        }
        let unproved = "its size, its interrupts and its requests: the kernel does not drive it";
        let facts = Target {
            path: request.target.clone(),
            kind: TargetKind::Pci,
            unproved: vec![unproved.to_owned()],
            ..Target::default()
        };
        Ok(WorkloadTarget::without_file(facts, SIMULATED_SIZE))
    }

    /// Makes the simulated device that `engine` names; the null engine has none.
    pub(crate) fn simulated(
        target: &str,
        engine: &EngineSpec,
        devices: &SimDevices,
    ) -> Result<Self, EngineError> {
        let facts = Target {
            service_times: devices.recorded_facts(engine)?,
            device: engine.simulates().and_then(simulated_queues),
            ..simulated(target)
        };
        Ok(WorkloadTarget {
            medium: devices.medium(engine)?,
            ..WorkloadTarget::without_file(facts, SIMULATED_SIZE)
        })
    }

    fn without_file(facts: Target, span: Bytes) -> Self {
        WorkloadTarget {
            medium: Medium::None,
            span,
            target_disk: None,
            id: facts.path.clone(),
            facts,
            file: TargetFile::default(),
            character_device: None,
        }
    }
}

/// The facts of a simulated device's queues; `None` if it has any number of requests.
fn simulated_queues(spec: &SimSpec) -> Option<Device> {
    Some(Device {
        name: "simulated".to_owned(),
        scheduler: Some("none".to_owned()),
        nr_requests: Some(spec.nr_requests? as u64),
        hw_queues: Some(spec.queues as u32),
        ..Device::default()
    })
}

pub(crate) fn wanted_target(request: &WorkloadRequest) -> TargetRequirements {
    let background = request.background.iter();
    let background_sizes = background.clone().map(|job| job.bs);
    let sizes = request.sizes.iter().copied().chain(background_sizes);
    TargetRequirements {
        path: PathBuf::from(&request.target),
        write: request.pattern.writes() || background.clone().any(|job| job.pattern.writes()),
        block: sizes.clone().max().unwrap_or(Bytes(0)),
        smallest_block: sizes.min().unwrap_or(Bytes(u64::MAX)),
        blocks: MIN_BLOCKS,
    }
}
