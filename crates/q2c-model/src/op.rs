//! What an I/O does, and where it was seen.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// The operation of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Op {
    /// Data from the device.
    Read,
    /// Data to the device.
    Write,
    /// Empty the device's volatile cache.
    Flush,
    /// Tell the device that blocks are unused.
    Discard,
    /// Anything else (zone management, passthrough, write zeroes).
    Other,
}

impl Op {
    /// The name used in files and tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Op::Read => "read",
            Op::Write => "write",
            Op::Flush => "flush",
            Op::Discard => "discard",
            Op::Other => "other",
        }
    }

    /// The direction in which statistics count it: everything that is not a read counts as a write,
    /// as `rq_data_dir` does in the kernel (include/linux/blk-mq.h).
    #[must_use]
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

/// An operation's name that is none.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("expected one of read, write, flush, discard, other, found `{0}`")]
pub struct ParseOpError(pub String);

impl FromStr for Op {
    type Err = ParseOpError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.to_ascii_lowercase().as_str() {
            "read" | "r" => Ok(Op::Read),
            "write" | "w" => Ok(Op::Write),
            "flush" | "f" => Ok(Op::Flush),
            "discard" | "trim" | "d" => Ok(Op::Discard),
            "other" => Ok(Op::Other),
            _ => Err(ParseOpError(text.to_owned())),
        }
    }
}

/// Read or write: what sleep rules keep apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// From the device.
    #[default]
    Read,
    /// To the device.
    Write,
}

/// Where the times of a record were taken. The two are never mixed in one statistic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Layer {
    /// By the program that does the I/O: submission to reaping, **U2C**.
    User,
    /// By the kernel's block layer: queued to complete, **Q2C**.
    Block,
}

impl Layer {
    /// The name used in files and tables.
    #[must_use]
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
    /// Somebody waits for it.
    pub const SYNC: OpFlags = OpFlags(1);
    /// File system metadata.
    pub const META: OpFlags = OpFlags(2);
    /// Forced unit access: on the medium before completion.
    pub const FUA: OpFlags = OpFlags(4);
    /// Read ahead of need.
    pub const READAHEAD: OpFlags = OpFlags(8);
    /// Completed by polling the device's queue.
    pub const POLLED: OpFlags = OpFlags(16);

    /// Whether all bits of `other` are set.
    #[must_use]
    pub const fn contains(self, other: OpFlags) -> bool {
        self.0 & other.0 == other.0
    }

    /// Both sets together.
    #[must_use]
    pub const fn union(self, other: OpFlags) -> OpFlags {
        OpFlags(self.0 | other.0)
    }
}
