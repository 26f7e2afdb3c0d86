//! Counts over the records of a trace, and the description of a fleet: a folder with the traces of
//! many devices.

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

/// What an import by device made, as it stands in the folder's `_fleet.json`. docs/formats.md
/// describes the folder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FleetMeta {
    /// Name and version of this description: [`FleetMeta::SCHEMA`].
    pub schema: String,
    /// Requests in all traces.
    pub rows: u64,
    /// Devices.
    pub volumes: u64,
    /// Traces; a device has several when it has many requests.
    pub traces: u64,
    /// Recordings that were read.
    pub sources: u64,
    /// Time zero of all traces on the clock, ns.
    pub zero_ns: u64,
    /// Whether the clock is Unix time.
    pub unix: bool,
    /// The clock of the recordings.
    pub clock: String,
    /// The programs or formats that the recordings come from.
    pub source: String,
    /// Hosts by the major number that stands for them, where the recordings name hosts.
    pub hosts: BTreeMap<String, String>,
    /// Recordings that were left out, and the reason.
    pub bad_files: BTreeMap<String, String>,
    /// Events that were left out of the recordings, by reason.
    pub unmatched: BTreeMap<String, u64>,
    /// Events that the recordings' sources lost.
    pub lost: u64,
}

impl FleetMeta {
    /// The value of `schema`.
    pub const SCHEMA: &str = "q2c.fleet/1";
    /// Name of the file. Readers of folders of Parquet pass over names with an underscore.
    pub const FILE: &str = "_fleet.json";
}
