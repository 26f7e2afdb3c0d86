//! The samples of lanes. Only the lane itself writes to its slot. The lane that closes a window
//! reads and merges what all lanes have gathered since the last merge.

use super::times::{TimeBins, Times};
use super::{BucketWindow, CLOSING, Gather, WindowTotals};
use crate::Outcome;
use crate::bucket::BUCKETS;
use q2c_model::Nanos;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU64, fence};

/// Number of tries of a reader while the writer is active. If the writer lost its CPU, its samples
/// are left for the next window.
const TRIES: u32 = 100;

/// Totals of one lane; they are never reset and wrap. This is a sequence lock: `version` is odd
/// while the writer is active. The alignment keeps two lanes from sharing a pair of cache lines.
#[derive(Default)]
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
    totals: WindowTotals<AtomicU64>,
    last: AtomicU64,
    last_at: AtomicU64,
    min: AtomicU64,
    max: AtomicU64,
}

#[derive(Clone, Copy)]
pub(super) struct SlotSample {
    pub(super) outcome: Outcome,
    pub(super) now: Nanos,
    pub(super) mean_before: u64,
}

pub(super) struct SlotReading {
    pub(super) totals: WindowTotals,
    pub(super) last: (u64, u64),
    /// Shortest and longest time of the requested window, ns; `None` without a sample of it.
    pub(super) extremes: Option<(u64, u64)>,
}

impl LaneSlot {
    pub(super) fn new(gather: Gather) -> Self {
        let gathers = gather == Gather::Quantiles;
        let tallies = if gathers { BUCKETS } else { 0 };
        LaneSlot {
            times: (0..tallies).map(|_| TimeBins::new()).collect(),
            ..LaneSlot::default()
        }
    }

    /// Adds a sample. Only the lane that owns the slot may call it.
    #[inline]
    pub(super) fn add(&self, bucket: usize, end: u64, sample: SlotSample) {
        // Plain stores suffice for a single writer; a locked addition costs five times as much.
        let version = self.version.load(Relaxed);
        self.version.store(version.wrapping_add(1), Relaxed);
        fence(Release);
        // During a merge the next end is unknown: extremes stay with the old window.
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

    /// Reads a bucket's totals; `None` if the writer was active in all tries.
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
        let SlotSample { outcome, now, .. } = sample;
        let (ns, totals) = (outcome.observed.0, &self.totals);
        raise(&totals.samples, 1);
        raise(&totals.sum, ns);
        raise(&totals.misses, u64::from(outcome.missed));
        if ns < sample.mean_before {
            raise(&totals.shortfall, sample.mean_before - ns);
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

/// The slots of a device's lanes, each with its totals merged so far. Only one lane merges at a
/// time; its claim orders it after the writes of the previous merging lane.
pub(super) struct SlotMerger {
    lanes: Box<[MergedSlot]>,
    /// The times of all lanes merged so far, per bucket; empty if times are not gathered.
    times_done: Box<[TimeBins]>,
}

struct MergedSlot {
    slot: Arc<LaneSlot>,
    done: [WindowTotals<AtomicU64>; BUCKETS],
}

#[derive(Default)]
struct NewSamples {
    totals: WindowTotals,
    /// Shortest and longest time, ns; `None` if no slot knows them.
    extremes: Option<(u64, u64)>,
    last: (u64, u64),
}

impl SlotMerger {
    pub(super) fn new(slots: Vec<Arc<LaneSlot>>) -> Self {
        let gathers = slots.iter().any(|slot| !slot.times.is_empty());
        let tallies = if gathers { BUCKETS } else { 0 };
        let merged = |slot| MergedSlot {
            slot,
            done: Default::default(),
        };
        SlotMerger {
            lanes: slots.into_iter().map(merged).collect(),
            times_done: (0..tallies).map(|_| TimeBins::new()).collect(),
        }
    }

    /// Calls `each` for every bucket with new samples. `means` holds the previous window's means,
    /// and those of this window on return.
    pub(super) fn windows(
        &self,
        end: u64,
        means: &[AtomicU64; BUCKETS],
        mut each: impl FnMut(&BucketWindow<'_>),
    ) {
        for (bucket, mean) in means.iter().enumerate() {
            let sums = self.sums(bucket, end);
            if sums.totals.samples == 0 {
                continue;
            }
            let times = self.times(bucket);
            let before = Nanos(mean.load(Relaxed));
            let window = sums.window(bucket, before, times.as_ref());
            mean.store(window.mean().0, Relaxed);
            each(&window);
        }
    }

    fn sums(&self, bucket: usize, end: u64) -> NewSamples {
        let mut sums = NewSamples::default();
        for lane in self.lanes.iter().filter(|l| l.slot.is_used(bucket)) {
            let Some(reading) = lane.slot.read(bucket, end) else {
                continue;
            };
            let totals = lane.done[bucket].each_ref().zip(reading.totals);
            let new = totals.map(|(done, now)| {
                let before = done.load(Relaxed);
                done.store(now, Relaxed);
                now.wrapping_sub(before)
            });
            sums.totals = sums.totals.zip(new).map(|(a, b)| a.wrapping_add(b));
            if new.samples > 0 {
                sums.last = sums.last.max(reading.last);
            }
            if let Some((low, high)) = reading.extremes {
                let (min, max) = sums.extremes.unwrap_or((low, high));
                sums.extremes = Some((min.min(low), max.max(high)));
            }
        }
        sums
    }

    fn times(&self, bucket: usize) -> Option<Times> {
        let done = self.times_done.get(bucket)?;
        let tallies = self.lanes.iter().filter_map(|l| l.slot.times.get(bucket));
        Some(Times::take(tallies, done))
    }
}

impl NewSamples {
    fn window<'a>(
        self,
        bucket: usize,
        mean_before: Nanos,
        times: Option<&'a Times>,
    ) -> BucketWindow<'a> {
        // The extremes of samples that raced with the last merge are unknown. The mean bounds them:
        // the shortest time is at most the mean, the longest at least.
        let mean = self.totals.sum / self.totals.samples;
        let (min, max) = self.extremes.unwrap_or((mean, mean));
        BucketWindow {
            bucket,
            totals: self.totals,
            min: Nanos(min.min(mean)),
            max: Nanos(max.max(mean)),
            last: Nanos(self.last.1),
            mean_before,
            times,
        }
    }
}
