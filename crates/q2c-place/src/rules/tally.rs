//! How many tasks of each class every run queue has.

use crate::map::{CpuIndex, SmtMap};
use crate::predictor::Class;

/// The tasks of a run queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunQueueCounts {
    /// C tasks.
    pub compute: u32,
    /// P tasks.
    pub polling: u32,
}

impl RunQueueCounts {
    /// All tasks.
    pub(crate) fn load(self) -> u32 {
        self.compute + self.polling
    }

    pub(crate) fn count(mut self, class: Class) -> u32 {
        *self.count_mut(class)
    }

    /// A letter for each task, such as `PPC`.
    pub(crate) fn letters(self) -> String {
        "P".repeat(self.polling as usize) + &"C".repeat(self.compute as usize)
    }

    fn count_mut(&mut self, class: Class) -> &mut u32 {
        match class {
            Class::Compute => &mut self.compute,
            Class::Polling => &mut self.polling,
        }
    }
}

/// The tasks of all run queues, with the sums that the rules ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tally<'a> {
    pub(crate) map: &'a SmtMap,
    /// The tasks of every CPU.
    pub(crate) cpus: Vec<RunQueueCounts>,
    /// P tasks of each core: P_D or P_S.
    pub(crate) polling_of_core: Vec<u32>,
    pub(crate) load_of_core: Vec<u32>,
    /// All tasks on the cores of each last-level cache.
    pub(crate) load_of_cache: Vec<u32>,
    /// All P tasks, P_T.
    pub(crate) polling: u32,
}

impl<'a> Tally<'a> {
    pub(crate) fn new(map: &'a SmtMap) -> Self {
        Tally {
            map,
            cpus: vec![RunQueueCounts::default(); map.cpus()],
            polling_of_core: vec![0; map.cores()],
            load_of_core: vec![0; map.cores()],
            load_of_cache: vec![0; map.caches()],
            polling: 0,
        }
    }

    /// These run queues, in the order of the map's CPUs.
    pub fn from_counts(map: &'a SmtMap, counts: &[RunQueueCounts]) -> Self {
        let mut tally = Tally::new(map);
        for (cpu, counts) in counts.iter().enumerate().take(map.cpus()) {
            tally.change_counts(cpu, Class::Compute, |count| *count += counts.compute);
            tally.change_counts(cpu, Class::Polling, |count| *count += counts.polling);
        }
        tally
    }

    /// A task came to a CPU: it was created, woke up, or changed its class to this one.
    pub(crate) fn add(&mut self, cpu: CpuIndex, class: Class) {
        self.change_counts(cpu, class, |count| *count += 1);
    }

    /// A task left a CPU: it ended, went to sleep, or changed its class from this one.
    pub(crate) fn remove(&mut self, cpu: CpuIndex, class: Class) {
        self.change_counts(cpu, class, |count| *count -= 1);
    }

    /// A task moved from one CPU to another.
    pub(crate) fn shift(&mut self, from: CpuIndex, to: CpuIndex, class: Class) {
        self.remove(from, class);
        self.add(to, class);
    }

    fn change_counts(&mut self, cpu: CpuIndex, class: Class, change: impl Fn(&mut u32)) {
        let core = self.map.core_of(cpu);
        change(self.cpus[cpu].count_mut(class));
        change(&mut self.load_of_core[core]);
        change(&mut self.load_of_cache[self.map.cache_of(core)]);
        if class == Class::Polling {
            change(&mut self.polling_of_core[core]);
            change(&mut self.polling);
        }
    }
}
