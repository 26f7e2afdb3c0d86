//! A tournament that tells which of several files has the next event.

/// Keys of contestants, of which the smallest is the winner. Its place can be taken by the key that
/// follows from the same contestant, for as many comparisons as the tree of the matches is deep.
///
/// All keys are different but [`Tournament::GONE`].
pub(super) struct Tournament {
    winner: u128,
    /// The greater key of each match. The match 1 is the final, and the winners of the matches `2n`
    /// and `2n + 1` meet in the match `n`. The contestant `c` starts at `contestants + c`.
    losers: Vec<u128>,
}

impl Tournament {
    /// The key of a contestant that has no further key.
    pub(super) const GONE: u128 = u128::MAX;

    /// Starts with the first keys of the contestants 0, 1 and so on.
    pub(super) fn new(keys: &[u128]) -> Self {
        let contestants = keys.len();
        let mut winners = vec![Self::GONE; contestants];
        winners.extend(keys);
        let mut losers = vec![Self::GONE; contestants];
        for at in (1..contestants).rev() {
            let (one, other) = (winners[2 * at], winners[2 * at + 1]);
            winners[at] = one.min(other);
            losers[at] = one.max(other);
        }
        let winner = winners.get(1).copied().unwrap_or(Self::GONE);
        Tournament { winner, losers }
    }

    /// The smallest key; [`Tournament::GONE`] when no contestant has one.
    #[inline]
    pub(super) fn winner(&self) -> u128 {
        self.winner
    }

    /// Replaces the smallest key, which is that of `contestant`, by its next key.
    #[inline]
    pub(super) fn replace_winner(&mut self, contestant: usize, key: u128) {
        let mut winner = key;
        let mut at = (self.losers.len() + contestant) / 2;
        while at > 0 {
            // Which of the two is smaller cannot be foretold, so they are exchanged without a
            // branch.
            let other = self.losers[at];
            let exchanged = u128::from(other < winner).wrapping_neg() & (other ^ winner);
            self.losers[at] = other ^ exchanged;
            winner ^= exchanged;
            at /= 2;
        }
        self.winner = winner;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The keys of all contestants come out as the standard library sorts them.
        #[test]
        fn the_smallest_comes_first(lists in prop::collection::vec(prop::collection::vec(0..1000u128, 0..20), 0..40)) {
            let number = lists.len().max(1) as u128;
            let with_contestant = |(at, list): (usize, &Vec<u128>)| {
                let mut keys: Vec<u128> = list.iter().map(|key| key * number + at as u128).collect();
                keys.sort_unstable();
                keys.dedup();
                keys
            };
            let lists: Vec<Vec<u128>> = lists.iter().enumerate().map(with_contestant).collect();
            let mut left: Vec<_> = lists.iter().map(|list| list.iter().copied()).collect();
            let first = left.iter_mut().map(|keys| keys.next().unwrap_or(Tournament::GONE));
            let mut tournament = Tournament::new(&first.collect::<Vec<_>>());
            let mut keys = Vec::new();
            while tournament.winner() != Tournament::GONE {
                keys.push(tournament.winner());
                let contestant = (tournament.winner() % number) as usize;
                let next = left[contestant].next().unwrap_or(Tournament::GONE);
                tournament.replace_winner(contestant, next);
            }
            let mut expected = lists.concat();
            expected.sort_unstable();
            prop_assert_eq!(keys, expected);
        }
    }
}
