//! Merges the samples that all lanes gathered since the last merge.

use super::BucketWindow;
use super::slot::{LaneSlot, SlotTotals};
use super::times::{TimeBins, Times};
use crate::bucket::BUCKETS;
use q2c_model::Nanos;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// The slots of a device's lanes, each with the totals already merged. Only one lane merges at a
/// time; its claim orders it after the writes of the last merging lane.
pub(super) struct SlotMerger {
    lanes: Box<[MergedSlot]>,
    /// Per bucket, the times of all lanes already merged; empty when times are not gathered.
    times_done: Box<[TimeBins]>,
}

struct MergedSlot {
    slot: Arc<LaneSlot>,
    done: [SlotTotals<AtomicU64>; BUCKETS],
}

#[derive(Default)]
struct NewSamples {
    totals: SlotTotals,
    /// Shortest and longest time, ns; `None` when no slot has them.
    extremes: Option<(u64, u64)>,
    last: (u64, u64),
}

impl SlotMerger {
    pub(super) fn new(slots: Vec<Arc<LaneSlot>>) -> Self {
        let gathers = slots.iter().any(|slot| slot.times(0).is_some());
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

    /// Calls `each` for every bucket with new samples. `means` has the means of the window before,
    /// on return those of this one.
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
            let done = lane.done[bucket].each_ref().zip(reading.totals);
            let done = done.map(|(total, now)| {
                let before = total.load(Relaxed);
                total.store(now, Relaxed);
                before
            });
            let new = reading.totals.since(done);
            sums.totals = sums.totals.plus(new);
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
        let tallies = self.lanes.iter().filter_map(|l| l.slot.times(bucket));
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
        let SlotTotals {
            samples,
            sum,
            misses,
            shortfall,
            misses_below,
        } = self.totals;
        // The extremes of samples that raced with the last merge are not known. The mean bounds
        // them: the shortest time is not above it, the longest not below.
        let mean = sum / samples;
        let (min, max) = self.extremes.unwrap_or((mean, mean));
        BucketWindow {
            bucket,
            samples,
            sum,
            misses,
            min: Nanos(min.min(mean)),
            max: Nanos(max.max(mean)),
            last: Nanos(self.last.1),
            mean_before,
            shortfall,
            misses_below,
            times,
        }
    }
}
