//! The operation and the flags of an I/O, and the layer in which it was seen.

use crate::ParseTextError;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The operation of a request.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Op {
    /// Reads data from the device.
    #[default]
    Read,
    /// Writes data to the device.
    Write,
    /// Empties the device's volatile cache.
    Flush,
    /// Tells the device that blocks are unused.
    Discard,
    /// Any other operation (zone management, passthrough, write zeroes).
    Other,
}

impl Op {
    /// All operations, each at the index `op as usize`.
    pub const ALL: [Op; 5] = [Op::Read, Op::Write, Op::Flush, Op::Discard, Op::Other];

    /// The name used in files and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Op::Read => "read",
            Op::Write => "write",
            Op::Flush => "flush",
            Op::Discard => "discard",
            Op::Other => "other",
        }
    }

    /// The direction under which statistics count the operation. Every operation other than a read
    /// counts as a write, as in the kernel's `rq_data_dir` (include/linux/blk-mq.h).
    pub const fn direction(self) -> Direction {
        match self {
            Op::Read => Direction::Read,
            _ => Direction::Write,
        }
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Op {
    type Err = ParseTextError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const NAMES: &str = "one of read, write, flush, discard, other";
        match text.to_ascii_lowercase().as_str() {
            "read" | "r" => Ok(Op::Read),
            "write" | "w" => Ok(Op::Write),
            "flush" | "f" => Ok(Op::Flush),
            "discard" | "trim" | "d" => Ok(Op::Discard),
            "other" => Ok(Op::Other),
            _ => Err(ParseTextError::new(NAMES, text)),
        }
    }
}

/// Read or write. Sleep rules keep separate statistics for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Data comes from the device.
    #[default]
    Read,
    /// Data goes to the device.
    Write,
}

/// The layer in which the times of a record were taken. A statistic never mixes layers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Layer {
    /// The program that does the I/O took the times, from submission to reaping: **U2C**.
    User,
    /// The kernel's block layer took the times, from queued to complete: **Q2C**.
    #[default]
    Block,
}

impl Layer {
    /// The name used in files and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Layer::User => "user",
            Layer::Block => "block",
        }
    }
}

/// Properties of a request, as a bit set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct OpFlags(pub u32);

impl OpFlags {
    /// A thread waits for the request.
    pub const SYNC: OpFlags = OpFlags(1);
    /// The request carries file system metadata.
    pub const META: OpFlags = OpFlags(2);
    /// Forced unit access: the data are on the medium before the completion.
    pub const FUA: OpFlags = OpFlags(4);
    /// The kernel reads data before they are needed.
    pub const READAHEAD: OpFlags = OpFlags(8);
    /// The request was completed by polling the device's queue.
    pub const POLLED: OpFlags = OpFlags(16);
    /// The I/O is a part of a bio that the block layer split (blktrace's X), because it was longer
    /// than the device takes. All parts have the thread and the queueing time of the whole.
    pub const SPLIT: OpFlags = OpFlags(32);
    /// The time of an event was before that of an earlier event in the source, which replaced it.
    /// So no figure may use the times.
    pub const UNTIMED: OpFlags = OpFlags(64);

    /// True if all bits of `other` are set.
    pub const fn contains(self, other: OpFlags) -> bool {
        self.0 & other.0 == other.0
    }

    /// The union of both sets.
    pub const fn union(self, other: OpFlags) -> OpFlags {
        OpFlags(self.0 | other.0)
    }
}
