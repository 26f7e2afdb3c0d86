use crate::block::TargetDisk;
use crate::{Roots, attr, cpu_list, machine};
use q2c_model::CpuId;
use std::collections::BTreeMap;

/// One online CPU (hardware thread).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopologyCpu {
    /// The CPU's number.
    pub id: CpuId,
    /// The online CPUs of the same core, itself included, in ascending order; only itself where
    /// sysfs does not tell.
    pub siblings: Vec<CpuId>,
    /// The core's number within its socket; `None` where sysfs does not tell.
    pub core: Option<u32>,
    /// The socket's number; `None` where sysfs does not tell.
    pub package: Option<u32>,
    /// The NUMA node's number; `None` where sysfs does not tell.
    pub node: Option<u32>,
    /// The first CPU of those that share the last-level cache; `None` where sysfs does not tell.
    pub cache: Option<CpuId>,
}

/// One NUMA node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NumaNode {
    /// The node's CPUs, including those offline where the kernel lists them.
    pub cpus: Vec<CpuId>,
    /// Distance to each node in order of node numbers; 10 is the distance to itself. Empty where
    /// sysfs does not tell.
    pub distances: Vec<u32>,
}

/// The machine's CPUs and nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Topology {
    /// The CPUs that are online, in ascending order.
    pub cpus: Vec<TopologyCpu>,
    /// The nodes by number; empty on a kernel without NUMA.
    pub nodes: BTreeMap<u32, NumaNode>,
    /// The facts that sysfs did not tell, in words.
    pub untold: Vec<String>,
}

impl Topology {
    /// Reads the topology. A missing fact is named in `untold`, never guessed.
    pub fn read(roots: &Roots) -> Topology {
        let nodes = nodes(roots);
        let online = machine::online(roots);
        let mut cpus: Vec<TopologyCpu> = online.iter().map(|&id| cpu(roots, id, &nodes)).collect();
        let untold = untold(roots, &cpus);
        for cpu in &mut cpus {
            cpu.siblings.retain(|s| online.contains(s));
            if !cpu.siblings.contains(&cpu.id) {
                cpu.siblings = vec![cpu.id];
            }
        }
        Topology {
            cpus,
            nodes,
            untold,
        }
    }

    /// CPUs that are a core each, on one socket.
    pub fn of_cores(cpus: &[CpuId]) -> Topology {
        let core = |&id: &CpuId| TopologyCpu {
            id,
            siblings: vec![id],
            core: Some(id.0),
            package: Some(0),
            node: None,
            cache: None,
        };
        Topology {
            cpus: cpus.iter().map(core).collect(),
            ..Topology::default()
        }
    }

    /// The CPU with this number; `None` when it is not online.
    pub fn cpu(&self, id: CpuId) -> Option<&TopologyCpu> {
        self.cpus.iter().find(|c| c.id == id)
    }

    /// Distance between two nodes; `None` where sysfs does not tell.
    pub(crate) fn distance(&self, from: u32, to: u32) -> Option<u32> {
        let at = self.nodes.keys().position(|&n| n == to)?;
        self.nodes.get(&from)?.distances.get(at).copied()
    }
}

/// The NUMA node of a disk: that of its nearest ancestor in sysfs with a node. For a stacked disk
/// it is the node that all disks below share. `None` for virtual devices, disks on different nodes,
/// and firmware that does not tell (-1).
pub fn device_node(roots: &Roots, target_disk: &TargetDisk) -> Option<u32> {
    let disks = target_disk.disks();
    let devices = std::fs::canonicalize(roots.sys("devices")).ok()?;
    let node = |dir: &std::path::Path| {
        let mut ancestors = dir.ancestors().take_while(|d| d.starts_with(&devices));
        let number = ancestors.find_map(|d| attr::value::<i64>(&d.join("numa_node")));
        number.and_then(|n| u32::try_from(n).ok())
    };
    let first = node(&disks.first()?.dir)?;
    let is_one = disks.iter().all(|d| node(&d.dir) == Some(first));
    is_one.then_some(first)
}

fn nodes(roots: &Roots) -> BTreeMap<u32, NumaNode> {
    let read = |dir: &std::path::PathBuf| {
        let number = attr::name(dir).strip_prefix("node")?.parse().ok()?;
        let distances = attr::text(&dir.join("distance")).unwrap_or_default();
        let distances = distances.split_whitespace();
        let list = attr::text(&dir.join("cpulist")).unwrap_or_default();
        let node = NumaNode {
            cpus: cpu_list::parse(&list)?,
            distances: distances.filter_map(|d| d.parse().ok()).collect(),
        };
        Some((number, node))
    };
    let dirs = attr::entries(&roots.sys("devices/system/node"));
    dirs.iter().filter_map(read).collect()
}

fn cpu(roots: &Roots, id: CpuId, nodes: &BTreeMap<u32, NumaNode>) -> TopologyCpu {
    let file = |name: &str| roots.cpu(id, &format!("topology/{name}"));
    // core_cpus_list exists since Linux 5.2; the older name is still there beside it.
    let list =
        attr::text(&file("core_cpus_list")).or_else(|| attr::text(&file("thread_siblings_list")));
    let number = |name| attr::value::<i64>(&file(name)).and_then(|n| u32::try_from(n).ok());
    let node = nodes.iter().find(|(_, node)| node.cpus.contains(&id));
    TopologyCpu {
        id,
        siblings: list.and_then(|t| cpu_list::parse(&t)).unwrap_or_default(),
        core: number("core_id"),
        package: number("physical_package_id"),
        node: node.map(|(&number, _)| number),
        cache: last_level_cache(roots, id),
    }
}

fn last_level_cache(roots: &Roots, id: CpuId) -> Option<CpuId> {
    let level = |dir: &std::path::PathBuf| {
        let level: u32 = attr::value(&dir.join("level"))?;
        let shared = cpu_list::parse(&attr::text(&dir.join("shared_cpu_list"))?)?;
        Some((level, *shared.first()?))
    };
    let dirs = attr::entries(&roots.cpu(id, "cache"));
    let levels = dirs.iter().filter_map(level);
    let (_, first) = levels.max_by_key(|(level, _)| *level)?;
    Some(first)
}

fn untold(roots: &Roots, cpus: &[TopologyCpu]) -> Vec<String> {
    let without = |missing: fn(&TopologyCpu) -> bool, fact: &str| {
        let ids: Vec<CpuId> = cpus.iter().filter(|c| missing(c)).map(|c| c.id).collect();
        (!ids.is_empty()).then(|| format!("{fact} of CPUs {}", cpu_list::show(&ids)))
    };
    let online = roots.sys("devices/system/cpu/online");
    let none = || format!("which CPUs are online ({})", online.display());
    let parts = [
        cpus.is_empty().then(none),
        without(|c| c.siblings.is_empty(), "SMT siblings"),
        without(|c| c.package.is_none(), "socket"),
        without(|c| c.node.is_none(), "NUMA node"),
    ];
    parts.into_iter().flatten().collect()
}
