//! The logical CPUs of a machine, by physical core and last-level cache.

use q2c_model::CpuId;

/// A physical core.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Core {
    /// Its logical CPUs that tasks may be placed on.
    pub cpus: Vec<CpuId>,
    /// The number of its last-level cache; numbers may have gaps.
    pub llc: u32,
}

/// A logical CPU, as an index into the map: CPU numbers of a machine have gaps.
pub type CpuIndex = usize;
/// A physical core, as an index into the map.
pub type CoreIndex = usize;

/// How far apart two logical CPUs are; the nearest comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Distance {
    /// They share a physical core.
    Core,
    /// They share the last-level cache.
    Cache,
    /// They share neither.
    Machine,
}

/// The logical CPUs that tasks are placed on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SmtMap {
    ids: Vec<CpuId>,
    core_of: Vec<CoreIndex>,
    cores: Vec<Vec<CpuIndex>>,
    caches: Vec<u32>,
    cache_of: Vec<usize>,
    /// For each core, its number of CPUs, and that of its last-level cache.
    cpus_within: Vec<[usize; 2]>,
}

impl SmtMap {
    /// The map of these cores. A core without CPUs is left out.
    pub(crate) fn new(cores: &[Core]) -> Self {
        let mut map = SmtMap::default();
        for core in cores.iter().filter(|core| !core.cpus.is_empty()) {
            let first = map.ids.len();
            map.ids.extend(&core.cpus);
            let number = map.cores.len();
            map.core_of.extend(core.cpus.iter().map(|_| number));
            map.cores.push((first..map.ids.len()).collect());
            let known = map.caches.iter().position(|llc| *llc == core.llc);
            map.cache_of.push(known.unwrap_or(map.caches.len()));
            if known.is_none() {
                map.caches.push(core.llc);
            }
        }
        let mut cache_cpus = vec![0; map.caches.len()];
        for (cpus, cache) in map.cores.iter().zip(&map.cache_of) {
            cache_cpus[*cache] += cpus.len();
        }
        let cores = map.cores.iter().zip(&map.cache_of);
        let within = cores.map(|(cpus, cache)| [cpus.len(), cache_cpus[*cache]]);
        map.cpus_within = within.collect();
        map
    }

    /// A machine of equal cores, whose threads have consecutive numbers. Each last-level cache
    /// serves the same number of cores, except perhaps the last one.
    pub fn regular(cores: usize, threads: usize, llcs: usize) -> Self {
        let per_cache = cores.div_ceil(llcs.max(1)).max(1);
        let number = |n: usize, t| CpuId((n * threads + t) as u32);
        let core = |n: usize| Core {
            cpus: (0..threads).map(|t| number(n, t)).collect(),
            llc: (n / per_cache) as u32,
        };
        SmtMap::new(&(0..cores).map(core).collect::<Vec<_>>())
    }

    /// Number of logical CPUs.
    pub fn cpus(&self) -> usize {
        self.ids.len()
    }

    /// Number of physical cores, N_P.
    pub fn cores(&self) -> usize {
        self.cores.len()
    }

    /// The CPU's number in the machine.
    pub fn id(&self, cpu: CpuIndex) -> CpuId {
        self.ids[cpu]
    }

    /// The index of a CPU; `None` where no task may be placed on it.
    pub(crate) fn index(&self, id: CpuId) -> Option<CpuIndex> {
        self.ids.iter().position(|other| *other == id)
    }

    pub(crate) fn core_of(&self, cpu: CpuIndex) -> CoreIndex {
        self.core_of[cpu]
    }

    pub(crate) fn cpus_of(&self, core: CoreIndex) -> &[CpuIndex] {
        &self.cores[core]
    }

    pub(crate) fn caches(&self) -> usize {
        self.caches.len()
    }

    /// The last-level cache of a core, as an index.
    pub(crate) fn cache_of(&self, core: CoreIndex) -> usize {
        self.cache_of[core]
    }

    /// The number of CPUs within a distance of a CPU, itself included.
    pub(crate) fn cpus_within(&self, cpu: CpuIndex, distance: Distance) -> usize {
        let [core, cache] = self.cpus_within[self.core_of[cpu]];
        match distance {
            Distance::Core => core,
            Distance::Cache => cache,
            Distance::Machine => self.cpus(),
        }
    }

    pub(crate) fn distance(&self, a: CpuIndex, b: CpuIndex) -> Distance {
        let (a, b) = (self.core_of[a], self.core_of[b]);
        if a == b {
            Distance::Core
        } else if self.cache_of[a] == self.cache_of[b] {
            Distance::Cache
        } else {
            Distance::Machine
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_regular_machine_has_its_cores_siblings_and_caches() {
        let map = SmtMap::regular(4, 2, 2);
        assert_eq!((map.cpus(), map.cores()), (8, 4));
        assert_eq!(map.distance(0, 1), Distance::Core);
        assert_eq!(map.distance(0, 2), Distance::Cache);
        assert_eq!(map.distance(3, 4), Distance::Machine);
        assert_eq!(map.cpus_of(3), [6, 7]);
        let within = [Distance::Core, Distance::Cache, Distance::Machine];
        assert_eq!(within.map(|level| map.cpus_within(5, level)), [2, 4, 8]);
    }

    #[test]
    fn numbers_may_have_gaps_and_empty_cores_are_left_out() {
        let core = |cpus: &[u32], llc| Core {
            cpus: cpus.iter().copied().map(CpuId).collect(),
            llc,
        };
        let map = SmtMap::new(&[core(&[0, 64], 0), core(&[], 0), core(&[3, 67], 1)]);
        assert_eq!((map.cpus(), map.cores()), (4, 2));
        assert_eq!(map.index(CpuId(67)), Some(3));
        assert_eq!(map.index(CpuId(1)), None);
        assert_eq!(map.id(2), CpuId(3));
        assert_eq!(map.distance(1, 2), Distance::Machine);
    }
}
