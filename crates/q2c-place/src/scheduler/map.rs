//! The map of the machine's cores that tasks are placed on.

use crate::map::{Core, SmtMap};
use q2c_host::Roots;
use q2c_host::tasks::isolated;
use q2c_host::topology::{Topology, TopologyCpu};
use q2c_model::CpuId;

/// The cores whose CPUs are online and not kept from ordinary tasks (`isolcpus=`).
pub fn from_machine(roots: &Roots) -> SmtMap {
    let isolated = isolated(roots);
    from_topology(&Topology::read(roots), |cpu| !isolated.contains(&cpu))
}

/// The cores of a topology, with the CPUs that are `usable`.
pub fn from_topology(topology: &Topology, usable: impl Fn(CpuId) -> bool) -> SmtMap {
    // A core is known by its first CPU, which all its siblings name.
    let is_first = |cpu: &&TopologyCpu| cpu.siblings.first() == Some(&cpu.id);
    let cores = topology.cpus.iter().filter(is_first).map(|cpu| {
        let siblings = cpu.siblings.iter().copied();
        let cpus = siblings.filter(|cpu| usable(*cpu)).collect();
        // Where the cache is not known, the cores of a socket share one.
        let by_socket = u32::MAX - cpu.package.unwrap_or(0);
        let llc = cpu.cache.map_or(by_socket, |first_cpu| first_cpu.0);
        Core { cpus, llc }
    });
    SmtMap::new(&cores.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map::Distance;

    #[test]
    fn cores_with_their_usable_cpus() {
        let cpu = |id: u32| TopologyCpu {
            id: CpuId(id),
            siblings: [id % 4, id % 4 + 4].map(CpuId).to_vec(),
            core: Some(id % 4),
            package: Some(id % 4 / 2),
            node: None,
            cache: (id % 4 < 2).then_some(CpuId(0)),
        };
        let topology = Topology {
            cpus: (0..8).map(cpu).collect(),
            ..Topology::default()
        };
        let map = from_topology(&topology, |cpu| cpu != CpuId(7));
        assert_eq!((map.cores(), map.cpus()), (4, 7));
        let index = |id| map.index(CpuId(id)).expect("a usable CPU");
        assert_eq!(map.distance(index(0), index(4)), Distance::Core);
        assert_eq!(map.distance(index(0), index(1)), Distance::Cache);
        assert_eq!(map.distance(index(0), index(2)), Distance::Machine);
        assert_eq!(map.distance(index(2), index(3)), Distance::Cache);
        assert_eq!(map.index(CpuId(7)), None);
    }
}
