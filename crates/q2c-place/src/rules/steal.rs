//! The published rules: which task, and which source.

use super::{Decider, Movable, Rules, RunQueueCounts};
use crate::map::{CoreIndex, CpuIndex, Distance};
use crate::predictor::Class;
use std::cmp::Reverse;

/// A task that moves from a more loaded CPU to a less loaded one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steal {
    /// The CPU s that it leaves.
    pub from: CpuIndex,
    /// The CPU d that takes it.
    pub to: CpuIndex,
    /// The task's class.
    pub class: Class,
}

/// Rule 2: the core that d and its sibling s share is colocated, so d must not take from s. Either
/// s holds only P tasks and d fewer of them, or d holds only P tasks and s none.
fn is_colocated(to: RunQueueCounts, from: RunQueueCounts) -> bool {
    let only_polling = |queue: RunQueueCounts| queue.polling > 0 && queue.compute == 0;
    (only_polling(from) && to.polling < from.polling) || (only_polling(to) && from.polling == 0)
}

impl<M: Movable> Decider<'_, M> {
    /// The task that `to` takes over now; `None` when it has to take none.
    pub fn steal(&self, to: CpuIndex) -> Option<Steal> {
        let map = self.tally.map;
        let load = |cpu: CpuIndex| self.tally.cpus[cpu].load();
        // The only task of a CPU runs; on an idle CPU it would gain nothing.
        let exceeds = |from: &CpuIndex| load(*from) > 1 && load(*from) >= load(to) + self.threshold;
        let mut sources: Vec<CpuIndex> = (0..map.cpus()).filter(exceeds).collect();
        sources.sort_by_key(|&from| (map.distance(to, from), Reverse(load(from)), from));
        sources.into_iter().find_map(|from| {
            let class = self.class_from(to, from)?;
            Some(Steal { from, to, class })
        })
    }

    fn class_from(&self, to: CpuIndex, from: CpuIndex) -> Option<Class> {
        let (target, source) = (self.tally.cpus[to], self.tally.cpus[from]);
        let siblings = self.tally.map.distance(to, from) == Distance::Core;
        if siblings && is_colocated(target, source) {
            return None;
        }
        let has_movable = |class| source.count(class) > 0 && self.movable.may_move(from, to, class);
        let may_come = self.rules == Rules::Literal || siblings || self.evens_out(to, from);
        if may_come && self.takes_polling(to, from) && has_movable(Class::Polling) {
            Some(Class::Polling)
        } else {
            has_movable(Class::Compute).then_some(Class::Compute)
        }
    }

    /// Rule 1: true if `to` (d) takes a P task from `from` (s). P_T / N_P is multiplied out.
    fn takes_polling(&self, to: CpuIndex, from: CpuIndex) -> bool {
        let map = self.tally.map;
        let (to_core, from_core) = (map.core_of(to), map.core_of(from));
        if to_core == from_core {
            return self.tally.cpus[to].polling >= self.tally.cpus[from].polling;
        }
        let polling_on = |core: CoreIndex| u64::from(self.tally.polling_of_core[core]);
        let (cores, polling) = (map.cores() as u64, u64::from(self.tally.polling));
        polling_on(to_core) * cores < polling && polling_on(from_core) * cores > polling
    }

    /// True if a P task that moves between two cores leaves them more even than they were.
    fn evens_out(&self, to: CpuIndex, from: CpuIndex) -> bool {
        let polling = |cpu| self.tally.polling_of_core[self.tally.map.core_of(cpu)];
        polling(from) >= polling(to) + 2
    }
}
