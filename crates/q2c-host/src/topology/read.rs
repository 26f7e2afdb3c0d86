use super::ChosenCpus;
use crate::block::TargetDisk;
use crate::{Roots, attr, cpu_list, machine};
use itertools::Itertools;
use q2c_model::CpuId;
use q2c_service::SimMachine;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// One online CPU (hardware thread).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TopologyCpu {
    /// The CPU's number.
    pub id: CpuId,
    /// The online CPUs of the same core, itself included, in ascending order; only itself where
    /// sysfs does not show them.
    pub siblings: Vec<CpuId>,
    /// The core's number within its socket; `None` where sysfs does not show it.
    pub core: Option<u32>,
    /// The socket's number; `None` where sysfs does not show it.
    pub package: Option<u32>,
    /// The NUMA node's number; `None` where sysfs does not show it.
    pub node: Option<u32>,
    /// The first of the CPUs that share the last-level cache; `None` where sysfs does not show it.
    pub cache: Option<CpuId>,
}

/// One NUMA node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NumaNode {
    /// The node's CPUs, including those offline where the kernel lists them.
    pub cpus: Vec<CpuId>,
    /// Distance to each node in order of node numbers; 10 is the distance to itself. Empty where
    /// sysfs does not show it.
    pub distances: Vec<u32>,
}

/// The machine's CPUs and nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Topology {
    /// The CPUs that are online, in ascending order.
    pub cpus: Vec<TopologyCpu>,
    /// The nodes by number; empty on a kernel without NUMA.
    pub nodes: BTreeMap<u32, NumaNode>,
    /// Facts that are missing in sysfs, in words.
    pub missing_facts: Vec<String>,
}

impl Topology {
    /// Reads the topology. A missing fact is named in `missing_facts`, never guessed.
    pub fn read(roots: &Roots) -> Topology {
        let nodes = nodes(roots);
        let online = machine::online(roots);
        let mut cpus: Vec<TopologyCpu> = online.iter().map(|&id| cpu(roots, id, &nodes)).collect();
        let missing_facts = missing_facts(roots, &cpus);
        for cpu in &mut cpus {
            cpu.siblings.retain(|s| online.contains(s));
            if !cpu.siblings.contains(&cpu.id) {
                cpu.siblings = vec![cpu.id];
            }
        }
        Topology {
            cpus,
            nodes,
            missing_facts,
        }
    }

    /// The topology of a simulated machine, each of whose nodes is a socket.
    pub fn simulated(machine: &SimMachine) -> Topology {
        let all_cpus = || (0..machine.cpus()).map(CpuId);
        let cpu = |id: CpuId| TopologyCpu {
            id,
            siblings: all_cpus()
                .skip(machine.core_of(id.0) as usize)
                .step_by(machine.cores as usize)
                .collect(),
            core: Some(machine.core_of(id.0)),
            package: Some(machine.node_of(id.0)),
            node: Some(machine.node_of(id.0)),
            cache: None,
        };
        let node = |number: u32| NumaNode {
            cpus: all_cpus()
                .filter(|cpu| machine.node_of(cpu.0) == number)
                .collect(),
            distances: (0..machine.nodes)
                .map(|other| if other == number { 10 } else { 20 })
                .collect(),
        };
        Topology {
            cpus: all_cpus().map(cpu).collect(),
            nodes: (0..machine.nodes)
                .map(|number| (number, node(number)))
                .collect(),
            ..Topology::default()
        }
    }

    /// The CPU with this number; `None` when it is not online.
    pub fn cpu(&self, id: CpuId) -> Option<&TopologyCpu> {
        self.cpus.iter().find(|c| c.id == id)
    }

    /// Distance between two nodes; `None` where sysfs does not show it.
    pub(crate) fn distance(&self, from: u32, to: u32) -> Option<u32> {
        let index = self.nodes.keys().position(|&n| n == to)?;
        self.nodes.get(&from)?.distances.get(index).copied()
    }
}

