//! What all lanes gathered since the last merge.

use super::Window;
use super::slot::{Slot, Totals};
use crate::bucket::BUCKETS;
use q2c_model::Nanos;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// The slots of a device's lanes, each with what was merged of it already.
///
/// Only one lane merges at a time: the one that claimed the window, whose claim also orders it after the last one's writes.
pub(super) struct Merge {
    lanes: Box<[Merged]>,
}

struct Merged {
    slot: Arc<Slot>,
    done: [Done; BUCKETS],
}

/// Totals at the last merge.
#[derive(Default)]
struct Done {
    samples: AtomicU64,
    sum: AtomicU64,
    misses: AtomicU64,
}

impl Merge {
    pub(super) fn new(slots: Vec<Arc<Slot>>) -> Self {
        let merged = |slot| Merged {
            slot,
            done: Default::default(),
        };
        Merge {
            lanes: slots.into_iter().map(merged).collect(),
        }
    }

    /// Hands every bucket that has new samples to `each`, with the window that ends at `end`.
    pub(super) fn windows(&self, end: u64, mut each: impl FnMut(usize, Window)) {
        for bucket in 0..BUCKETS {
            if let Some(window) = self.window(bucket, end) {
                each(bucket, window);
            }
        }
    }

    fn window(&self, bucket: usize, end: u64) -> Option<Window> {
        let mut all = Totals::default();
        let (mut min, mut max) = (u64::MAX, 0);
        for lane in self.lanes.iter().filter(|l| l.slot.is_used(bucket)) {
            let Some(reading) = lane.slot.read(bucket, end) else {
                continue;
            };
            all = all.plus(
                reading
                    .totals
                    .since(lane.done[bucket].replace(reading.totals)),
            );
            if let Some((low, high)) = reading.extremes {
                (min, max) = (min.min(low), max.max(high));
            }
        }
        // The extremes of a sample that raced with the last merge are not known, but the mean bounds them.
        let mean = all.sum.checked_div(all.samples)?;
        Some(Window {
            samples: all.samples,
            sum: all.sum,
            misses: all.misses,
            min: Nanos(min.min(mean)),
            max: Nanos(max.max(mean)),
        })
    }
}

impl Done {
    fn replace(&self, now: Totals) -> Totals {
        let before = Totals {
            samples: self.samples.load(Relaxed),
            sum: self.sum.load(Relaxed),
            misses: self.misses.load(Relaxed),
        };
        self.samples.store(now.samples, Relaxed);
        self.sum.store(now.sum, Relaxed);
        self.misses.store(now.misses, Relaxed);
        before
    }
}
