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

mod core;
mod encoded;
mod options;
mod setup;

pub use encoded::{EncodedRing, FileEncoding, NvmeEncoding, RingEncoding};
pub use options::{RingOptions, SqPoll, TaskRun};
use std::fs::read_to_string;
use std::io;
use std::os::fd::AsRawFd;
use std::time::Duration;
use thiserror::Error;

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
        if write { Self::Write } else { Self::Read }
    }

    /// True if the transfer carries data from the buffer to the file.
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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

/// The kernel counts ring memory as locked memory unless the process has CAP_IPC_LOCK.
fn todo_hint(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::OutOfMemory => "; raise the memlock limit (ulimit -l) or free memory",
        _ => "",
    }
}

/// The reason why a ring could not be made or used.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "the messages say it")]
#[non_exhaustive]
pub enum RingError {
    /// The kernel or a seccomp filter forbids io_uring, or the kernel has none.
    #[error(
        "set up io_uring: {0}; it is forbidden here: see sysctl kernel.io_uring_disabled (0 allows it) and the \
         container's seccomp profile"
    )]
    Forbidden(io::Error),
    #[error("set up io_uring with {depth} entries: {source}{}", todo_hint(source))]
    Setup {
        /// Entries asked for, without those added for SQPOLL.
        depth: u32,
        source: io::Error,
    },
    #[error("set up io_uring with {flags}: {source}; {todo}")]
    Options {
        flags: &'static str,
        source: io::Error,
        /// The needs of these options: kernel versions, and options that exclude each other.
        todo: String,
    },
    #[error(
        "register {bytes} bytes of buffers: {source}; raise the memlock limit (ulimit -l, now {limit}) or use a \
         smaller depth or block size"
    )]
    Memlock {
        bytes: usize,
        /// RLIMIT_MEMLOCK as text: `64 KiB`, or `unlimited`.
        limit: String,
        source: io::Error,
    },
    #[error("register the target with io_uring: {0}")]
    Register(io::Error),
    #[error("enter io_uring: {0}")]
    Enter(io::Error),
}

/// The most looks for the thread, a millisecond apart. The thread is made with the ring, but
/// the kernel shows its id only after it has run for the first time.
const MAX_THREAD_LOOKS: u32 = 200;

/// Thread id of the ring's SQPOLL thread, from the `SqThread:` line of `/proc/self/fdinfo`. `None`
/// where that id names no such thread here, as in another pid namespace.
fn sq_thread(ring: &impl AsRawFd) -> Option<u32> {
    let path = format!("/proc/self/fdinfo/{}", ring.as_raw_fd());
    (0..MAX_THREAD_LOOKS).find_map(|_| {
        let tid = parse_helper_id(&read_to_string(&path).ok()?).filter(|&tid| is_helper(tid));
        if tid.is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        tid
    })
}

/// The id in `fdinfo`. `None` without the line, or while the ring is busy: then the kernel prints
/// -1.
fn parse_helper_id(fdinfo: &str) -> Option<u32> {
    let id = fdinfo.lines().find_map(|l| l.strip_prefix("SqThread:"))?;
    id.trim().parse().ok()
}

/// True if `tid` is an SQPOLL thread: before that has run once, the line names the thread that made
/// the ring.
fn is_helper(tid: u32) -> bool {
    let name = read_to_string(format!("/proc/self/task/{tid}/comm"));
    name.is_ok_and(|name| name.starts_with("iou-sqp"))
}

#[cfg(test)]
mod tests;