/// The NUMA node of a disk: that of its nearest ancestor in sysfs with a node. For a stacked disk
/// it is the node that all disks below share. `None` for virtual devices, disks on different nodes,
/// and firmware that reports no node (-1).
pub fn device_node(roots: &Roots, target_disk: &TargetDisk) -> Option<u32> {
    let disks = target_disk.disks();
    let devices = std::fs::canonicalize(roots.sys("devices")).ok()?;
    let node = |dir: &std::path::Path| {
        let mut ancestors = dir.ancestors().take_while(|d| d.starts_with(&devices));
        let number = ancestors.find_map(|d| attr::value::<i64>(&d.join("numa_node")));
        number.and_then(|n| u32::try_from(n).ok())
    };
    let first_node = node(&disks.first()?.dir)?;
    let is_shared = disks.iter().all(|d| node(&d.dir) == Some(first_node));
    is_shared.then_some(first_node)
}

fn nodes(roots: &Roots) -> BTreeMap<u32, NumaNode> {
    let read = |dir: &PathBuf| {
        let number = attr::name(dir).strip_prefix("node")?.parse().ok()?;
        let distances = attr::text(&dir.join("distance")).unwrap_or_default();
        let distances = distances.split_whitespace();
        let list = attr::text(&dir.join("cpulist")).unwrap_or_default();
        let cpus = cpu_list::parse(&list)?;
        let distances = distances.filter_map(|d| d.parse().ok()).collect();
        Some((number, NumaNode { cpus, distances }))
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
    let level = |dir: &PathBuf| {
        let level: u32 = attr::value(&dir.join("level"))?;
        Some((level, *attr::cpus(&dir.join("shared_cpu_list"))?.first()?))
    };
    let dirs = attr::entries(&roots.cpu(id, "cache"));
    let levels = dirs.iter().filter_map(level);
    let (_, first) = levels.max_by_key(|(level, _)| *level)?;
    Some(first)
}

fn missing_facts(roots: &Roots, cpus: &[TopologyCpu]) -> Vec<String> {
    let without = |missing: fn(&TopologyCpu) -> bool, fact: &str| {
        let ids: Vec<CpuId> = cpus.iter().filter(|c| missing(c)).map(|c| c.id).collect();
        (!ids.is_empty()).then(|| format!("{fact} of CPUs {}", cpu_list::show(&ids)))
    };
    let online = roots.sys("devices/system/cpu/online");
    let no_cpus = || format!("which CPUs are online ({})", online.display());
    let facts = [
        cpus.is_empty().then(no_cpus),
        without(|c| c.siblings.is_empty(), "SMT siblings"),
        without(|c| c.package.is_none(), "socket"),
        without(|c| c.node.is_none(), "NUMA node"),
    ];
    facts.into_iter().flatten().collect()
}

/// A usable CPU, and how many usable CPUs of the same core come before it in the order: 0 for the
/// core's first CPU, 1 for its SMT sibling.
struct CpuPlace<'a> {
    cpu: &'a TopologyCpu,
    sibling: u32,
}

/// A number of jobs after which the next job's CPU is of another kind (sibling, node or socket). A
/// curve over the number of jobs may have a step there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Border {
    /// The largest number of jobs before the border.
    pub jobs: u32,
    /// The kind of the CPUs after the border, in words: `SMT siblings of node 0`.
    pub next: String,
}

