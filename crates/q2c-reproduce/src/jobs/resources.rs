//! The resources of jobs: the user's target, the devices that the file creates, and the CPUs.

use crate::devices::{DeviceMaker, DevicesByName};
use crate::file::{JobSettings, TARGET};
use q2c_bench::abilities::{Abilities, MethodPath};
use q2c_bench::interface::Interface;
use q2c_bench::media::Media;
use q2c_engine::{EngineSpec, Medium};
use q2c_model::{Bytes, CpuId};
use q2c_policy::{KernelSleep, LaneMethod, Method};
use q2c_workbench::workload::Site;
use std::path::PathBuf;

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
        made: &DevicesByName,
    ) -> Result<PreparedJob, String> {
        let null = Interface::Engine(EngineSpec::Null);
        if settings.engine.as_ref() == Some(&null) {
            let device = JobDevice {
                interface: null,
                abilities: Abilities::default(),
                medium: &|_| Medium::None,
                span: NO_DEVICE,
            };
            return device.prepare(settings, cpus);
        }
        if settings.device != TARGET {
            let made = made.get(&settings.device);
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
        let way = |method: &Method| -> Result<(MethodPath, EngineSpec), String> {
            let interface = interface_for(&self.interface, &settings, method);
            let way = MethodPath::resolve(&interface, method, settings.depth, self.abilities)?;
            let engine = way.interface.engine().cloned().ok_or_else(|| {
                format!("{interface} is a program of its own, and its figures have no series")
            })?;
            Ok((way, engine))
        };
        let mut ways = settings.methods.iter().map(way);
        let first = ways.next().ok_or("the job names no method")?;
        let (way, engine) = first.or_else(|reason| ways.find_map(Result::ok).ok_or(reason))?;
        Ok(PreparedJob {
            medium: (self.medium)(&engine),
            engine,
            span: self.span,
            waits: way.waits,
            kernel: way.kernel,
            settings,
            cpus,
        })
    }
}

/// Span in bytes for a job that does no I/O.
const NO_DEVICE: Bytes = Bytes(1 << 30);

/// Chooses pvsync2 on a real device for the kernel's sleep, which exists only in its calls.
fn interface_for(interface: &Interface, settings: &JobSettings, method: &Method) -> Interface {
    let real = interface.engine().is_some_and(EngineSpec::needs_file);
    let pvsync2 = match (method, &settings.engine) {
        (Method::HybridKernel(_), None) if real => "pvsync2".parse().ok(),
        _ => None,
    };
    pvsync2.unwrap_or_else(|| interface.clone())
}

/// The interface of a job; a simulated device is its own engine.
fn interface(settings: &JobSettings, device: Option<&EngineSpec>) -> Result<Interface, String> {
    match (&settings.engine, device) {
        (None, Some(engine)) => Ok(Interface::Engine(engine.clone())),
        (None, None) => "io_uring".parse(),
        (Some(engine), Some(device)) if !device.needs_file() => Err(format!(
            "{engine} needs a file or device, and the device is simulated ({device})"
        )),
        (Some(engine), _) => Ok(engine.clone()),
    }
}
