//! Latencies as counts in buckets.

use q2c_model::stats::{Histogram, HistogramStep, coarser};
use serde::{Deserialize, Serialize};

/// I/Os whose latency is in a range of ns: `from_ns` is in it, `below_ns` is not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LatencyBucket {
    /// The least latency in the bucket, ns.
    pub from_ns: u64,
    /// The least latency above the bucket, ns.
    pub below_ns: u64,
    /// I/Os with such a latency.
    pub ios: u64,
}

/// The latencies of some I/Os: their number, their sum, and how many lie in each quarter of an
/// octave from 64 ns on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LatencyCounts {
    /// I/Os whose latency is known.
    pub ios: u64,
    /// Sum of their latencies, ns.
    pub sum_ns: u64,
    /// The buckets that are not empty, in rising order.
    pub buckets: Vec<LatencyBucket>,
}

impl From<&Histogram> for LatencyCounts {
    fn from(of: &Histogram) -> Self {
        let bucket = |step: HistogramStep| LatencyBucket {
            from_ns: step.from(),
            below_ns: step.below(),
            ios: step.count,
        };
        LatencyCounts {
            ios: of.count(),
            sum_ns: u64::try_from(of.sum()).unwrap_or(u64::MAX),
            buckets: of.steps().into_iter().map(bucket).collect(),
        }
    }
}

impl LatencyCounts {
    /// The counts in at most `most` (at least 2) adjacent ranges, as narrow as that allows.
    pub fn rows(&self, most: usize) -> Vec<LatencyBucket> {
        let step =
            |bucket: &LatencyBucket| HistogramStep::that_begins_at(bucket.from_ns, bucket.ios);
        let steps: Vec<HistogramStep> = self.buckets.iter().filter_map(step).collect();
        let row = |(from_ns, below_ns, ios)| LatencyBucket {
            from_ns,
            below_ns,
            ios,
        };
        coarser(&steps, most).into_iter().map(row).collect()
    }

    /// Number of I/Os with a latency below a bound of the buckets.
    pub fn below(&self, bound_ns: u64) -> u64 {
        let below = |bucket: &&LatencyBucket| bucket.below_ns <= bound_ns;
        self.buckets.iter().filter(below).map(|b| b.ios).sum()
    }

    /// Adds the latencies of other I/Os.
    pub fn add(&mut self, other: &LatencyCounts) {
        self.ios += other.ios;
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        for more in &other.buckets {
            let place = self
                .buckets
                .binary_search_by_key(&more.from_ns, |bucket| bucket.from_ns);
            match place {
                Ok(at) => self.buckets[at].ios += more.ios,
                Err(at) => self.buckets.insert(at, *more),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(latencies: &[u64]) -> LatencyCounts {
        let mut histogram = Histogram::default();
        latencies.iter().for_each(|ns| histogram.record(*ns));
        LatencyCounts::from(&histogram)
    }

    #[test]
    fn parts_add_up_to_the_whole() {
        let mut sum = counts(&[20, 90, 4_000, 5_000]);
        sum.add(&counts(&[70, 95, 4_100, 9_000_000]));
        assert_eq!(
            sum,
            counts(&[20, 70, 90, 95, 4_000, 4_100, 5_000, 9_000_000])
        );
        assert_eq!((sum.ios, sum.sum_ns), (8, 9_013_375));
        let below = [64, 96, 1 << 12, u64::MAX].map(|ns| sum.below(ns));
        assert_eq!(below, [1, 4, 5, 8]);
    }

    #[test]
    fn rows_hold_every_io() {
        let counts = counts(&[20, 90, 4_000, 5_000, 5_001]);
        for most in 2..40 {
            let rows = counts.rows(most);
            assert!(rows.len() <= most);
            assert_eq!(rows.iter().map(|row| row.ios).sum::<u64>(), 5);
        }
        assert_eq!(LatencyCounts::default().rows(9), []);
    }
}
