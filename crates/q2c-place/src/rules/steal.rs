//! The published rules: which task, and which source.

use super::tally::{RunQueueCounts, Tally};
use super::{Movable, Rules};
use crate::map::{CpuIndex, Distance};
use crate::predictor::Class;
use std::cmp::Reverse;

/// The number of tasks by which another CPU's load must exceed a CPU's own for a steal.
const THRESHOLD: u32 = 2;

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

/// Rule 1 for two CPUs of the same core: P_d and P_s.
fn within_core(to: RunQueueCounts, from: RunQueueCounts) -> bool {
    to.polling >= from.polling
}

/// Rule 1 for CPUs of different cores: P_D, P_S, P_T and N_P; P_T / N_P is multiplied out.
fn between_cores(to_core: u32, from_core: u32, polling: u32, cores: u64) -> bool {
    let below = u64::from(to_core) * cores < u64::from(polling);
    below && u64::from(from_core) * cores > u64::from(polling)
}

/// Rule 1: the class of the task that `to` (d) takes from `from` (s).
#[must_use]
pub(crate) fn which_task(tally: &Tally<'_>, to: CpuIndex, from: CpuIndex) -> Class {
    let map = tally.map();
    let (to_core, from_core) = (map.core_of(to), map.core_of(from));
    let polls = if to_core == from_core {
        within_core(tally.counts_on(to), tally.counts_on(from))
    } else {
        let (to, from) = (tally.polling_of(to_core), tally.polling_of(from_core));
        between_cores(to, from, tally.polling(), map.cores() as u64)
    };
    Class::from_polling(polls)
}

/// Rule 2: the core that d and its sibling s share is colocated, so d must not take from s. Either
/// s holds only P tasks and d fewer of them, or d holds only P tasks and s none.
#[must_use]
pub(crate) fn colocated(to: RunQueueCounts, from: RunQueueCounts) -> bool {
    let only_polling = |queue: RunQueueCounts| queue.polling > 0 && queue.compute == 0;
    (only_polling(from) && to.polling < from.polling) || (only_polling(to) && from.polling == 0)
}

/// The task that `to` takes over now; `None` when it has to take none.
#[must_use]
pub fn steal(
    tally: &Tally<'_>,
    to: CpuIndex,
    rules: Rules,
    movable: &impl Movable,
) -> Option<Steal> {
    let own_load = tally.counts_on(to).load();
    let loaded = |from: &CpuIndex| tally.counts_on(*from).load() >= own_load + THRESHOLD;
    let mut sources: Vec<CpuIndex> = (0..tally.map().cpus()).filter(loaded).collect();
    sources.sort_by_key(|&from| {
        let distance = tally.map().distance(to, from);
        (distance, Reverse(tally.counts_on(from).load()), from)
    });
    sources.into_iter().find_map(|from| {
        let class = class_from(tally, to, from, rules, movable)?;
        Some(Steal { from, to, class })
    })
}

fn class_from(
    tally: &Tally<'_>,
    to: CpuIndex,
    from: CpuIndex,
    rules: Rules,
    movable: &impl Movable,
) -> Option<Class> {
    let siblings = tally.map().distance(to, from) == Distance::Core;
    if siblings && colocated(tally.counts_on(to), tally.counts_on(from)) {
        return None;
    }
    let there = |class| tally.counts_on(from).count(class) > 0 && movable.may_move(from, to, class);
    let mut wanted = which_task(tally, to, from);
    if rules.swap.is_some() && !siblings && !evens_out(tally, to, from) {
        wanted = Class::Compute;
    }
    match wanted {
        Class::Polling if there(Class::Polling) => Some(Class::Polling),
        _ => there(Class::Compute).then_some(Class::Compute),
    }
}

/// Whether a P task that moves from one core to another leaves the two more even than they were.
fn evens_out(tally: &Tally<'_>, to: CpuIndex, from: CpuIndex) -> bool {
    let polling = |cpu| tally.polling_of(tally.map().core_of(cpu));
    polling(from) >= polling(to) + 2
}
