//! The result of `q2c poll steer --json`: schema `q2c.steer/1`.

use crate::Device;
use serde::{Deserialize, Serialize};

/// This version's schema name.
pub const SCHEMA: &str = "q2c.steer/1";

/// The outcome of steering the kernel's own hybrid polling of a device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SteerResult {
    /// [`SCHEMA`].
    pub schema: String,
    /// Version of q2c.
    pub version: String,
    /// Why steering ended: `asked` (its time was over) or `signal`.
    pub ended: String,
    /// Facts of the device.
    pub device: Device,
    /// The sleep rule with its parameters.
    pub policy: String,
    /// Time for which the device was steered, seconds.
    pub seconds: f64,
    /// Completions that the rule saw.
    pub completions: u64,
    /// Lost completions, which the rule did not see because the buffers were full.
    pub lost: u64,
    /// Reads and writes that nobody polled for; the rule does not learn from them.
    pub unpolled: u64,
    /// Number of values written to `io_poll_delay`.
    pub writes: u64,
    /// The last value of `io_poll_delay`: -1 for classic polling, else microseconds.
    pub last_delay: i64,
    /// Whether requests of several sizes or directions shared the one value.
    pub mixed: bool,
    /// CPU of q2c, percent of one CPU; the probe's CPU time counts for the requests' threads.
    pub own_cpu_pct: f64,
    /// Whether the setting was restored, in words.
    pub restored: String,
}
