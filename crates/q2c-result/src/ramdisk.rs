//! The result of `q2c ramdisk`: the RAM devices of a machine.

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

/// The maker of a RAM device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RamDeviceServer {
    /// The kernel module `ramdisk_mq`.
    Module,
    /// A server process of q2c, through ublk.
    Ublk,
}

/// Whether a RAM device answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// The device answers.
    Served,
    /// The server has ended: requests wait, and a new server can recover the data.
    Recoverable,
    /// The server and the data are gone: requests wait until the device is deleted.
    Lost,
}

/// A RAM device, as it was read back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RamDevice {
    /// Name of the block device.
    pub name: String,
    /// The maker of the device.
    pub via: RamDeviceServer,
    /// Capacity.
    #[serde(rename = "size_bytes")]
    pub size: Bytes,
    /// Logical block.
    #[serde(rename = "block_bytes")]
    pub block: Bytes,
    /// Hardware queues that complete requests without polling.
    pub queues: u32,
    /// Hardware queues that complete requests only when they are polled.
    pub poll_queues: u32,
    /// Requests per hardware queue.
    pub depth: u32,
    /// Service times as asked for; `None` if the user asked for none.
    pub service: Option<String>,
    /// Process id of the server; `None` without a server.
    pub server: Option<u32>,
    /// Whether the device answers.
    pub state: State,
}
