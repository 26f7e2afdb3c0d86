//! NVMe namespaces behind their character device (`/dev/ng0n1`): what they are, and the commands that read and write them.

mod command;
mod identify;

pub use command::{MOST_BLOCKS, URING_CMD_IO, rw_command};
pub use identify::namespace;

use std::io;
use thiserror::Error;

/// A namespace as commands name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Namespace {
    /// NSID.
    pub id: u32,
    /// Bytes of a logical block, a power of two.
    pub block: u32,
    /// Logical blocks.
    pub blocks: u64,
}

/// Why a file is no namespace that can be read and written by commands.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum NvmeError {
    /// Not a character device.
    #[error(
        "use the target for NVMe passthrough: it is no character device; name the namespace's own, such as /dev/ng0n1"
    )]
    NotACharacterDevice,
    /// Some other character device, or a controller's.
    #[error(
        "ask the target for its NVMe namespace: {0}; name a namespace's character device, such as /dev/ng0n1"
    )]
    NoNamespace(io::Error),
    /// Identify was refused.
    #[error(
        "identify NVMe namespace {id}: {source}; before Linux 6.2 that needs root (CAP_SYS_ADMIN)"
    )]
    Identify {
        /// NSID.
        id: u32,
        /// Cause.
        source: io::Error,
    },
    /// The namespace's format is not one that plain reads and writes can use.
    #[error(
        "use NVMe namespace {id}: {problem}; format it with whole blocks of 512 bytes or more and without metadata"
    )]
    Format {
        /// NSID.
        id: u32,
        /// What is in the way.
        problem: String,
    },
    /// A request would need more blocks than a command can name.
    #[error(
        "read or write {size} bytes by one NVMe command: at most {most} blocks of {block} bytes"
    )]
    TooLarge {
        /// Bytes asked.
        size: usize,
        /// Blocks a command can name.
        most: u32,
        /// Bytes of a block.
        block: u32,
    },
}
