use super::abilities::MachineAbilities;
use crate::block::{self, TargetDisk};
use crate::kernel_config::KernelConfig;
use crate::kernel_version::{KernelVersion, kernel_version};
use crate::topology::Topology;
use crate::{Roots, attr, machine};
use q2c_model::CpuId;
use q2c_result::{Machine, Target};
use std::path::{Path, PathBuf};

/// How a real `io_uring_setup` ended. The doctor makes no ring itself: the caller tries and hands
/// the result over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RingProbe {
    /// A ring was set up.
    Works,
    /// The kernel refused the ring; with the error's text.
    Refused(String),
}

/// The cost of q2c's own work on this machine, measured by the caller.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ToolCosts {
    /// Nanoseconds for one reading of the clock that dates I/Os.
    pub clock_ns: f64,
    /// Nanoseconds of thread CPU per I/O of an engine that does nothing, with every sample
    /// recorded.
    pub empty_loop_ns: f64,
}

/// All facts that the checks look at. Make it with [`DoctorFacts::new`], add what else is known,
/// and hand it to [`run`](super::run).
#[derive(Clone, Debug)]
pub struct DoctorFacts<'a> {
    pub(super) roots: &'a Roots,
    pub(super) machine: Machine,
    pub(super) target: Option<&'a Target>,
    pub(super) target_disk: Option<TargetDisk>,
    /// The result of setting up a ring; `None` when that was not tried.
    pub ring: Option<RingProbe>,
    /// The folder of the restore journals; `None` when it is not known.
    pub journal: Option<PathBuf>,
    pub(super) topology: Topology,
    /// The CPUs that the jobs will run on.
    pub jobs: Vec<CpuId>,
    /// The cost of q2c's own work; `None` when it was not measured.
    pub costs: Option<ToolCosts>,
    /// Number of busy CPUs while q2c does nothing; `None` when it was not measured.
    pub idle_busy_cpus: Option<f64>,
    pub(super) config: Option<KernelConfig>,
    /// The answers of the parts of q2c about this machine; `None` when they were not asked.
    pub abilities: Option<MachineAbilities>,
    pub(super) is_root: bool,
}

impl<'a> DoctorFacts<'a> {
    /// Reads the facts about the machine, and about the target's disk when a target is named.
    pub fn new(roots: &'a Roots, target: Option<&'a Target>) -> DoctorFacts<'a> {
        let name = target.and_then(|t| Some(t.device.as_ref()?.name.clone()));
        DoctorFacts {
            roots,
            machine: machine::read(roots),
            target,
            target_disk: name.and_then(|n| block::disk_by_name(roots, &n).ok()),
            ring: None,
            journal: None,
            topology: Topology::read(roots),
            jobs: Vec::new(),
            costs: None,
            idle_busy_cpus: None,
            config: KernelConfig::read(roots),
            abilities: None,
            is_root: is_root(roots),
        }
    }

    /// The kernel's version; (0, 0) when it is unknown.
    pub(super) fn version(&self) -> KernelVersion {
        kernel_version(&self.machine.kernel).unwrap_or_default()
    }

    /// The kernel's release in words.
    pub(super) fn release(&self) -> String {
        format!("kernel {}", self.machine.kernel)
    }

    /// Other facts of the machine whose keys begin with `kind`, as (key without `kind`, value).
    pub(super) fn other_facts(&self, kind: &str) -> impl Iterator<Item = (&str, &str)> {
        let facts = self.machine.other.iter();
        facts.filter_map(move |(key, value)| Some((key.strip_prefix(kind)?, value.as_str())))
    }

    pub(super) fn online(&self) -> &[CpuId] {
        &self.machine.cpus_online
    }

    pub(super) fn sys(&self, path: &str) -> Option<String> {
        attr::text(&self.roots.sys(path))
    }

    pub(super) fn proc(&self, path: &str) -> Option<String> {
        attr::text(&self.roots.proc(path))
    }

    pub(super) fn queue(&self, attribute: &str) -> Option<(&str, String)> {
        let disk = &self.target_disk.as_ref()?.disk;
        let text = attr::text(&disk.dir.join("queue").join(attribute))?;
        Some((&disk.name, text))
    }

    /// The folder of the target's disk in sysfs and all folders above it, up to the bus. For a
    /// stacked disk they are those of the first disk below.
    pub(super) fn device_dirs(&self) -> Vec<PathBuf> {
        let Some(target_disk) = &self.target_disk else {
            return Vec::new();
        };
        let disk = target_disk.below.first().unwrap_or(&target_disk.disk);
        let devices = std::fs::canonicalize(self.roots.sys("devices")).unwrap_or_default();
        let dirs = disk.dir.ancestors();
        let inside = dirs.take_while(|d| d.starts_with(&devices) && *d != devices);
        inside.map(Path::to_owned).collect()
    }

    /// The values of an attribute of the online CPUs; CPUs without it are left out.
    pub(super) fn cpu_values(&self, attribute: &str) -> Vec<String> {
        let text = |&cpu: &CpuId| attr::text(&self.roots.cpu(cpu, attribute));
        self.online().iter().filter_map(text).collect()
    }

    pub(super) fn command_line(&self, item: &str) -> Option<String> {
        let line = self.proc("cmdline")?;
        let mut fields = line.split_whitespace();
        let value = fields.find_map(|w| w.strip_prefix(item)?.strip_prefix('='))?;
        Some(value.to_owned())
    }
}

/// True if the effective user is root, or if procfs does not show the user.
fn is_root(roots: &Roots) -> bool {
    let status = attr::text(&roots.proc("self/status")).unwrap_or_default();
    let users = attr::field(&status, "Uid:").unwrap_or_default();
    let effective = users.split_whitespace().nth(1);
    effective.is_none_or(|user| user == "0")
}
