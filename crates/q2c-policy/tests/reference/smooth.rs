//! Second implementations without windows of time: a weighted mean in fixed point, a quantile
//! tracker in logarithms, and three that keep every I/O (the last I/Os, Linux 4.10, io_uring).

use super::closed_loop::{Finish, RuleUnderTest};
use super::epochs::percent_of;
use q2c_model::Direction;
use q2c_policy::Io;
use std::collections::{BTreeMap, BTreeSet, HashMap};

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
    /// For each bucket, ln of the sleep over 0.1 us, and true if a miss has occurred.
    pub logs: HashMap<LaneClassKey, (f64, bool)>,
}

impl RuleUnderTest for Tracker {
    fn submit(&mut self, lane: usize, io: Io, _: u64) -> (u64, u64) {
        let (log, _) = self.logs.get(&key(lane, io)).copied().unwrap_or_default();
        ((100.0 * log.exp()).round() as u64, 0)
    }

    fn finish(&mut self, f: Finish) {
        let (log, has_missed) = self.logs.entry(key(f.lane, f.io)).or_default();
        *has_missed |= f.missed;
        *log += match (*has_missed, f.missed) {
            (false, _) => 1.1f64.ln(),
            (true, late) => self.gain * (self.miss - f64::from(u8::from(late))),
        };
        *log = log.clamp(0.0, 1e8f64.ln());
    }
}

/// I/Os in the order of their completions: times in ns, and true for each miss.
pub(crate) struct LastSamples<'a>(&'a [(u64, bool)]);

impl LastSamples<'_> {
    pub(crate) fn min(&self) -> u64 {
        self.rank(1)
    }

    /// The time at this place, from 1, among the sorted times.
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

    /// The average amount by which times lie below `mean`.
    pub(crate) fn mean_below(&self, mean: u64) -> u64 {
        let distances = self.0.iter().map(|io| mean.max(io.0) - io.0);
        distances.sum::<u64>() / self.0.len() as u64
    }
}

type SleepFunction = fn(LastSamples<'_>, Option<LastSamples<'_>>) -> u64;

pub(crate) struct ReferenceRecent {
    ios: usize,
    sleep: SleepFunction,
    past: HashMap<LaneClassKey, Vec<(u64, bool)>>,
}

impl ReferenceRecent {
    pub(crate) fn new(ios: usize, sleep: SleepFunction) -> Self {
        ReferenceRecent {
            ios,
            sleep,
            past: HashMap::new(),
        }
    }
}

impl RuleUnderTest for ReferenceRecent {
    fn submit(&mut self, lane: usize, io: Io, _: u64) -> (u64, u64) {
        let past = self.past.get(&key(lane, io)).map_or(&[][..], Vec::as_slice);
        let Some(last) = past.len().checked_sub(self.ios) else {
            return (0, 0);
        };
        let before = last.checked_sub(self.ios);
        let earlier = before.map(|begin| LastSamples(&past[begin..last]));
        ((self.sleep)(LastSamples(&past[last..]), earlier), 0)
    }

    fn finish(&mut self, f: Finish) {
        let past = self.past.entry(key(f.lane, f.io)).or_default();
        past.push((f.observed, f.missed));
    }
}

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

/// The rule of io_uring; it keeps every run time of a ring.
#[derive(Default)]
pub(crate) struct ReferenceUring {
    started: Vec<(u64, u64)>,
    run_times: BTreeMap<usize, BTreeSet<u64>>,
}

impl RuleUnderTest for ReferenceUring {
    fn submit(&mut self, lane: usize, _: Io, now: u64) -> (u64, u64) {
        let min = self.run_times.get(&lane).and_then(BTreeSet::first);
        let sleep = min.map_or(0, |time| time / 2);
        self.started.push((now, sleep));
        (sleep, self.started.len() as u64 - 1)
    }

    fn finish(&mut self, f: Finish) {
        let (start, sleep) = self.started[f.token as usize];
        let run_times = self.run_times.entry(f.lane).or_default();
        run_times.insert(f.now - start - sleep);
    }
}
