//! A second exponentially weighted mean in fixed point, and a quantile tracker in logarithms.

use super::closed_loop::{Finish, Subject};
use q2c_model::Direction;
use q2c_policy::Io;
use std::collections::HashMap;

pub type Key = (usize, bool, u32);

pub fn key(lane: usize, io: Io) -> Key {
    let class = (io.bytes / 512).ilog2().min(7);
    (lane, io.direction == Direction::Write, class)
}

const ONE: i128 = 1_000_000_000_000;

pub struct Ewma {
    pub percent: i128,
    /// The weight of a new time is 1 / `slowness`.
    pub slowness: i128,
    pub means: HashMap<Key, i128>,
}

impl Subject for Ewma {
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

pub struct Tracker {
    pub miss: f64,
    pub gain: f64,
    /// For each bucket, ln of the sleep over 0.1 us, and whether there was a miss.
    pub logs: HashMap<Key, (f64, bool)>,
}

impl Subject for Tracker {
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
