//! The second implementation of io_uring's rule: it keeps every run time of a ring, in order.

use super::closed_loop::{Finish, RuleUnderTest};
use q2c_policy::Io;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Default)]
pub(crate) struct ReferenceUring {
    started: Vec<(u64, u64)>,
    run_times: BTreeMap<usize, BTreeSet<u64>>,
}

impl RuleUnderTest for ReferenceUring {
    fn submit(&mut self, lane: usize, _: Io, now: u64) -> (u64, u64) {
        let least = self.run_times.get(&lane).and_then(BTreeSet::first);
        let sleep = least.map_or(0, |time| time / 2);
        self.started.push((now, sleep));
        (sleep, self.started.len() as u64 - 1)
    }

    fn finish(&mut self, f: Finish) {
        let (start, sleep) = self.started[f.token as usize];
        let run_times = self.run_times.entry(f.lane).or_default();
        run_times.insert(f.now - start - sleep);
    }
}
