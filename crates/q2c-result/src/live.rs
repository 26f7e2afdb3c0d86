//! The figures that live views show at intervals, and the lines that `--json` writes of them: one
//! JSON object a line, `"kind": "interval"` for each interval and `"kind": "summary"` at the end.

mod latency;
mod line;

pub use latency::{LatencyBucket, LatencyCounts};
pub use line::{IntervalLine, LineKind, SummaryLine};

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
