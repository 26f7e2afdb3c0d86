//! The result of `q2c poll steer --json`: schema `q2c.steer/1`.

use crate::Device;
use serde::{Deserialize, Serialize};

/// This version's schema name.
pub const SCHEMA: &str = "q2c.steer/1";

/// How a device was steered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SteerResult {
    /// [`SCHEMA`].
    pub schema: String,
    /// Version of q2c.
    pub version: String,
    /// How it ended: `asked` (its time was over) or `signal`.
    pub ended: String,
    /// The device.
    pub device: Device,
    /// The rule.
    pub policy: String,
    /// How long, seconds.
    pub seconds: f64,
    /// Completions that the rule saw.
    pub completions: u64,
    /// Completions that it did not, for lack of room.
    pub lost: u64,
    /// Values written.
    pub writes: u64,
    /// The last value: -1 classic polling, else microseconds.
    pub last_delay: i64,
    /// Whether requests of several sizes or directions shared the one value.
    pub mixed: bool,
    /// CPU of q2c, percent of one CPU. The probe's own is in the requests'.
    pub own_cpu_pct: f64,
    /// How putting the setting back ended, in words.
    pub restored: String,
}
