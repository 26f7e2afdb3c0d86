//! The rules applied to a whole machine, one move at a time.

use super::steal::{Steal, steal};
use super::swap::{Swap, swap};
use super::tally::Tally;
use super::{Movable, Rules};
#[cfg(test)]
use crate::predictor::Class;

/// A move that the rules ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Move {
    /// By the published rules.
    Steal(Steal),
    /// By the swap step.
    Swap(Swap),
}

impl Move {
    /// Counts the move in.
    #[cfg(test)]
    pub(crate) fn apply(self, tally: &mut Tally<'_>) {
        match self {
            Move::Steal(steal) => tally.shift(steal.from, steal.to, steal.class),
            Move::Swap(swap) => {
                tally.shift(swap.from, swap.to, Class::Polling);
                if let Some(back) = swap.back {
                    tally.shift(back, swap.from, Class::Compute);
                }
            }
        }
    }
}

/// The next move: a steal by the first CPU that has one to make, else a swap.
#[must_use]
pub(crate) fn next_move(tally: &Tally<'_>, rules: Rules, movable: &impl Movable) -> Option<Move> {
    let mut cpus = 0..tally.map().cpus();
    let steal = cpus.find_map(|cpu| steal(tally, cpu, rules, movable));
    let swap = || swap(tally, rules.swap?, movable);
    steal.map(Move::Steal).or_else(|| swap().map(Move::Swap))
}

/// All moves until the rules rest, for tasks that may run anywhere. Afterwards `tally` is the end.
#[cfg(test)]
pub fn all_moves(tally: &mut Tally<'_>, rules: Rules) -> Vec<Move> {
    let mut moves = Vec::new();
    while let Some(next) = next_move(tally, rules, &super::Anywhere) {
        next.apply(tally);
        moves.push(next);
    }
    moves
}
