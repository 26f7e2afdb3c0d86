//! The samples of lanes. Only the lane itself writes to its slot. The lane that closes a window
//! reads and merges what all lanes have gathered since the last merge.

use super::times::{BinCounts, TimeBins};
use super::{BucketWindow, CLOSING, Gather, WindowTotals};
use crate::Outcome;
use crate::bucket::BUCKETS;
use q2c_model::Nanos;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU64, fence};

/// Number of times that a reader tries while the writer is active. After that the writer has
/// probably lost its CPU; its samples are left for the next window.
const TRIES: u32 = 100;

/// Totals of one lane, never reset; they wrap around. This is a sequence lock: `version` is odd
/// while the writer is active. The alignment keeps two lanes from sharing a pair of cache lines.
#[derive(Default)]
#[repr(align(128))]
pub(super) struct LaneSlot {
    version: AtomicU64,
    window_end: AtomicU64,
    /// A bit for each bucket that ever had a sample.
    sampled_buckets: AtomicU64,
    buckets: [BucketCounters; BUCKETS],
    times: Box<[TimeBins]>,
}

#[derive(Default)]
struct BucketCounters {
    totals: WindowTotals<AtomicU64>,
    last_ns: AtomicU64,
    last_at: AtomicU64,
    min: AtomicU64,
    max: AtomicU64,
}

pub(super) struct SlotReading {
    pub(super) totals: WindowTotals,
    pub(super) last_at_and_ns: (u64, u64),
    /// Shortest and longest time of the requested window, ns; `None` without a sample of it.
    pub(super) extremes: Option<(u64, u64)>,
}

impl LaneSlot {
    pub(super) fn new(gather: Gather) -> Self {
        LaneSlot {
            times: time_bins(gather == Gather::Quantiles),
            ..LaneSlot::default()
        }
    }

    /// Adds a sample. Only the lane that owns the slot may call it.
    #[inline]
    pub(super) fn add(
        &self,
        bucket: usize,
        window_end: u64,
        outcome: Outcome,
        now: Nanos,
        mean_before: u64,
    ) {
        // Plain stores suffice for a single writer; a locked addition costs five times as much.
        let version = self.version.load(Relaxed);
        self.version.store(version.wrapping_add(1), Relaxed);
        fence(Release);
        // During a merge the next end is unknown: extremes stay with the old window.
        if window_end != CLOSING && window_end != self.window_end.load(Relaxed) {
            self.restart_extremes(window_end);
        }
        self.mark_sampled(bucket);
        if let Some(times) = self.times.get(bucket) {
            times.add(outcome.observed.0);
        }
        self.buckets[bucket].add(outcome, now, mean_before);
        self.version.store(version.wrapping_add(2), Release);
    }

    #[cold]
    fn restart_extremes(&self, end: u64) {
        self.window_end.store(end, Relaxed);
        for bucket in &self.buckets {
            bucket.min.store(u64::MAX, Relaxed);
            bucket.max.store(0, Relaxed);
        }
    }

    #[inline]
    fn mark_sampled(&self, bucket: usize) {
        let before = self.sampled_buckets.load(Relaxed);
        let marked = before | 1 << bucket;
        if marked != before {
            self.sampled_buckets.store(marked, Relaxed);
        }
    }

    pub(super) fn has_samples(&self, bucket: usize) -> bool {
        self.sampled_buckets.load(Relaxed) & (1 << bucket) != 0
    }

