//! Sleeps of a point's jobs for a request of a hardware queue, from the run with stages.

use crate::late::Unseen;
use serde::{Deserialize, Serialize};

/// Sleeps of a point's jobs for a request (tag), or why they are not known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TagWaits {
    /// The kernel's sleeps were watched.
    Counted {
        /// The hardware queues at which a job slept, by device and queue; empty where none did.
        queues: Vec<QueueTagWaits>,
        /// Sleeps of the whole run for which the probe had no room.
        lost: u64,
    },
    /// They were not watched.
    Unseen(Unseen),
}

/// Sleeps of a point's jobs at one hardware queue in the counted part of the run, to 10 ms.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct QueueTagWaits {
    /// The device, `major:minor`.
    pub device: String,
    /// The hardware queue.
    pub queue: u32,
    /// Whether the requests that were all in use are those of the I/O scheduler. Otherwise they are
    /// the driver's.
    pub of_scheduler: bool,
    /// Times that a job slept. One I/O may sleep several times.
    pub sleeps: u64,
    /// Sum of the waits, ns.
    pub ns: u64,
}

impl TagWaits {
    /// Sleeps at all hardware queues and the sum of their times, ns; `None` where they are not
    /// known.
    #[must_use]
    pub fn sum(&self) -> Option<(u64, u64)> {
        match self {
            TagWaits::Counted { queues, .. } => Some((
                queues.iter().map(|queue| queue.sleeps).sum(),
                queues.iter().map(|queue| queue.ns).sum(),
            )),
            TagWaits::Unseen(_) => None,
        }
    }
}
