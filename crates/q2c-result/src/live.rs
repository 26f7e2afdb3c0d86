//! The figures that live views show at intervals, and the lines of `--json`: one JSON object per
//! line, `"kind": "interval"` for each interval and `"kind": "summary"` at the end.
//!
//! Also latencies as counts in buckets.

use crate::analyze::{Bottleneck, StageStats};
use q2c_model::stats::{Histogram, HistogramStep, join_steps};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The schema of the lines of `q2c top --json`, each of which holds a [`LiveInterval`].
pub const SCHEMA: &str = "q2c.live-interval/1";

/// The I/Os that completed in an interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LiveInterval {
    /// End of the interval, seconds since the capture began.
    pub end_s: f64,
    /// Length of the interval, seconds.
    pub length_s: f64,
    /// I/Os that completed.
    pub ios: u64,
    /// Bytes of these I/Os.
    pub bytes: u64,
    /// I/Os that completed, per second.
    pub iops: f64,
    /// Bytes of these I/Os, MiB per second.
    pub mib_s: f64,
    /// Sum of Q2C over the interval's length: the mean number in flight, if I/Os are short.
    pub in_flight_mean: f64,
    /// Approximate number of I/Os in flight at the end of the interval; `None` for one disk of
    /// several, since the recorder counts them together.
    pub in_flight_now: Option<u64>,
    /// Latencies (Q2C) of the I/Os that were seen both queued and complete.
    pub latency: LatencyCounts,
    /// Latencies by stage.
    pub stages: BTreeMap<String, StageStats>,
    /// The stage that takes most time; `None` without an I/O.
    pub bottleneck: Option<Bottleneck>,
    /// The processes with most I/Os, most first; at most [`LiveInterval::PROCESSES`].
    pub processes: Vec<ProcessIos>,
    /// Number of processes that had I/Os, including those that are not listed.
    pub processes_seen: u64,
    /// I/Os or events lost since the capture began.
    pub lost: u64,
    /// I/Os since the capture started that completed but were not seen when they were queued.
    pub unqueued: u64,
    /// The I/Os of each disk, by its name; empty in a capture of one disk. `lost` and `unqueued`
    /// are those of the whole capture here, too.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub disks: BTreeMap<String, LiveInterval>,
}

impl LiveInterval {
    /// Largest number of processes that an interval lists.
    pub const PROCESSES: usize = 16;
}

/// The I/Os of a process in an interval. Writeback counts for the kernel thread that does it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessIos {
    /// Process id; `None` when it is not known.
    pub pid: Option<u32>,
    /// Name of the first queueing thread, at most 15 bytes; empty when not known.
    pub comm: String,
    /// I/Os that completed.
    pub ios: u64,
    /// Bytes of these I/Os.
    pub bytes: u64,
}

/// What a line holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LineKind {
    /// An interval that has ended.
    Interval,
    /// The result of the whole capture, in the last line.
    Summary,
}

/// A line of an interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IntervalLine<T> {
    /// [`LineKind::Interval`].
    pub kind: LineKind,
    /// The schema of the interval.
    pub schema: String,
    /// The device or target that is watched.
    pub device: String,
    /// The figures of the interval.
    #[serde(flatten)]
    pub interval: T,
}

impl<T> IntervalLine<T> {
    /// The line of an interval.
    pub fn new(schema: &str, device: &str, interval: T) -> Self {
        IntervalLine {
            kind: LineKind::Interval,
            schema: schema.to_owned(),
            device: device.to_owned(),
            interval,
        }
    }
}

/// The last line: a result, with its own schema.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SummaryLine<T> {
    /// [`LineKind::Summary`].
    pub kind: LineKind,
    /// The result.
    #[serde(flatten)]
    pub result: T,
}

impl<T> SummaryLine<T> {
    /// The line of a result.
    pub fn new(result: T) -> Self {
        SummaryLine {
            kind: LineKind::Summary,
            result,
        }
    }
}

/// I/Os whose latency is in a range of ns that includes `from_ns` and excludes `below_ns`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LatencyBucket {
    /// Start of the range, ns, included.
    pub from_ns: u64,
    /// End of the range, ns, excluded.
    pub below_ns: u64,
    /// I/Os with such a latency.
    pub ios: u64,
}

/// The latencies of some I/Os: their number, their sum, and the counts of buckets, which are
/// quarters of an octave from 64 ns on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LatencyCounts {
    /// I/Os whose latency is known.
    pub ios: u64,
    /// Sum of their latencies, ns.
    pub sum_ns: u64,
    /// The buckets that are not empty, in ascending order.
    pub buckets: Vec<LatencyBucket>,
}

impl From<&Histogram> for LatencyCounts {
    fn from(histogram: &Histogram) -> Self {
        let bucket = |step: HistogramStep| LatencyBucket {
            from_ns: step.start(),
            below_ns: step.end(),
            ios: step.count,
        };
        LatencyCounts {
            ios: histogram.count(),
            sum_ns: u64::try_from(histogram.sum()).unwrap_or(u64::MAX),
            buckets: histogram.steps().into_iter().map(bucket).collect(),
        }
    }
}

impl LatencyCounts {
    /// The counts in at most `most` adjacent ranges, as narrow as possible. `most` is at least 2.
    pub fn rows(&self, most: usize) -> Vec<LatencyBucket> {
        let step = |bucket: &LatencyBucket| HistogramStep::from_start(bucket.from_ns, bucket.ios);
        let steps: Vec<HistogramStep> = self.buckets.iter().filter_map(step).collect();
        let row = |(from_ns, below_ns, ios)| LatencyBucket {
            from_ns,
            below_ns,
            ios,
        };
        join_steps(&steps, most).into_iter().map(row).collect()
    }

    /// Number of I/Os with a latency below `bound_ns`, which must be a bound of the buckets.
    pub fn below(&self, bound_ns: u64) -> u64 {
        let below = |bucket: &&LatencyBucket| bucket.below_ns <= bound_ns;
        self.buckets.iter().filter(below).map(|b| b.ios).sum()
    }

    /// Adds the latencies of other I/Os.
    pub fn add(&mut self, other: &LatencyCounts) {
        self.ios += other.ios;
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        for added in &other.buckets {
            match (self.buckets).binary_search_by_key(&added.from_ns, |bucket| bucket.from_ns) {
                Ok(at) => self.buckets[at].ios += added.ios,
                Err(at) => self.buckets.insert(at, *added),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_comes_back_as_it_was() {
        let interval = LiveInterval {
            end_s: 1.0,
            processes: vec![ProcessIos {
                pid: Some(7),
                ..ProcessIos::default()
            }],
            ..LiveInterval::default()
        };
        let line = IntervalLine::new(SCHEMA, "sda", interval);
        let text = serde_json::to_string(&line).unwrap();
        let head =
            r#"{"kind":"interval","schema":"q2c.live-interval/1","device":"sda","end_s":1.0,"#;
        assert!(text.starts_with(head), "{text}");
        let read: IntervalLine<LiveInterval> = serde_json::from_str(&text).unwrap();
        assert_eq!(read, line);
    }

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
