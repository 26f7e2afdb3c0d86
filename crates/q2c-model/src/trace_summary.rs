//! The summary of a trace, and the description of a fleet: a folder with the traces of many
//! devices.

use crate::{Bytes, Nanos};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Counts and latencies over the records of a trace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TraceSummary {
    /// Number of records.
    pub records: u64,
    /// Number of records by layer.
    pub layers: BTreeMap<String, u64>,
    /// Number of records by operation.
    pub ops: BTreeMap<String, u64>,
    /// Bytes by operation.
    pub op_bytes: BTreeMap<String, Bytes>,
    /// Number of records by device (`major:minor`; `0:0` means unknown).
    pub devices: BTreeMap<String, u64>,
    /// Number of records by length in bytes.
    pub sizes: BTreeMap<Bytes, u64>,
    /// Number of lanes, that is of submitting threads.
    pub lanes: u32,
    /// Largest depth of a lane: requests in flight, the new one included.
    pub deepest: u32,
    /// Time from the earliest to the latest instant in the trace, ns; zero without times.
    pub span_ns: Nanos,
    /// Latency from submission to reaping; `None` without user-layer times.
    pub u2c: Option<TraceLatency>,
    /// Latency from queueing to completion; `None` without block-layer times.
    pub q2c: Option<TraceLatency>,
    /// Latency from issue to completion of requests whose queueing is unknown; `None` without such
    /// requests.
    pub d2c: Option<TraceLatency>,
    /// Number of records whose request slept before it polled.
    pub slept: u64,
    /// Number of records whose request slept and missed.
    pub missed: u64,
    /// Number of records with an error other than 0.
    pub failed: u64,
}

/// A latency over all records of a trace that have it, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TraceLatency {
    /// Number of records that have the latency.
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

/// The result of an import by device, as stored in the folder's `_fleet.json`. docs/formats.md
/// describes the folder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FleetMeta {
    /// Name and version of this description: [`FleetMeta::SCHEMA`].
    pub schema: String,
    /// Number of requests in all traces.
    pub rows: u64,
    /// Number of devices.
    pub volumes: u64,
    /// Number of traces; a device with many requests has several.
    pub traces: u64,
    /// Number of recordings that were read.
    pub sources: u64,
    /// Time zero of all traces on the clock, ns.
    pub zero_ns: u64,
    /// True if the clock is Unix time.
    pub unix: bool,
    /// The clock of the recordings.
    pub clock: String,
    /// The programs or formats that wrote the recordings.
    pub source: String,
    /// Names of hosts by their major number, if the recordings name hosts.
    pub hosts: BTreeMap<String, String>,
    /// Recordings that were left out, with the reason.
    pub bad_files: BTreeMap<String, String>,
    /// Number of events that were left out of the recordings, by reason.
    pub unmatched: BTreeMap<String, u64>,
    /// Number of events that the recordings' sources lost.
    pub lost: u64,
}

impl FleetMeta {
    /// The value of `schema`.
    pub const SCHEMA: &str = "q2c.fleet/1";
    /// Name of the file. Readers of Parquet folders ignore names that begin with an underscore.
    pub const FILE: &str = "_fleet.json";
}
