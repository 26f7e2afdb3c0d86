//! The block device of a point, as the kernel showed it during the point's trials.

use serde::{Deserialize, Serialize};
use strum::AsRefStr;

/// What the kernel says of a point's block device. A fact that could not be read is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PointDevice {
    /// The kind of the device, by its driver.
    pub kind: DeviceKind,
    /// Hardware queues of all types; `None` for a device that takes bios directly.
    pub hw_queues: Option<u32>,
    /// The hardware queues by type, which only debugfs shows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_types: Option<QueueTypes>,
    /// Requests of each hardware queue, or of the I/O scheduler if there is one.
    pub nr_requests: Option<u64>,
    /// Name of the I/O scheduler in use.
    pub scheduler: Option<String>,
    /// Whether the device can be polled.
    pub io_poll: Option<bool>,
}

impl PointDevice {
    /// Queues of unpolled requests, if the types are known; else all hardware queues.
    pub fn default_queues(&self) -> Option<u32> {
        let of_type = self.queue_types.map(|types| types.default);
        of_type.or(self.hw_queues)
    }
}

/// Hardware queues by type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueTypes {
    /// Queues of all requests whose type has no queues of its own.
    pub default: u32,
    /// Queues of reads.
    pub read: u32,
    /// Queues of polled requests.
    pub poll: u32,
}

/// The kind of a block device; results hold it as a word.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, AsRefStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum DeviceKind {
    /// The null block device.
    NullBlk,
    /// The RAM disk of `kmod/ramdisk_mq`.
    RamdiskMq,
    /// An NVMe namespace.
    Nvme,
    /// A disk of a virtual machine.
    VirtioBlk,
    /// A device that a user-space server makes by ublk.
    Ublk,
    /// A loop device.
    Loop,
    /// Another driver, by the name under which its major number is registered.
    #[serde(untagged)]
    #[strum(transparent)]
    Other(String),
}

impl Default for DeviceKind {
    fn default() -> Self {
        DeviceKind::Other("unknown".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_has_the_word_that_results_have() {
        for word in [
            "null_blk",
            "ramdisk_mq",
            "nvme",
            "virtio_blk",
            "ublk",
            "loop",
            "zram",
        ] {
            let json = format!("{word:?}");
            let kind: DeviceKind = serde_json::from_str(&json).unwrap();
            assert_eq!(kind.as_ref(), word);
            crate::tests::assert_json(&kind, &json);
        }
    }
}
