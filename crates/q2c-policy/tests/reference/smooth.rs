//! A second exponentially weighted mean in fixed point, and a quantile tracker in logarithms.

use super::closed_loop::{Finish, RuleUnderTest};
use q2c_model::Direction;
use q2c_policy::Io;
use std::collections::HashMap;

pub(crate) type LaneClassKey = (usize, bool, u32);

pub(crate) fn key(lane: usize, io: Io) -> LaneClassKey {
    let class = (io.bytes / 512).ilog2().min(7);
    (lane, io.direction == Direction::Write, class)
}

const ONE: i128 = 1_000_000_000_000;

pub(crate) struct ReferenceEwma {
    pub percent: i128,
    /// The weight of a new time is 1 / `slowness`.
    pub slowness: i128,
    pub means: HashMap<LaneClassKey, i128>,
}

impl RuleUnderTest for ReferenceEwma {
    fn submit(&mut self, lane: usize, io: Io, _: u64) -> (u64, u64) {
        let mean = self.means.get(&key(lane, io)).copied().unwrap_or(0);
        let sleep = mean * self.percent / 100;
        (((sleep + ONE / 2) / ONE) as u64, 0)
    }

    fn finish(&mut self, f: Finish) {
        let time = i128::from(f.observed) * ONE;
        let mean = self.means.entry(key(f.lane, f.io)).or_insert(time);
        *mean = (*mean * (self.slowness - 1) + time) / self.slowness;
    }
}

pub(crate) struct Tracker {
    pub miss: f64,
    pub gain: f64,
    /// For each bucket, ln of the sleep over 0.1 us, and whether there was a miss.
    pub logs: HashMap<LaneClassKey, (f64, bool)>,
}

impl RuleUnderTest for Tracker {
    fn submit(&mut self, lane: usize, io: Io, _: u64) -> (u64, u64) {
        let (log, _) = self.logs.get(&key(lane, io)).copied().unwrap_or_default();
        ((100.0 * log.exp()).round() as u64, 0)
    }

    fn finish(&mut self, f: Finish) {
        let (log, ever) = self.logs.entry(key(f.lane, f.io)).or_default();
        *ever |= f.missed;
        *log += match (*ever, f.missed) {
            (false, _) => 1.1f64.ln(),
            (true, late) => self.gain * (self.miss - f64::from(u8::from(late))),
        };
        *log = log.clamp(0.0, 1e8f64.ln());
    }
}
