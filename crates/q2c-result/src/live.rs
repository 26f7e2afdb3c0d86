//! What a running capture shows at intervals.

use crate::analyze::{Bottleneck, StageStats};
use std::collections::BTreeMap;

/// The I/Os that completed in an interval.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LiveInterval {
    /// End, seconds since the capture began.
    pub end_s: f64,
    /// Completed per second.
    pub iops: f64,
    /// Their bytes, MiB per second.
    pub mib_s: f64,
    /// Sum of their Q2C over the interval's length: I/Os in flight, where it is long against an I/O.
    pub in_flight_mean: f64,
    /// In flight at the end, about.
    pub in_flight_now: u64,
    /// Latencies by stage.
    pub stages: BTreeMap<String, StageStats>,
    /// Where time goes; none without an I/O.
    pub bottleneck: Option<Bottleneck>,
    /// I/Os or events lost since the capture began.
    pub lost: u64,
    /// I/Os since then that completed without having been seen queued.
    pub unqueued: u64,
}
