//! Time spent in submissions. A request that is late because a submission took long is not the
//! replayer's own lateness.

use std::collections::VecDeque;

/// The number of latest calls that are remembered. An older call counts as if it had not been made.
const BACK: usize = 1 << 12;

/// The latest calls of the engine's submission, of one submitting thread.
#[derive(Debug, Default)]
pub struct Calls {
    /// Begin, end, and time in all calls before it, ns.
    calls: VecDeque<(u64, u64, u64)>,
    total: u64,
}

impl Calls {
    /// Adds a call that took from `from` to `to`. Calls MUST be added in the order of time.
    pub fn add(&mut self, from: u64, to: u64) {
        if self.calls.len() == BACK {
            self.calls.pop_front();
        }
        self.calls.push_back((from, to, self.total));
        self.total += to - from;
    }

    /// Time spent in calls since `then`, ns.
    pub fn since(&self, then: u64) -> u64 {
        if self.calls.back().is_none_or(|(_, to, _)| *to <= then) {
            return 0;
        }
        let first = self.calls.partition_point(|(_, to, _)| *to <= then);
        let before = self
            .calls
            .get(first)
            .map_or(self.total, |(from, _, total)| {
                total + then.saturating_sub(*from)
            });
        self.total - before
    }

    /// Time spent in all calls, ns.
    pub fn total(&self) -> u64 {
        self.total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counted_by_hand() {
        let mut calls = Calls::default();
        assert_eq!(calls.since(0), 0);
        calls.add(10, 15);
        calls.add(20, 40);
        for (then, wanted) in [
            (0, 25),
            (10, 25),
            (12, 23),
            (15, 20),
            (17, 20),
            (20, 20),
            (39, 1),
            (40, 0),
            (99, 0),
        ] {
            assert_eq!(calls.since(then), wanted, "since {then}");
        }
        assert_eq!(calls.total(), 25);
    }
}
