//! A histogram of one configuration's latencies, for percentiles, in the classes and with the
//! weights of the batch's histograms.

use crate::batch::histogram::{CLASSES, CountingLimit, class, middle};

/// Counts of latencies by class.
#[derive(Clone, Debug)]
pub(super) struct LatencyCounts(Box<[u32; CLASSES]>);

impl Default for LatencyCounts {
    fn default() -> Self {
        LatencyCounts(Box::new([0; CLASSES]))
    }
}

impl LatencyCounts {
    /// Counts the latency of I/O `io` of its lane.
    #[inline]
    pub fn count(&mut self, latency: i32, io: u64, counting: CountingLimit) {
        let weight = match latency >= counting.limit() {
            true => 1,
            false => CountingLimit::weight(io),
        };
        if weight > 0 {
            self.add(latency, weight as u32);
        }
    }

    /// Counts a latency with this weight.
    #[inline]
    pub fn add(&mut self, latency: i32, weight: u32) {
        self.0[class(latency) & (CLASSES - 1)] += weight;
    }

    /// The middles of the classes that hold p50, p99 and p99.9 of `ios` latencies by nearest rank,
    /// ns. Ranks are counted from the longest latency down, because every long latency was counted.
    pub fn ranks(&self, ios: u64) -> [f64; 3] {
        [0.5, 0.99, 0.999].map(|q| {
            let rank = ((q * ios as f64).ceil() as u64).max(1);
            let from_top = (ios + 1).saturating_sub(rank);
            let mut seen = 0;
            let found = (0..CLASSES).rev().find(|&class| {
                let here = u64::from(self.0[class]);
                seen += here;
                here > 0 && seen >= from_top
            });
            found.map_or(0.0, middle)
        })
    }
}
