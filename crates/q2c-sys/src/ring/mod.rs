//! One io_uring for one lane, with a registered file and registered buffers.
//!
//! Contract: one thread makes an [`EncodedRing`] and uses it. Completions become visible through
//! [`EncodedRing::pop`] after [`EncodedRing::look`], which never sleeps, or [`EncodedRing::wait`],
//! which stays in the kernel until there is one. With `DEFER_TASKRUN` nothing wakes the lane in
//! between: a request that completes during a timed sleep stays pending until the next look. Hybrid
//! polling needs that. With the default flags task work interrupts the sleep, so the lane sleeps
//! shorter than its rule asked.
//!
//! The [`RingOptions`] decide how completions are found:
//!
//! | options | look | wait |
//! |---|---|---|
//! | none | the ring; the kernel where work is pending | sleeps until the interrupt |
//! | `iopoll` | the ring, else one look at the device in the kernel | the kernel polls the device |
//! | `iopoll`, `hybrid` | as `iopoll` | the kernel sleeps once for each I/O, then polls |
//! | `sqpoll` | the ring | sleeps until the helper thread has a completion |
//! | `sqpoll`, `iopoll` | the ring | sleeps; the helper polls the device |
//!
//! With `iopoll` alone a second ring is set up beside the first, on the same file and buffers, for
//! transfers whose completion is to interrupt ([`CompletionPath::Interrupt`]): the kernel reserves
//! an IOPOLL ring for polled requests. A look then looks at the rings that have transfers in
//! flight, and a wait sleeps only if no polled transfer is in flight.

mod command;
mod core;
mod encoded;
mod error;
mod file;
mod helper;
mod options;
mod setup;

pub use command::NvmeEncoding;
pub use encoded::{EncodedRing, RingEncoding};
pub use error::RingError;
pub use file::FileEncoding;
pub use options::{RingOptions, SqPoll, TaskRun};

/// A ring whose transfers go to a file or block device.
pub type Ring = EncodedRing<FileEncoding>;

/// A ring whose transfers are NVMe commands to a namespace's character device.
pub type CommandRing = EncodedRing<NvmeEncoding>;

/// The operation of a [`Transfer`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Operation {
    /// Reads from the file.
    #[default]
    Read,
    /// Writes to the file.
    Write,
    /// Writes to the file; the data are on the medium when the transfer completes (RWF_DSYNC: the
    /// kernel uses FUA where the device has it, else a flush after the write).
    Durable,
    /// Flushes: all data written before are on the medium when it completes (fdatasync). Offset and
    /// length are 0.
    Flush,
    /// Frees the blocks: fallocate with PUNCH_HOLE, which on a block device is a write of zeros
    /// that unmaps.
    Discard,
}

impl Operation {
    /// [`Operation::Write`] when `write` is true, else [`Operation::Read`].
    pub const fn writing(write: bool) -> Operation {
        if write {
            Operation::Write
        } else {
            Operation::Read
        }
    }

    /// Whether the transfer carries data from the buffer to the file.
    pub(crate) const fn writes(self) -> bool {
        matches!(self, Operation::Write | Operation::Durable)
    }
}

/// The way in which the completion of a transfer is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompletionPath {
    /// As the [`RingOptions`] say.
    Options,
    /// By the device's interrupt, also where the options poll the device. Only a ring with
    /// HYBRID_IOPOLL, or with a helper that polls, has no such path; there it is the same as
    /// [`CompletionPath::Options`].
    Interrupt,
}

/// One transfer between the registered file and a buffer slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// The operation.
    pub operation: Operation,
    /// Byte offset in the file.
    pub offset: u64,
    /// Bytes, at most a slot's size; a discard, which uses no buffer, may be longer.
    pub length: u32,
    /// Buffer slot; no other transfer in flight may use it.
    pub slot: u16,
}

/// A finished transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingCompletion {
    /// The slot given at submission.
    pub slot: u16,
    /// Bytes transferred, or a negative errno.
    pub result: i32,
}

#[cfg(test)]
mod tests;
