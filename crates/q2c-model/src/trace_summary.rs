//! Counts over the records of a trace.

use crate::{Bytes, Nanos};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Counts over the records of a trace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TraceSummary {
    /// Number of records.
    pub records: u64,
    /// Records by layer.
    pub layers: BTreeMap<String, u64>,
    /// Records by operation.
    pub ops: BTreeMap<String, u64>,
    /// Bytes by operation.
    pub op_bytes: BTreeMap<String, Bytes>,
    /// Records by device (`major:minor`; `0:0` stands for unknown).
    pub devices: BTreeMap<String, u64>,
    /// Records by length, bytes.
    pub sizes: BTreeMap<Bytes, u64>,
    /// Number of lanes, that is of submitting threads.
    pub lanes: u32,
    /// Largest depth of a lane: requests in flight, the new one included.
    pub deepest: u32,
    /// Time from the earliest to the latest instant in the trace, ns; zero without times.
    pub span_ns: Nanos,
    /// Latency from submission to reaping; `None` without user-layer times.
    pub u2c: Option<TraceLatency>,
    /// Latency from queued to complete; `None` without block-layer times.
    pub q2c: Option<TraceLatency>,
    /// Latency from issue to complete of the requests whose queueing is not known; `None` without
    /// such requests.
    pub d2c: Option<TraceLatency>,
    /// Records whose request slept before it polled.
    pub slept: u64,
    /// Records whose request slept and missed.
    pub missed: u64,
    /// Records with an error other than 0.
    pub failed: u64,
}

/// A latency over all records of a trace that have it, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TraceLatency {
    /// Records that have the latency.
    pub ios: u64,
    /// Smallest value.
    pub min_ns: Nanos,
    /// Mean value.
    pub mean_ns: f64,
    /// Median, rounded down by less than 0.8 %.
    pub p50_ns: Nanos,
    /// 99th percentile, rounded down by less than 0.8 %.
    pub p99_ns: Nanos,
    /// Largest value.
    pub max_ns: Nanos,
}
