//! NVMe namespaces behind their character device (`/dev/ng0n1`): identifying them, and the commands
//! that read and write them.

mod command;
mod identify;

pub use command::MOST_BLOCKS;
pub(crate) use command::URING_CMD_IO;

pub(crate) use command::rw_command;
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
#[expect(missing_docs, reason = "the messages say it")]
#[non_exhaustive]
pub enum NvmeError {
    #[error(
        "use the target for NVMe passthrough: it is no character device; name the namespace's own, such as /dev/ng0n1"
    )]
    NotACharacterDevice,
    #[error(
        "ask the target for its NVMe namespace: {0}; name a namespace's character device, such as /dev/ng0n1"
    )]
    NoNamespace(io::Error),
    #[error(
        "identify NVMe namespace {id}: {source}; before Linux 6.2 that needs root (CAP_SYS_ADMIN)"
    )]
    Identify {
        id: u32,
        /// The kernel's answer; EIO for a status of the device.
        source: io::Error,
    },
    #[error(
        "use NVMe namespace {id}: {problem}; format it with whole blocks of 512 bytes or more and without metadata"
    )]
    Format { id: u32, problem: String },
    #[error(
        "read or write {size} bytes by one NVMe command: at most {most} blocks of {block} bytes"
    )]
    TooLarge { size: usize, most: u32, block: u32 },
}
