//! One lane's samples: written by that lane alone, read by the lane that closes a window.

use super::CLOSING;
use crate::Outcome;
use crate::bucket::BUCKETS;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU64, fence};

/// How often a reader tries again when the writer was in between. A writer is in for a few nanoseconds; one that
/// lost its CPU there is left for the next window rather than waited for.
const TRIES: u32 = 100;

/// Totals since the slot was made, so that nobody but the writer needs to reset them; they wrap. A sequence lock: `version` is odd
/// while the writer is in. Aligned so that no two lanes share a pair of cache lines.
#[derive(Default)]
#[repr(align(128))]
pub(super) struct Slot {
    version: AtomicU64,
    /// End of the window that the extremes belong to.
    window: AtomicU64,
    /// Which buckets were ever used, one bit each.
    used: AtomicU64,
    cells: [Cell; BUCKETS],
}

#[derive(Default)]
struct Cell {
    samples: AtomicU64,
    sum: AtomicU64,
    misses: AtomicU64,
    /// Of the window alone; written with its first sample.
    min: AtomicU64,
    max: AtomicU64,
}

/// Totals of one bucket of one slot, wrapping.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Totals {
    pub(super) samples: u64,
    pub(super) sum: u64,
    pub(super) misses: u64,
}

/// One consistent reading of a bucket.
pub(super) struct Reading {
    pub(super) totals: Totals,
    /// Shortest and longest of the window in question, when the slot has any.
    pub(super) extremes: Option<(u64, u64)>,
}

impl Slot {
    /// Counts one completion in the window that ends at `end`. Only for the lane that owns the slot.
    #[inline]
    pub(super) fn add(&self, bucket: usize, end: u64, outcome: Outcome) {
        // Plain stores are enough for a single writer; a locked addition would cost five times as much.
        let version = self.version.load(Relaxed);
        self.version.store(version.wrapping_add(1), Relaxed);
        fence(Release);
        // While a window is being merged its successor has no name yet: such a sample stays with the old one.
        if end != CLOSING && end != self.window.load(Relaxed) {
            self.forget_extremes(end);
        }
        self.mark_used(bucket);
        self.cells[bucket].add(outcome);
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

    /// Whether `bucket` may hold samples.
    pub(super) fn is_used(&self, bucket: usize) -> bool {
        self.used.load(Relaxed) & (1 << bucket) != 0
    }

    /// The totals of `bucket`, and its extremes if they belong to the window that ends at `end`. `None` when the writer
    /// stayed in for all of the tries.
    pub(super) fn read(&self, bucket: usize, end: u64) -> Option<Reading> {
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
            Some(Reading {
                extremes: reading.extremes.filter(|_| same_window),
                ..reading
            })
        })
    }
}

impl Cell {
    #[inline]
    fn add(&self, outcome: Outcome) {
        let ns = outcome.observed.0;
        let raise =
            |total: &AtomicU64, by| total.store(total.load(Relaxed).wrapping_add(by), Relaxed);
        raise(&self.samples, 1);
        raise(&self.sum, ns);
        raise(&self.misses, u64::from(outcome.missed));
        if ns < self.min.load(Relaxed) {
            self.min.store(ns, Relaxed);
        }
        if ns > self.max.load(Relaxed) {
            self.max.store(ns, Relaxed);
        }
    }

    fn read(&self) -> Reading {
        let (min, max) = (self.min.load(Relaxed), self.max.load(Relaxed));
        Reading {
            totals: Totals {
                samples: self.samples.load(Relaxed),
                sum: self.sum.load(Relaxed),
                misses: self.misses.load(Relaxed),
            },
            extremes: (min <= max).then_some((min, max)),
        }
    }
}

impl Totals {
    /// What came since `earlier`.
    pub(super) fn since(self, earlier: Totals) -> Totals {
        Totals {
            samples: self.samples.wrapping_sub(earlier.samples),
            sum: self.sum.wrapping_sub(earlier.sum),
            misses: self.misses.wrapping_sub(earlier.misses),
        }
    }

    /// Both together.
    pub(super) fn plus(self, other: Totals) -> Totals {
        Totals {
            samples: self.samples.wrapping_add(other.samples),
            sum: self.sum.wrapping_add(other.sum),
            misses: self.misses.wrapping_add(other.misses),
        }
    }
}
