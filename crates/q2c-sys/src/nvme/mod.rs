//! NVMe namespaces behind their character device (`/dev/ng0n1`): identifying them, and the commands
//! that read and write them.

mod command;
mod identify;

pub use command::{MOST_BLOCKS, URING_CMD_IO, rw_command};
pub use identify::namespace;

use std::io;
use thiserror::Error;

/// A namespace as commands address it. [`namespace`] reads it from the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Namespace {
    /// Namespace identifier (NSID).
    pub id: u32,
    /// Bytes of a logical block, a power of two.
    pub block: u32,
    /// Number of logical blocks.
    pub blocks: u64,
}

/// The errors of reading and writing a namespace by commands.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum NvmeError {
    /// The file is not a character device.
    #[error(
        "use the target for NVMe passthrough: it is no character device; name the namespace's own, such as /dev/ng0n1"
    )]
    NotACharacterDevice,
    /// The file is another character device, or that of a controller.
    #[error(
        "ask the target for its NVMe namespace: {0}; name a namespace's character device, such as /dev/ng0n1"
    )]
    NoNamespace(io::Error),
    /// The Identify command was refused.
    #[error(
        "identify NVMe namespace {id}: {source}; before Linux 6.2 that needs root (CAP_SYS_ADMIN)"
    )]
    Identify {
        /// Namespace identifier.
        id: u32,
        /// The kernel's answer; EIO for a status of the device.
        source: io::Error,
    },
    /// The namespace's format is not one that plain reads and writes can use.
    #[error(
        "use NVMe namespace {id}: {problem}; format it with whole blocks of 512 bytes or more and without metadata"
    )]
    Format {
        /// Namespace identifier.
        id: u32,
        /// What plain commands cannot handle, for the message.
        problem: String,
    },
    /// A request needs more blocks than one command can name.
    #[error(
        "read or write {size} bytes by one NVMe command: at most {most} blocks of {block} bytes"
    )]
    TooLarge {
        /// Bytes per request.
        size: usize,
        /// Most blocks that one command can name.
        most: u32,
        /// Bytes per logical block.
        block: u32,
    },
}
