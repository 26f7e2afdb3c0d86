//! What a check looks at.

use crate::block::{self, Leaf};
use crate::kernel_config::KernelConfig;
use crate::topology::Topology;
use crate::{Roots, attr, machine};
use q2c_model::CpuId;
use q2c_result::{Machine, Target};
use std::path::{Path, PathBuf};

/// How a real `io_uring_setup` ended. The doctor does no I/O itself: the caller tries and tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RingProbe {
    /// A ring came up.
    Works,
    /// It was refused, with the error's text.
    Refused(String),
}

/// What q2c itself costs, measured by the caller.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ToolCosts {
    /// One reading of the clock that dates I/Os, nanoseconds.
    pub clock_ns: f64,
    /// Thread CPU per I/O of an engine that does nothing, every sample recorded, nanoseconds.
    pub empty_loop_ns: f64,
}

/// All that the checks look at.
#[derive(Clone, Debug)]
pub struct Scene<'a> {
    /// The kernel's trees.
    pub(super) roots: &'a Roots,
    /// The machine's facts.
    pub(super) machine: Machine,
    /// The target's facts, when one was named.
    pub(super) target: Option<&'a Target>,
    /// Its disk in sysfs.
    pub(super) leaf: Option<Leaf>,
    /// A tried ring.
    pub(super) ring: Option<RingProbe>,
    /// The restore journals' folder.
    pub(super) journal: Option<PathBuf>,
    /// Cores, sockets and nodes.
    pub(super) topology: Topology,
    /// The CPUs of the jobs; empty when none are named.
    pub(super) jobs: Vec<CpuId>,
    /// What q2c costs here.
    pub(super) costs: Option<ToolCosts>,
    /// How the kernel was built.
    pub(super) config: Option<KernelConfig>,
}

impl<'a> Scene<'a> {
    /// The machine, and the target when one is named.
    #[must_use]
    pub fn new(roots: &'a Roots, target: Option<&'a Target>) -> Scene<'a> {
        let name = target.and_then(|t| Some(t.device.as_ref()?.name.clone()));
        Scene {
            roots,
            machine: machine::read(roots),
            target,
            leaf: name.and_then(|n| block::of_disk_name(roots, &n).ok()),
            ring: None,
            journal: None,
            topology: Topology::read(roots),
            jobs: Vec::new(),
            costs: None,
            config: KernelConfig::read(roots),
        }
    }

    /// With the outcome of a tried ring.
    #[must_use]
    pub fn with_ring(self, probe: RingProbe) -> Scene<'a> {
        Scene {
            ring: Some(probe),
            ..self
        }
    }

    /// With the folder of the restore journals.
    #[must_use]
    pub fn with_journal(self, dir: &Path) -> Scene<'a> {
        Scene {
            journal: Some(dir.to_owned()),
            ..self
        }
    }

    /// With the CPUs that the jobs will run on.
    #[must_use]
    pub fn with_jobs(self, cpus: &[CpuId]) -> Scene<'a> {
        Scene {
            jobs: cpus.to_owned(),
            ..self
        }
    }

    /// With what q2c itself costs here.
    #[must_use]
    pub fn with_costs(self, costs: ToolCosts) -> Scene<'a> {
        Scene {
            costs: Some(costs),
            ..self
        }
    }

    /// The kernel's version; (0, 0) when it cannot be told.
    pub(super) fn version(&self) -> (u32, u32) {
        machine::kernel_version(&self.machine.kernel).unwrap_or_default()
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

    /// The disk's name and an attribute of its queue.
    pub(super) fn queue(&self, attribute: &str) -> Option<(&str, String)> {
        let disk = &self.leaf.as_ref()?.disk;
        Some((
            &disk.name,
            attr::text(&disk.dir.join("queue").join(attribute))?,
        ))
    }

    /// The disk's folder and those above it up to its bus; of a stacked disk, those of the first one below.
    pub(super) fn device_dirs(&self) -> Vec<PathBuf> {
        let Some(leaf) = &self.leaf else {
            return Vec::new();
        };
        let disk = leaf.below.first().unwrap_or(&leaf.disk);
        let devices = std::fs::canonicalize(self.roots.sys("devices")).unwrap_or_default();
        let inside = disk
            .dir
            .ancestors()
            .take_while(|d| d.starts_with(&devices) && *d != devices);
        inside.map(Path::to_owned).collect()
    }

    /// An attribute of every CPU online that has it.
    pub(super) fn of_cpus(&self, attribute: &str) -> Vec<String> {
        let text = |&cpu: &CpuId| attr::text(&self.roots.cpu(cpu, attribute));
        self.online().iter().filter_map(text).collect()
    }

    /// A command line item of the kernel.
    pub(super) fn command_line(&self, item: &str) -> Option<String> {
        let line = self.proc("cmdline")?;
        let found = line
            .split_whitespace()
            .find_map(|w| w.strip_prefix(item)?.strip_prefix('='));
        found.map(str::to_owned)
    }
}
