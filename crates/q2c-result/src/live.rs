//! The figures that `q2c analyze --live` shows at intervals.

use crate::analyze::{Bottleneck, StageStats};
use std::collections::BTreeMap;

/// The I/Os that completed in an interval.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LiveInterval {
    /// End of the interval, seconds since the capture began.
    pub end_s: f64,
    /// I/Os that completed, per second.
    pub iops: f64,
    /// Bytes of these I/Os, MiB per second.
    pub mib_s: f64,
    /// Sum of these I/Os' Q2C over the interval's length. It is the mean number of I/Os in flight
    /// when the interval is long against an I/O.
    pub in_flight_mean: f64,
    /// I/Os in flight at the end of the interval, about.
    pub in_flight_now: u64,
    /// Latencies by stage.
    pub stages: BTreeMap<String, StageStats>,
    /// The stage that takes most time; `None` without an I/O.
    pub bottleneck: Option<Bottleneck>,
    /// I/Os or events lost since the capture began.
    pub lost: u64,
    /// I/Os since the capture began that completed and were not seen when they were queued.
    pub unqueued: u64,
}