/// Orders the CPUs that are online and `allowed`: every core comes before any SMT sibling. Within
/// the cores, and within the siblings, those of the device's node come first, then those of the
/// other nodes by distance from it; then sockets and CPU numbers decide. A CPU whose sibling is not
/// allowed counts as a core. The CPU `first`, if there is one, comes before all others, and counts
/// as the first of its core.
pub fn cpu_order(
    topology: &Topology,
    device_node: Option<u32>,
    allowed: &[CpuId],
    first: Option<CpuId>,
) -> ChosenCpus {
    let usable = topology.cpus.iter().filter(|c| allowed.contains(&c.id));
    let usable: Vec<&TopologyCpu> = usable.collect();
    let sibling = |cpu| earlier_siblings(cpu, &usable, first);
    let places = usable.iter().map(|&cpu| CpuPlace {
        cpu,
        sibling: sibling(cpu),
    });
    let mut places: Vec<CpuPlace> = places.collect();
    places.sort_by_key(|CpuPlace { cpu, sibling }| {
        let distance = distance(topology, device_node, cpu.node);
        let is_later = Some(cpu.id) != first;
        (*sibling, is_later, distance, cpu.node, cpu.package, cpu.id)
    });
    let groups: Vec<&[CpuPlace]> = places.chunk_by(same_kind).collect();
    ChosenCpus {
        words: describe(&groups, device_node, topology),
        borders: borders(&groups, device_node),
        cpus: places.iter().map(|place| place.cpu.id).collect(),
    }
}

fn earlier_siblings(cpu: &TopologyCpu, usable: &[&TopologyCpu], first: Option<CpuId>) -> u32 {
    let place = |id: CpuId| (Some(id) != first, id);
    let earlier = |other: CpuId| place(other) < place(cpu.id);
    let shares = |other: &&&TopologyCpu| earlier(other.id) && cpu.siblings.contains(&other.id);
    usable.iter().filter(shares).count() as u32
}

/// The distance of `node` from the device's node, with 0 for that node itself. When the device's
/// node is not known, all nodes have 0.
fn distance(topology: &Topology, device_node: Option<u32>, node: Option<u32>) -> u32 {
    if device_node.is_none() || device_node == node {
        return 0;
    }
    let distance = |(device, node)| topology.distance(device, node);
    device_node.zip(node).and_then(distance).unwrap_or(u32::MAX)
}

fn same_kind(a: &CpuPlace, b: &CpuPlace) -> bool {
    let key = |place: &CpuPlace| (place.sibling, place.cpu.node, place.cpu.package);
    key(a) == key(b)
}

/// The order in words: `0-3 (cores of node 0, the device's), then 8-11 (SMT siblings of node 0, the
/// device's)`.
fn describe(groups: &[&[CpuPlace]], device_node: Option<u32>, topology: &Topology) -> String {
    let group = |g: &&[CpuPlace]| {
        let cpus: Vec<CpuId> = g.iter().map(|place| place.cpu.id).collect();
        format!("{} ({})", cpu_list::show(&cpus), kind(&g[0], device_node))
    };
    let mut parts: Vec<String> = vec![groups.iter().map(group).join(", then ")];
    if device_node.is_none() && topology.nodes.len() > 1 {
        parts.push("the device's node is not known".to_owned());
    }
    if !topology.missing_facts.is_empty() {
        parts.push(format!("not told: {}", topology.missing_facts.join(", ")));
    }
    parts.join("; ")
}

fn kind(place: &CpuPlace, device_node: Option<u32>) -> String {
    let is_core = place.sibling == 0;
    let kind_name = if is_core { "cores" } else { "SMT siblings" };
    let place_words = match (place.cpu.node, place.cpu.package) {
        (Some(n), _) if device_node == Some(n) => format!(" of node {n}, the device's"),
        (Some(n), Some(p)) => format!(" of node {n}, socket {p}"),
        (Some(n), None) => format!(" of node {n}"),
        (None, Some(p)) => format!(" of socket {p}"),
        (None, None) => String::new(),
    };
    format!("{kind_name}{place_words}")
}

fn borders(groups: &[&[CpuPlace]], device_node: Option<u32>) -> Vec<Border> {
    let mut jobs = 0;
    let border = |pair: &[&[CpuPlace]]| {
        jobs += pair[0].len() as u32;
        let next = kind(&pair[1][0], device_node);
        Border { jobs, next }
    };
    groups.windows(2).map(border).collect()
}
