use super::read::{Topology, TopologyCpu};
use crate::cpu_list;
use q2c_model::CpuId;

/// A CPU and its place in the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuPosition {
    /// The CPU's number.
    pub cpu: CpuId,
    /// How many usable CPUs of the same core come before it in the order: 0 for the core's first
    /// CPU, 1 for its SMT sibling.
    pub sibling: u32,
    /// NUMA node; `None` where the kernel does not tell.
    pub node: Option<u32>,
    /// Socket; `None` where the kernel does not tell.
    pub package: Option<u32>,
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

/// The order in which jobs 1, 2, 3 and so on are given CPUs. [`cpu_order`] makes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuOrder {
    /// Every usable CPU once. Job n takes the n-th; beyond the last the order starts again.
    pub cpus: Vec<CpuPosition>,
    /// The order in words.
    pub words: String,
    /// The borders between kinds of CPUs, by ascending number of jobs.
    pub borders: Vec<Border>,
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
) -> CpuOrder {
    let usable = topology.cpus.iter().filter(|c| allowed.contains(&c.id));
    let usable: Vec<&TopologyCpu> = usable.collect();
    let placed = |cpu: &&TopologyCpu| CpuPosition {
        cpu: cpu.id,
        sibling: earlier_siblings(cpu, &usable, first),
        node: cpu.node,
        package: cpu.package,
    };
    let mut cpus: Vec<CpuPosition> = usable.iter().map(placed).collect();
    cpus.sort_by_key(|p| {
        let distance = distance(topology, device_node, p.node);
        let is_later = Some(p.cpu) != first;
        (p.sibling, is_later, distance, p.node, p.package, p.cpu)
    });
    let groups: Vec<&[CpuPosition]> = cpus.chunk_by(same_kind).collect();
    let description = describe(&groups, device_node, topology);
    let borders = borders(&groups, device_node);
    CpuOrder {
        words: description,
        borders,
        cpus,
    }
}

impl CpuOrder {
    /// The CPUs of the first `jobs` jobs; empty when no CPU may be used.
    pub fn first(&self, jobs: usize) -> Vec<CpuId> {
        self.cpus.iter().map(|p| p.cpu).cycle().take(jobs).collect()
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
    match (device_node, node) {
        (None, _) => 0,
        (Some(device), Some(cpu_node)) if device == cpu_node => 0,
        (Some(device), cpu_node) => cpu_node
            .and_then(|cpu_node| topology.distance(device, cpu_node))
            .unwrap_or(u32::MAX),
    }
}

fn same_kind(a: &CpuPosition, b: &CpuPosition) -> bool {
    (a.sibling, a.node, a.package) == (b.sibling, b.node, b.package)
}

/// The order in words: `0-3 (cores of node 0, the device's), then 8-11 (SMT siblings of node 0, the
/// device's)`.
fn describe(groups: &[&[CpuPosition]], device_node: Option<u32>, topology: &Topology) -> String {
    let group = |g: &&[CpuPosition]| {
        let cpus: Vec<CpuId> = g.iter().map(|p| p.cpu).collect();
        format!("{} ({})", cpu_list::show(&cpus), kind(&g[0], device_node))
    };
    let mut parts: Vec<String> = vec![groups.iter().map(group).collect::<Vec<_>>().join(", then ")];
    if device_node.is_none() && topology.nodes.len() > 1 {
        parts.push("the device's node is not known".to_owned());
    }
    if !topology.untold.is_empty() {
        parts.push(format!("not told: {}", topology.untold.join(", ")));
    }
    parts.join("; ")
}

fn kind(place: &CpuPosition, device_node: Option<u32>) -> String {
    let what = match place.sibling {
        0 => "cores",
        _ => "SMT siblings",
    };
    let place_words = match (place.node, place.package) {
        (Some(n), _) if device_node == Some(n) => format!(" of node {n}, the device's"),
        (Some(n), Some(p)) => format!(" of node {n}, socket {p}"),
        (Some(n), None) => format!(" of node {n}"),
        (None, Some(p)) => format!(" of socket {p}"),
        (None, None) => String::new(),
    };
    format!("{what}{place_words}")
}

fn borders(groups: &[&[CpuPosition]], device_node: Option<u32>) -> Vec<Border> {
    let mut jobs = 0;
    let border = |pair: &[&[CpuPosition]]| {
        jobs += pair[0].len() as u32;
        let next = kind(&pair[1][0], device_node);
        Border { jobs, next }
    };
    groups.windows(2).map(border).collect()
}
