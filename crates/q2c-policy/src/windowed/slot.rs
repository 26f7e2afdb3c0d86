//! The samples of one lane. Only that lane writes them; the lane that closes a window reads them.

use super::times::TimeBins;
use super::{CLOSING, Gather};
use crate::Outcome;
use crate::bucket::BUCKETS;
use q2c_model::{Nanos, each_field};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU64, fence};

/// Tries of a reader while the writer is active; the samples of a writer that lost its CPU then are
/// left for the next window.
const TRIES: u32 = 100;

/// Totals of one lane, never reset, wrapping. A sequence lock: `version` is odd while the writer is
/// active. Aligned so that two lanes share no pair of cache lines.
#[repr(align(128))]
pub(super) struct LaneSlot {
    version: AtomicU64,
    window: AtomicU64,
    used: AtomicU64,
    cells: [BucketCounters; BUCKETS],
    times: Box<[TimeBins]>,
}

#[derive(Default)]
struct BucketCounters {
    totals: SlotTotals<AtomicU64>,
    last: AtomicU64,
    last_at: AtomicU64,
    min: AtomicU64,
    max: AtomicU64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SlotTotals<T = u64> {
    pub(super) samples: T,
    pub(super) sum: T,
    pub(super) misses: T,
    pub(super) shortfall: T,
    pub(super) misses_below: T,
}

each_field! { SlotTotals, samples, sum, misses, shortfall, misses_below }

#[derive(Clone, Copy)]
pub(super) struct SlotSample {
    pub(super) outcome: Outcome,
    pub(super) now: Nanos,
    pub(super) mean_before: u64,
}

pub(super) struct SlotReading {
    pub(super) totals: SlotTotals,
    pub(super) last: (u64, u64),
    /// Shortest and longest time of the window asked for, ns; `None` when the slot has none of it.
    pub(super) extremes: Option<(u64, u64)>,
}

impl LaneSlot {
    pub(super) fn new(gather: Gather) -> Self {
        let gathers = gather == Gather::Quantiles;
        let tallies = if gathers { BUCKETS } else { 0 };
        LaneSlot {
            version: AtomicU64::default(),
            window: AtomicU64::default(),
            used: AtomicU64::default(),
            cells: Default::default(),
            times: (0..tallies).map(|_| TimeBins::new()).collect(),
        }
    }

    /// Only the lane that owns the slot may call it.
    #[inline]
    pub(super) fn add(&self, bucket: usize, end: u64, sample: SlotSample) {
        // Plain stores do for a single writer; a locked addition costs five times as much.
        let version = self.version.load(Relaxed);
        self.version.store(version.wrapping_add(1), Relaxed);
        fence(Release);
        // During a merge the next end is not known: extremes stay with the old window.
        if end != CLOSING && end != self.window.load(Relaxed) {
            self.forget_extremes(end);
        }
        self.mark_used(bucket);
        if let Some(times) = self.times.get(bucket) {
            times.add(sample.outcome.observed.0);
        }
        self.cells[bucket].add(sample);
        self.version.store(version.wrapping_add(2), Release);
    }

    #[cold]
    fn forget_extremes(&self, end: u64) {
        self.window.store(end, Relaxed);
        for cell in &self.cells {
            cell.min.store(u64::MAX, Relaxed);
            cell.max.store(0, Relaxed);
        }
    }

    #[inline]
    fn mark_used(&self, bucket: usize) {
        let used = self.used.load(Relaxed);
        let with = used | 1 << bucket;
        if with != used {
            self.used.store(with, Relaxed);
        }
    }

    pub(super) fn is_used(&self, bucket: usize) -> bool {
        self.used.load(Relaxed) & (1 << bucket) != 0
    }

    pub(super) fn times(&self, bucket: usize) -> Option<&TimeBins> {
        self.times.get(bucket)
    }

    /// `None` when the writer was active in all of the tries.
    pub(super) fn read(&self, bucket: usize, end: u64) -> Option<SlotReading> {
        (0..TRIES).find_map(|_| {
            let before = self.version.load(Acquire);
            let reading = self.cells[bucket].read();
            let same_window = self.window.load(Relaxed) == end;
            fence(Acquire);
            let after = self.version.load(Relaxed);
            if before != after || before % 2 == 1 {
                std::hint::spin_loop();
                return None;
            }
            Some(SlotReading {
                extremes: reading.extremes.filter(|_| same_window),
                ..reading
            })
        })
    }
}

impl BucketCounters {
    #[inline]
    fn add(&self, sample: SlotSample) {
        let SlotSample {
            outcome,
            now,
            mean_before,
        } = sample;
        let (ns, totals) = (outcome.observed.0, &self.totals);
        raise(&totals.samples, 1);
        raise(&totals.sum, ns);
        raise(&totals.misses, u64::from(outcome.missed));
        if ns < mean_before {
            raise(&totals.shortfall, mean_before - ns);
            raise(&totals.misses_below, u64::from(outcome.missed));
        }
        self.last.store(ns, Relaxed);
        self.last_at.store(now.0, Relaxed);
        if ns < self.min.load(Relaxed) {
            self.min.store(ns, Relaxed);
        }
        if ns > self.max.load(Relaxed) {
            self.max.store(ns, Relaxed);
        }
    }

    fn read(&self) -> SlotReading {
        let (min, max) = (self.min.load(Relaxed), self.max.load(Relaxed));
        SlotReading {
            totals: self.totals.each_ref().map(|total| total.load(Relaxed)),
            last: (self.last_at.load(Relaxed), self.last.load(Relaxed)),
            extremes: (min <= max).then_some((min, max)),
        }
    }
}

#[inline]
fn raise(total: &AtomicU64, by: u64) {
    total.store(total.load(Relaxed).wrapping_add(by), Relaxed);
}

impl SlotTotals {
    pub(super) fn since(self, earlier: SlotTotals) -> SlotTotals {
        let both = self.zip(earlier);
        both.map(|(now, before)| now.wrapping_sub(before))
    }

    pub(super) fn plus(self, other: SlotTotals) -> SlotTotals {
        self.zip(other).map(|(a, b)| a.wrapping_add(b))
    }
}
