//! The description of a fleet: a folder with the traces of many devices.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

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
