//! Time spent in submissions. A request that is late because a submission took long is not the
//! replayer's own lateness.

use std::collections::VecDeque;

/// The number of latest calls that are remembered. An older call counts as if it had not been made.
const BACK: usize = 1 << 12;

#[derive(Debug, Default)]
pub(crate) struct SubmissionCalls {
    /// Begin and end of each call, and the time in all calls before it, ns.
    calls: VecDeque<(u64, u64, u64)>,
    pub total_ns: u64,
}

impl SubmissionCalls {
    /// Adds a call that took from `begin_ns` to `end_ns`. Calls MUST be added in the order of time.
    pub(crate) fn add(&mut self, begin_ns: u64, end_ns: u64) {
        if self.calls.len() == BACK {
            self.calls.pop_front();
        }
        self.calls.push_back((begin_ns, end_ns, self.total_ns));
        self.total_ns += end_ns - begin_ns;
    }

    pub(crate) fn since(&self, then_ns: u64) -> u64 {
        let over = |(_, end_ns, _): &(u64, u64, u64)| *end_ns <= then_ns;
        if self.calls.back().is_none_or(over) {
            return 0;
        }
        let first = self.calls.get(self.calls.partition_point(over));
        let before_ns = first.map_or(self.total_ns, |(begin_ns, _, before_ns)| {
            before_ns + then_ns.saturating_sub(*begin_ns)
        });
        self.total_ns - before_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counted_by_hand() {
        let mut calls = SubmissionCalls::default();
        assert_eq!(calls.since(0), 0);
        calls.add(10, 15);
        calls.add(20, 40);
        let since = [0, 10, 12, 15, 17, 20, 39, 40, 99].map(|then| calls.since(then));
        assert_eq!(since, [25, 25, 23, 20, 20, 20, 1, 0, 0]);
        assert_eq!(calls.total_ns, 25);
    }
}