    /// Reads a bucket's totals; `None` if the writer was active in all tries.
    pub(super) fn read(&self, bucket: usize, end: u64) -> Option<SlotReading> {
        (0..TRIES).find_map(|_| {
            let before = self.version.load(Acquire);
            let reading = self.buckets[bucket].read();
            let same_window = self.window_end.load(Relaxed) == end;
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

/// Bins for each bucket, or none if times are not gathered.
fn time_bins(gathered: bool) -> Box<[TimeBins]> {
    let buckets = if gathered { BUCKETS } else { 0 };
    (0..buckets).map(|_| TimeBins::new()).collect()
}

impl BucketCounters {
    #[inline]
    fn add(&self, outcome: Outcome, now: Nanos, mean_before: u64) {
        let (ns, totals) = (outcome.observed.0, &self.totals);
        add_to(&totals.samples, 1);
        add_to(&totals.sum, ns);
        add_to(&totals.misses, u64::from(outcome.missed));
        if ns < mean_before {
            add_to(&totals.shortfall, mean_before - ns);
            add_to(&totals.misses_below, u64::from(outcome.missed));
        }
        self.last_ns.store(ns, Relaxed);
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
            last_at_and_ns: (self.last_at.load(Relaxed), self.last_ns.load(Relaxed)),
            extremes: (min <= max).then_some((min, max)),
        }
    }
}

#[inline]
fn add_to(total: &AtomicU64, by: u64) {
    total.store(total.load(Relaxed).wrapping_add(by), Relaxed);
}

/// The slots of a device's lanes, each with its totals merged so far. Only one lane merges at a
/// time; its claim orders it after the writes of the previous merging lane.
pub(super) struct SlotMerger {
    lanes: Box<[MergedSlot]>,
    /// The times of all lanes merged so far, per bucket; empty if times are not gathered.
    merged_times: Box<[TimeBins]>,
}

struct MergedSlot {
    slot: Arc<LaneSlot>,
    merged: [WindowTotals<AtomicU64>; BUCKETS],
}

#[derive(Default)]
struct NewSamples {
    totals: WindowTotals,
    /// Shortest and longest time, ns; `None` if no slot knows them.
    extremes: Option<(u64, u64)>,
    last_at_and_ns: (u64, u64),
}

impl SlotMerger {
    pub(super) fn new(slots: Vec<Arc<LaneSlot>>) -> Self {
        let merged_times = time_bins(slots.iter().any(|slot| !slot.times.is_empty()));
        let merged = |slot| MergedSlot {
            slot,
            merged: Default::default(),
        };
        let lanes = slots.into_iter().map(merged).collect();
        SlotMerger {
            lanes,
            merged_times,
        }
    }

    /// Calls `on_window` for every bucket with new samples. `means` holds the previous window's
    /// means, and those of this window on return.
    pub(super) fn close_windows(
        &self,
        end: u64,
        means: &[AtomicU64; BUCKETS],
        mut on_window: impl FnMut(&BucketWindow<'_>),
    ) {
        for (bucket, mean) in means.iter().enumerate() {
            let samples = self.take_new_samples(bucket, end);
            if samples.totals.samples == 0 {
                continue;
            }
            let times = self.take_times(bucket);
            let before = Nanos(mean.load(Relaxed));
            let window = samples.bucket_window(bucket, before, times.as_ref());
            mean.store(window.mean().0, Relaxed);
            on_window(&window);
        }
    }

    fn take_new_samples(&self, bucket: usize, end: u64) -> NewSamples {
        let mut samples = NewSamples::default();
        for lane in self.lanes.iter().filter(|l| l.slot.has_samples(bucket)) {
            let Some(reading) = lane.slot.read(bucket, end) else {
                continue;
            };
            let totals = lane.merged[bucket].each_ref().zip(reading.totals);
            let added = totals.map(|(merged, total)| {
                let before = merged.load(Relaxed);
                merged.store(total, Relaxed);
                total.wrapping_sub(before)
            });
            samples.totals = samples.totals.zip(added).map(|(a, b)| a.wrapping_add(b));
            if added.samples > 0 {
                samples.last_at_and_ns = samples.last_at_and_ns.max(reading.last_at_and_ns);
            }
            if let Some((low, high)) = reading.extremes {
                let (min, max) = samples.extremes.unwrap_or((low, high));
                samples.extremes = Some((min.min(low), max.max(high)));
            }
        }
        samples
    }

    fn take_times(&self, bucket: usize) -> Option<BinCounts> {
        let merged = self.merged_times.get(bucket)?;
        let lanes = self.lanes.iter().filter_map(|l| l.slot.times.get(bucket));
        Some(BinCounts::take(lanes, merged))
    }
}

impl NewSamples {
    fn bucket_window<'a>(
        self,
        bucket: usize,
        mean_before: Nanos,
        times: Option<&'a BinCounts>,
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
            last: Nanos(self.last_at_and_ns.1),
            mean_before,
            times,
        }
    }
}
