//! The RAM devices of a machine.

use q2c_model::Bytes;
use serde::{Deserialize, Serialize};

/// The schema's name.
pub const SCHEMA: &str = "q2c.ramdisk/1";

/// All RAM devices that q2c knows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RamDevices {
    /// [`SCHEMA`].
    pub schema: String,
    /// The devices.
    pub devices: Vec<RamDevice>,
}

/// What makes a RAM device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Via {
    /// The kernel module `ramdisk_mq`.
    Module,
    /// A server of q2c, by ublk.
    Ublk,
}

/// Whether a RAM device answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// It does.
    Served,
    /// Its server has ended: requests wait, and its data can be had again.
    Recoverable,
    /// Its server and its data are gone: requests wait until it is deleted.
    Lost,
}

/// A RAM device, as it was read back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RamDevice {
    /// Name of the block device.
    pub name: String,
    /// What makes it.
    pub via: Via,
    /// Capacity.
    #[serde(rename = "size_bytes")]
    pub size: Bytes,
    /// Logical block.
    #[serde(rename = "block_bytes")]
    pub block: Bytes,
    /// Hardware queues that end requests by themselves.
    pub queues: u32,
    /// Hardware queues whose requests end when somebody polls.
    pub poll_queues: u32,
    /// Requests per hardware queue.
    pub depth: u32,
    /// Service times as they were asked for.
    pub service: Option<String>,
    /// Process of the server.
    pub server: Option<u32>,
    /// Whether it answers.
    pub state: State,
}
