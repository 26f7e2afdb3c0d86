//! The rules applied to a whole machine, one move at a time.

use super::steal::{Steal, steal};
use super::swap::{Swap, swap};
use super::tally::Tally;
use super::{Movable, Rules};

/// A move that the rules ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Move {
    /// By the published rules.
    Steal(Steal),
    /// By the swap step.
    Swap(Swap),
}

/// The next move: a steal by the first CPU that has one to make, else a swap.
#[must_use]
pub(crate) fn next_move(tally: &Tally<'_>, rules: Rules, movable: &impl Movable) -> Option<Move> {
    let mut cpus = 0..tally.map().cpus();
    let steal = cpus.find_map(|cpu| steal(tally, cpu, rules, movable));
    let swap = || swap(tally, rules.swap?, movable);
    steal.map(Move::Steal).or_else(|| swap().map(Move::Swap))
}
