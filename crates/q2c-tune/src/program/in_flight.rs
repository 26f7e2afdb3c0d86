use q2c_result::program::ProgramInFlight;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Takes I/Os in the order of their begins.
#[derive(Default)]
pub(crate) struct InFlightLevels {
    ends: BinaryHeap<Reverse<u64>>,
    /// The time up to which the levels are counted, ns.
    at: u64,
    /// Time at each number of I/Os in flight, ns.
    time: BTreeMap<u64, u64>,
}

impl InFlightLevels {
    /// Takes an I/O, in ns on the clock of all others.
    pub(crate) fn take(&mut self, begin: u64, end: u64) {
        self.ended_by(begin);
        self.pass(begin);
        self.ends.push(Reverse(end));
    }

    /// Takes away the I/Os that end until `time`.
    fn ended_by(&mut self, time: u64) {
        while let Some(&Reverse(end)) = self.ends.peek() {
            if end > time {
                return;
            }
            self.pass(end);
            self.ends.pop();
        }
    }

    /// Counts the time until `time` at the present level.
    fn pass(&mut self, time: u64) {
        let passed = time.saturating_sub(self.at);
        if passed > 0 && !self.ends.is_empty() {
            *self.time.entry(self.ends.len() as u64).or_default() += passed;
        }
        self.at = self.at.max(time);
    }

    pub(crate) fn finish(mut self) -> ProgramInFlight {
        self.ended_by(u64::MAX);
        let busy: u64 = self.time.values().sum();
        let weighted = self.time.iter().map(|(n, ns)| *n as f64 * *ns as f64);
        let sum: f64 = weighted.sum();
        ProgramInFlight {
            busy_seconds: busy as f64 / 1e9,
            mean: if busy == 0 { 0.0 } else { sum / busy as f64 },
            p50: self.at_least(0.5, busy),
            p99: self.at_least(0.99, busy),
            most: self.time.keys().next_back().copied().unwrap_or_default(),
        }
    }

    /// The least level at or below which the share `q` of the time `busy` was spent.
    fn at_least(&self, q: f64, busy: u64) -> u64 {
        let wanted = q * busy as f64;
        let mut seen = 0.0;
        let reached = self.time.iter().find(|(_, ns)| {
            seen += **ns as f64;
            seen >= wanted
        });
        reached.map_or(0, |(level, _)| *level)
    }
}
