//! The swap step, which is ours: it makes P tasks even over the cores, and gathers those of a core
//! on one of its CPUs, where loads are equal and the published rules therefore rest.
//!
//! Two CPUs exchange a P task for a C task, so their loads stay as they are. Where the other CPU
//! has no C task to give, the P task moves alone.

use super::tally::Tally;
use super::{Movable, SwapStep};
use crate::map::{CoreIndex, CpuIndex};
use crate::predictor::Class;
use std::cmp::Reverse;

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
    pub why: SwapReason,
}

/// The next swap; `None` when P tasks are even over cores and on one side of each, if they may.
#[must_use]
pub(crate) fn swap(tally: &Tally<'_>, step: SwapStep, movable: &impl Movable) -> Option<Swap> {
    let mut by_polling: Vec<CoreIndex> = (0..tally.map().cores()).collect();
    by_polling.sort_by_key(|&core| (Reverse(tally.polling_of(core)), core));
    let scattered = by_polling.iter().find_map(|&from| {
        let to = by_polling.iter().rev();
        let fewer = to.take_while(|&&to| tally.polling_of(to) + 2 <= tally.polling_of(from));
        fewer
            .copied()
            .find_map(|to| scatter(tally, from, to, movable))
    });
    scattered
        .or_else(|| (0..tally.map().cores()).find_map(|core| gather(tally, core, step, movable)))
}

/// A CPU that balances takes a P task from another core, or gathers those of its own.
#[must_use]
pub fn swap_at(
    tally: &Tally<'_>,
    core: CoreIndex,
    step: SwapStep,
    movable: &impl Movable,
) -> Option<Swap> {
    let own_polling = tally.polling_of(core);
    let mut richer: Vec<CoreIndex> = (0..tally.map().cores())
        .filter(|&other| tally.polling_of(other) >= own_polling + 2)
        .collect();
    richer.sort_by_key(|&other| (Reverse(tally.polling_of(other)), other));
    let mut richer = richer.into_iter();
    let scattered = richer.find_map(|from| scatter(tally, from, core, movable));
    scattered.or_else(|| gather(tally, core, step, movable))
}

fn scatter(
    tally: &Tally<'_>,
    from_core: CoreIndex,
    to_core: CoreIndex,
    movable: &impl Movable,
) -> Option<Swap> {
    let map = tally.map();
    let mut sources: Vec<CpuIndex> = map.cpus_of(from_core).to_vec();
    sources.retain(|&cpu| tally.counts_on(cpu).polling > 0);
    sources.sort_by_key(|&cpu| (tally.counts_on(cpu).polling, Reverse(cpu)));
    let mut targets: Vec<CpuIndex> = map.cpus_of(to_core).to_vec();
    targets.sort_by_key(|&cpu| {
        (
            Reverse(tally.counts_on(cpu).polling),
            tally.counts_on(cpu).load(),
            cpu,
        )
    });
    let pairs = sources
        .iter()
        .flat_map(|&from| targets.iter().map(move |&to| (from, to)));
    exchange(tally, pairs, SwapReason::Scatter, movable)
}

fn gather(
    tally: &Tally<'_>,
    core: CoreIndex,
    step: SwapStep,
    movable: &impl Movable,
) -> Option<Swap> {
    let mut sides: Vec<CpuIndex> = tally.map().cpus_of(core).to_vec();
    sides.retain(|&cpu| tally.counts_on(cpu).polling > 0);
    sides.sort_by_key(|&cpu| (Reverse(tally.counts_on(cpu).polling), cpu));
    let (&main, others) = sides.split_first()?;
    let pairs = others.iter().rev().map(|&from| (from, main));
    let swap = exchange(tally, pairs, SwapReason::Colocate, movable)?;
    let room = || swap.back.is_some() || is_wanted(tally, swap.from, movable);
    (step == SwapStep::Always || tally.counts_on(swap.from).load() > 1 || room()).then_some(swap)
}

fn is_wanted(tally: &Tally<'_>, cpu: CpuIndex, movable: &impl Movable) -> bool {
    let shared = |other: &CpuIndex| {
        let counts = tally.counts_on(*other);
        *other != cpu && counts.compute > 0 && counts.load() > 1
    };
    let mut sharing = (0..tally.map().cpus()).filter(shared);
    sharing.any(|other| movable.may_move(other, cpu, Class::Compute))
}

fn exchange(
    tally: &Tally<'_>,
    mut pairs: impl Iterator<Item = (CpuIndex, CpuIndex)>,
    why: SwapReason,
    movable: &impl Movable,
) -> Option<Swap> {
    let (from, to) = pairs.find(|&(from, to)| movable.may_move(from, to, Class::Polling))?;
    let map = tally.map();
    let siblings = map.cpus_of(map.core_of(to)).iter().copied();
    let mut givers = std::iter::once(to).chain(siblings.filter(|&cpu| cpu != to && cpu != from));
    let back = givers.find(|&cpu| {
        tally.counts_on(cpu).compute > 0 && movable.may_move(cpu, from, Class::Compute)
    });
    Some(Swap {
        from,
        to,
        back,
        why,
    })
}
