//! How much was in flight in the trace just before each request.

use q2c_model::replay::Count;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

#[derive(Default)]
pub(crate) struct InFlightProfile {
    /// The end in ns and the weight of each request in flight, the earliest end first.
    ends: BinaryHeap<Reverse<(u64, u64)>>,
    load: u64,
    /// The latest completion so far, in the trace's time; `None` before the first.
    last_end_ns: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Before {
    pub requests: u32,
    /// Amount in flight, in the unit of [`Count`].
    pub load: u64,
    /// Since the latest completion; 0 before the first, and while something is in flight.
    pub idle_ns: u64,
}

impl InFlightProfile {
    /// The state before a request at `start_ns`, when one that ends then is over. Never goes back.
    pub(crate) fn before(&mut self, start_ns: u64) -> Before {
        while let Some(Reverse((end_ns, weight))) = self.ends.peek().copied()
            && end_ns <= start_ns
        {
            self.ends.pop();
            self.load -= weight;
            self.last_end_ns = Some(end_ns);
        }
        let idle_ns = match (self.ends.len(), self.last_end_ns) {
            (0, Some(end_ns)) => start_ns - end_ns,
            _ => 0,
        };
        Before {
            requests: u32::try_from(self.ends.len()).unwrap_or(u32::MAX - 1),
            load: self.load,
            idle_ns,
        }
    }

    pub(crate) fn begin(&mut self, end_ns: u64, count: Count, bytes: u64) {
        let weight = count.weight_of(bytes);
        self.load += weight;
        self.ends.push(Reverse((end_ns, weight)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counted_by_hand() {
        let mut profile = InFlightProfile::default();
        let before = |requests, load, idle_ns| Before {
            requests,
            load,
            idle_ns,
        };
        assert_eq!(profile.before(0), before(0, 0, 0));
        profile.begin(10, Count::Bytes, 512);
        assert_eq!(profile.before(5), before(1, 512, 0));
        profile.begin(8, Count::Bytes, 4096);
        assert_eq!(profile.before(8), before(1, 512, 0), "the other is over");
        assert_eq!(profile.before(9), before(1, 512, 0));
        assert_eq!(profile.before(12), before(0, 0, 2));
        profile.begin(13, Count::Bytes, 1);
        assert_eq!(profile.before(12), before(1, 1, 0));
    }

    #[test]
    fn blocks_are_begun_ones() {
        let blocks = [1, 4096, 4097].map(|bytes| Count::Blocks.weight_of(bytes));
        assert_eq!(blocks, [1, 1, 2]);
        let others = [Count::Requests, Count::Bytes].map(|count| count.weight_of(9));
        assert_eq!(others, [1, 9]);
    }
}
