//! A second rule over the last I/Os, which keeps all I/Os and looks at the end of the list.

use super::closed_loop::{Finish, RuleUnderTest};
use super::smooth::{LaneClassKey, key};
use q2c_policy::Io;
use std::collections::HashMap;

/// I/Os in the order of their completions: times in ns, and whether each was a miss.
pub(crate) struct Last<'a>(&'a [(u64, bool)]);

impl Last<'_> {
    pub(crate) fn least(&self) -> u64 {
        self.rank(1)
    }

    /// The time at this place, counted from 1, among the times in order.
    pub(crate) fn rank(&self, place: usize) -> u64 {
        let mut times: Vec<u64> = self.0.iter().map(|io| io.0).collect();
        times.sort_unstable();
        times[place - 1]
    }

    pub(crate) fn mean(&self) -> u64 {
        self.0.iter().map(|io| io.0).sum::<u64>() / self.0.len() as u64
    }

    pub(crate) fn misses(&self) -> usize {
        self.0.iter().filter(|io| io.1).count()
    }

    /// By how much times lie below `mean` on average.
    pub(crate) fn below(&self, mean: u64) -> u64 {
        let distances = self.0.iter().map(|io| mean.max(io.0) - io.0);
        distances.sum::<u64>() / self.0.len() as u64
    }
}

type SleepFunction = fn(Last<'_>, Option<Last<'_>>) -> u64;

pub(crate) struct ReferenceRecent {
    ios: usize,
    sleep: SleepFunction,
    seen: HashMap<LaneClassKey, Vec<(u64, bool)>>,
}

impl ReferenceRecent {
    pub(crate) fn new(ios: usize, sleep: SleepFunction) -> Self {
        ReferenceRecent {
            ios,
            sleep,
            seen: HashMap::new(),
        }
    }
}

impl RuleUnderTest for ReferenceRecent {
    fn submit(&mut self, lane: usize, io: Io, _: u64) -> (u64, u64) {
        let seen = self.seen.get(&key(lane, io)).map_or(&[][..], Vec::as_slice);
        let Some(last) = seen.len().checked_sub(self.ios) else {
            return (0, 0);
        };
        let before = last.checked_sub(self.ios);
        let before = before.map(|begin| Last(&seen[begin..last]));
        ((self.sleep)(Last(&seen[last..]), before), 0)
    }

    fn finish(&mut self, f: Finish) {
        let seen = self.seen.entry(key(f.lane, f.io)).or_default();
        seen.push((f.observed, f.missed));
    }
}
