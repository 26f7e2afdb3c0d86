//! Sums over joined I/Os.

use super::{JoinedIo, Mismatch};
use q2c_model::U2cParts;
use q2c_model::stats::{mean, percentile};
use q2c_result::late::{
    DeviceLoad, LateInterval, LateNumbers, Miss, MissLateness, SlowestIos, Unmatched,
};

/// The slowest I/Os are one in this many: the slowest 1 %.
const SLOWEST_DIVISOR: usize = 100;

/// Running sums over I/Os. Sums of several lanes or intervals can be added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LateSums {
    matched: u64,
    unmatched: Unmatched,
    parts: U2cParts<u64>,
    overslept: u64,
    misses: u64,
    misses_in_time: u64,
    miss_late_ns: u64,
    /// Requests beside and their bytes, summed over the misses, and over all other I/Os.
    beside_misses: (u64, u64),
    beside_others: (u64, u64),
}

impl LateSums {
    /// Counts an I/O, or the reason why it was not joined.
    pub fn add(&mut self, joined: &Result<JoinedIo, Mismatch>) {
        match joined {
            Ok(io) => self.add_matched(io),
            Err(mismatch) => {
                let unmatched = &mut self.unmatched;
                let count = match mismatch {
                    Mismatch::NoRequest => &mut unmatched.no_request,
                    Mismatch::OtherBytes => &mut unmatched.other_bytes,
                    Mismatch::NoTimes => &mut unmatched.no_times,
                    Mismatch::OutOfOrder => &mut unmatched.out_of_order,
                    Mismatch::CompletedAfterReap => &mut unmatched.completed_after_reap,
                };
                *count += 1;
            }
        }
    }

    fn add_matched(&mut self, io: &JoinedIo) {
        self.matched += 1;
        self.parts = self.parts.zip(io.parts).map(|(sum, part)| sum + part);
        self.overslept += u64::from(io.late_ns() > 0);
        let mut beside = &mut self.beside_others;
        if io.missed {
            self.misses += 1;
            self.misses_in_time += u64::from(io.late_ns() == 0);
            self.miss_late_ns += io.late_ns();
            beside = &mut self.beside_misses;
        }
        *beside = (beside.0 + io.beside.0, beside.1 + io.beside.1);
    }

    /// The means of the sums.
    pub fn numbers(&self) -> LateNumbers {
        let mean = |sum: u64, count: u64| (count > 0).then(|| sum as f64 / count as f64);
        let mean_load = |(requests, bytes): (u64, u64), count: u64| {
            Some(DeviceLoad {
                requests: mean(requests, count)?,
                bytes: mean(bytes, count)?,
            })
        };
        let ios = self.matched;
        LateNumbers {
            matched: ios,
            unmatched: self.unmatched,
            parts: (ios > 0).then(|| self.parts.map(|sum| sum as f64 / ios as f64)),
            overslept: self.overslept,
            misses: self.misses,
            misses_in_time: self.misses_in_time,
            miss_late_ns: mean(self.miss_late_ns, self.misses),
            beside_misses: mean_load(self.beside_misses, self.misses),
            beside_others: mean_load(self.beside_others, ios - self.misses),
        }
    }
}

/// Sums over one run, and over each interval of it, by the time at which an I/O was reaped.
#[derive(Clone, Debug)]
pub struct LateTally {
    begin_ns: u64,
    interval_ns: u64,
    all: LateSums,
    intervals: Vec<LateSums>,
    matched: Vec<JoinedIo>,
}

impl LateTally {
    /// I/Os after the last complete interval count in the sums of the run only.
    pub fn new(begin_ns: u64, length_ns: u64, interval_ns: u64) -> Self {
        let interval_ns = interval_ns.max(1);
        LateTally {
            begin_ns,
            interval_ns,
            all: LateSums::default(),
            intervals: vec![LateSums::default(); (length_ns / interval_ns) as usize],
            matched: Vec::new(),
        }
    }

    /// Adds an I/O that was reaped at `reap_ns`.
    pub fn add(&mut self, reap_ns: u64, joined: &Result<JoinedIo, Mismatch>) {
        self.all.add(joined);
        let nth = reap_ns.saturating_sub(self.begin_ns) / self.interval_ns;
        if let Some(interval) = self.intervals.get_mut(nth as usize) {
            interval.add(joined);
        }
        self.matched.extend(joined.ok());
    }

    /// The figures of the run as a whole.
    pub fn totals(&self) -> LateNumbers {
        self.all.numbers()
    }

    /// The figures by interval.
    pub fn intervals(&self) -> Vec<LateInterval> {
        let numbered = self.intervals.iter().zip(1_u64..);
        let interval = |(sums, end): (&LateSums, u64)| LateInterval {
            end_s: (end * self.interval_ns) as f64 / 1e9,
            numbers: sums.numbers(),
        };
        numbered.map(interval).collect()
    }

    /// Mean parts of the slowest 1 % of the I/Os by U2C; `None` for fewer than 100 I/Os.
    pub fn slowest(&self) -> Option<SlowestIos> {
        let mut by_u2c: Vec<&JoinedIo> = self.matched.iter().collect();
        by_u2c.sort_unstable_by_key(|io| io.parts.u2c_ns());
        let count = by_u2c.len() / SLOWEST_DIVISOR;
        let mut sums = LateSums::default();
        for io in by_u2c.iter().rev().take(count) {
            sums.add_matched(io);
        }
        Some(SlowestIos {
            ios: sums.matched,
            parts: sums.numbers().parts?,
        })
    }

    /// The distribution of the misses' lateness; `None` without a miss.
    pub fn lateness_of_misses(&self) -> Option<MissLateness> {
        let mut late_ns: Vec<f64> = self.misses().map(|miss| miss.late_ns() as f64).collect();
        late_ns.sort_unstable_by(f64::total_cmp);
        Some(MissLateness {
            max_ns: *late_ns.last()?,
            mean_ns: mean(&late_ns),
            p50_ns: percentile(&late_ns, 0.5),
            p99_ns: percentile(&late_ns, 0.99),
        })
    }

    /// The misses in the order of adding. If there are more than `most`, only every n-th is kept.
    pub fn misses_kept(&self, most: usize) -> Vec<Miss> {
        let every = self.misses().count().div_ceil(most.max(1)).max(1);
        let kept = self.misses().step_by(every);
        let miss = |io: &JoinedIo| Miss {
            t_s: io.end_ns.saturating_sub(self.begin_ns) as f64 / 1e9,
            oversleep_ns: io.parts.oversleep_ns,
            wakeup_ns: io.parts.wakeup_ns,
            device_ns: io.parts.device_ns,
            others: io.beside.0,
            other_bytes: io.beside.1,
        };
        kept.map(miss).collect()
    }

    fn misses(&self) -> impl Iterator<Item = &JoinedIo> {
        self.matched.iter().filter(|io| io.missed)
    }
}
