//! A second rule of Linux 4.10, which keeps all completions with the number of their window.

use super::closed_loop::{Finish, RuleUnderTest};
use super::epochs::percent_of;
use q2c_model::Direction;
use q2c_policy::Io;
use std::collections::BTreeMap;

pub(crate) struct ReferenceLinux410 {
    pub percent: u64,
    pub period: u64,
    /// Observed times by lane, direction (true for writes) and window.
    pub times: BTreeMap<(usize, bool, u64), Vec<u64>>,
}

impl RuleUnderTest for ReferenceLinux410 {
    fn submit(&mut self, lane: usize, io: Io, _: u64) -> (u64, u64) {
        let writes = io.direction == Direction::Write;
        let keys = (lane, writes, 0)..=(lane, writes, u64::MAX);
        let newest = self.times.range(keys).next_back();
        let mean = newest.map_or(0, |(_, t)| t.iter().sum::<u64>() / t.len() as u64);
        (percent_of(self.percent, mean), 0)
    }

    fn finish(&mut self, f: Finish) {
        let writes = f.io.direction == Direction::Write;
        let window = f.now / self.period;
        let times = self.times.entry((f.lane, writes, window)).or_default();
        times.push(f.observed);
    }
}
