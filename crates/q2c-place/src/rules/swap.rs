//! The swap step, which is q2c's own, acts where loads are equal and the published rules move no
//! task. It makes P tasks even over the cores, and gathers those of a core on one of its CPUs.
//!
//! Two CPUs exchange a P task for a C task, so their loads stay as they are. Where the other CPU
//! has no C task to give, the P task moves alone.

use super::{Decider, Movable, Rules};
use crate::map::{CoreIndex, CpuIndex};
use crate::predictor::Class;
use std::cmp::Reverse;
use std::iter::once;

/// The reason of a swap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SwapReason {
    /// One core has two P tasks more than another, or even more.
    Scatter,
    /// More than one CPU of the core has P tasks.
    Colocate,
}

/// A P task that moves, and the C task that takes its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Swap {
    /// The CPU that the P task leaves.
    pub from: CpuIndex,
    /// The CPU that it comes to.
    pub to: CpuIndex,
    /// The CPU whose C task moves to `from`; `None` when there is none to move.
    pub back: Option<CpuIndex>,
    /// The reason.
    pub reason: SwapReason,
}

impl<M: Movable> Decider<'_, M> {
    /// The next swap; `None` when P tasks are even over cores and on one CPU of each, or must stay.
    pub(crate) fn swap(&self) -> Option<Swap> {
        if self.rules == Rules::Literal {
            return None;
        }
        let by_polling = self.cores_by_polling();
        let scattered = by_polling.iter().find_map(|&from| {
            let poorest_first = by_polling.iter().rev().copied();
            let mut poorer = poorest_first.take_while(|&to| self.is_uneven(from, to));
            poorer.find_map(|to| self.scatter(from, to))
        });
        scattered.or_else(|| (0..self.tally.map.cores()).find_map(|core| self.gather(core)))
    }

    /// The next swap for a CPU of `core`: a P task from another core, or gathering of its own.
    pub fn swap_for_core(&self, core: CoreIndex) -> Option<Swap> {
        if self.rules == Rules::Literal {
            return None;
        }
        let by_polling = self.cores_by_polling().into_iter();
        let mut richer = by_polling.take_while(|&other| self.is_uneven(other, core));
        let scattered = richer.find_map(|from| self.scatter(from, core));
        scattered.or_else(|| self.gather(core))
    }

    /// The cores, those with most P tasks first.
    fn cores_by_polling(&self) -> Vec<CoreIndex> {
        let mut cores: Vec<CoreIndex> = (0..self.tally.map.cores()).collect();
        cores.sort_by_key(|&core| (Reverse(self.tally.polling_of_core[core]), core));
        cores
    }

    fn is_uneven(&self, richer: CoreIndex, poorer: CoreIndex) -> bool {
        let polling = &self.tally.polling_of_core;
        polling[richer] >= polling[poorer] + 2
    }

    fn scatter(&self, from: CoreIndex, to: CoreIndex) -> Option<Swap> {
        let (map, counts) = (self.tally.map, &self.tally.cpus);
        let mut sources: Vec<CpuIndex> = map.cpus_of(from).to_vec();
        sources.retain(|&cpu| counts[cpu].polling > 0);
        sources.sort_by_key(|&cpu| (counts[cpu].polling, Reverse(cpu)));
        let mut targets: Vec<CpuIndex> = map.cpus_of(to).to_vec();
        targets.sort_by_key(|&cpu| (Reverse(counts[cpu].polling), counts[cpu].load(), cpu));
        let targets_of = |&from: &CpuIndex| targets.iter().map(move |&to| (from, to));
        self.exchange(sources.iter().flat_map(targets_of), SwapReason::Scatter)
    }

    fn gather(&self, core: CoreIndex) -> Option<Swap> {
        let counts = &self.tally.cpus;
        let mut cpus: Vec<CpuIndex> = self.tally.map.cpus_of(core).to_vec();
        cpus.retain(|&cpu| counts[cpu].polling > 0);
        cpus.sort_by_key(|&cpu| (Reverse(counts[cpu].polling), cpu));
        let (&main_cpu, others) = cpus.split_first()?;
        let pairs = others.iter().rev().map(|&from| (from, main_cpu));
        let swap = self.exchange(pairs, SwapReason::Colocate)?;
        let may_idle = self.rules == Rules::WithSwap || counts[swap.from].load() > 1;
        (may_idle || swap.back.is_some() || self.is_wanted(swap.from)).then_some(swap)
    }

    /// True if some C task that shares its CPU with other tasks may move to `cpu`.
    fn is_wanted(&self, cpu: CpuIndex) -> bool {
        (0..self.tally.map.cpus()).any(|other| {
            let counts = self.tally.cpus[other];
            let shares = other != cpu && counts.compute > 0 && counts.load() > 1;
            shares && self.movable.may_move(other, cpu, Class::Compute)
        })
    }

    fn exchange(
        &self,
        mut pairs: impl Iterator<Item = (CpuIndex, CpuIndex)>,
        reason: SwapReason,
    ) -> Option<Swap> {
        let may_move = |from, to, class| self.movable.may_move(from, to, class);
        let (from, to) = pairs.find(|&(from, to)| may_move(from, to, Class::Polling))?;
        let map = self.tally.map;
        let siblings = map.cpus_of(map.core_of(to)).iter().copied();
        let mut givers = once(to).chain(siblings.filter(|&cpu| cpu != to && cpu != from));
        let has_compute_task = |&cpu: &CpuIndex| {
            self.tally.cpus[cpu].compute > 0 && may_move(cpu, from, Class::Compute)
        };
        let back = givers.find(has_compute_task);
        Some(Swap {
            from,
            to,
            back,
            reason,
        })
    }
}
