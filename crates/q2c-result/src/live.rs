//! The figures that live views show at intervals, and the lines that `--json` writes of them: one
//! JSON object a line, `"kind": "interval"` for each interval and `"kind": "summary"` at the end.

mod latency;

pub use latency::{LatencyBucket, LatencyCounts};

use crate::analyze::{Bottleneck, StageStats};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The schema of the lines of `q2c analyze --live --json`, which hold a [`LiveInterval`].
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
    /// Sum of Q2C over the length: mean I/Os in flight where these are short.
    pub in_flight_mean: f64,
    /// I/Os in flight at the end of the interval, about.
    pub in_flight_now: u64,
    /// Latencies (Q2C) of the I/Os that were seen queued and complete.
    pub latency: LatencyCounts,
    /// Latencies by stage.
    pub stages: BTreeMap<String, StageStats>,
    /// The stage that takes most time; `None` without an I/O.
    pub bottleneck: Option<Bottleneck>,
    /// The processes with most I/Os, the first with most; at most [`LiveInterval::PROCESSES`].
    pub processes: Vec<ProcessIos>,
    /// Number of processes that had I/Os, those that are not listed included.
    pub processes_seen: u64,
    /// I/Os or events lost since the capture began.
    pub lost: u64,
    /// I/Os since the capture began that completed and were not seen when they were queued.
    pub unqueued: u64,
}

impl LiveInterval {
    /// Most processes of an interval that are listed.
    pub const PROCESSES: usize = 16;
}

/// The I/Os of a process in an interval. Of I/Os that are written back, it is the kernel's thread.
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
    /// The result of the whole, which is the last line.
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
}
