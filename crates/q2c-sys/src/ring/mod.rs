//! One io_uring for one lane, with a registered file and registered buffers.
//!
//! Contract: one thread makes a [`Ring`] and uses it. Completions become visible through
//! [`Ring::pop`] after [`Ring::look`], which never sleeps, or [`Ring::wait`], which stays in the
//! kernel until there is one. With `DEFER_TASKRUN` nothing wakes the lane in between: a request
//! that completes during a timed sleep stays pending until the next look. Hybrid polling needs
//! that. With the default flags task work interrupts the sleep, so the lane sleeps shorter than its
//! rule asked.
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

mod command;
mod core;
mod error;
mod helper;
mod options;
mod setup;

pub use command::CommandRing;
pub use error::RingError;
pub use options::{RingOptions, SqPoll, TaskRun};

use self::core::Core;
use crate::Buffers;
use io_uring::{cqueue, opcode, squeue, types};
use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};

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
    #[must_use]
    pub const fn writing(write: bool) -> Operation {
        if write {
            Operation::Write
        } else {
            Operation::Read
        }
    }

    /// Whether the transfer carries data from the buffer to the file.
    #[must_use]
    pub const fn writes(self) -> bool {
        matches!(self, Operation::Write | Operation::Durable)
    }
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
pub struct Completion {
    /// The slot given at submission.
    pub slot: u16,
    /// Bytes transferred, or a negative errno.
    pub result: i32,
}

/// A ring with one registered file and its buffers.
pub struct Ring {
    /// The first field, so that it is dropped first: its drop waits until nothing is in flight, and
    /// the memory and the file must live until then.
    core: Core<squeue::Entry, cqueue::Entry>,
    buffers: Buffers,
    /// Kept open while the kernel may use it.
    _file: OwnedFd,
}

impl Ring {
    /// Makes the ring with the best flags the kernel has, registers `file` and `buffers`.
    ///
    /// # Errors
    /// When io_uring is forbidden or absent, memory may not be pinned, or the file cannot be
    /// registered.
    pub fn new(file: File, buffers: Buffers) -> Result<Self, RingError> {
        Self::with(file, buffers, RingOptions::default())
    }

    /// Makes the ring with `options`, registers `file` and `buffers`.
    ///
    /// # Errors
    /// When the kernel refuses the options; otherwise as [`Ring::new`].
    pub fn with(file: File, buffers: Buffers, options: RingOptions) -> Result<Self, RingError> {
        let core = Core::new(buffers.slots() as u32, options)?;
        let file = OwnedFd::from(file);
        core.ring
            .submitter()
            .register_files(&[file.as_raw_fd()])
            .map_err(RingError::Register)?;
        setup::register_buffers(&core.ring, &buffers)?;
        Ok(Ring {
            core,
            buffers,
            _file: file,
        })
    }

    /// The completion flags that the kernel accepted.
    #[must_use]
    pub fn flags(&self) -> TaskRun {
        self.core.taskrun
    }

    /// The options that the ring was made with.
    #[must_use]
    pub fn options(&self) -> RingOptions {
        self.core.options
    }

    /// The kernel's names of all flags in force; `none` when there are none.
    #[must_use]
    pub fn names(&self) -> &'static str {
        self.core.options.names(self.core.taskrun)
    }

    /// The thread id of the SQPOLL helper. `None` without SQPOLL, or where the kernel does not tell
    /// it.
    #[must_use]
    pub fn helper(&self) -> Option<u32> {
        self.core.helper
    }

    /// Transfers queued or submitted and not yet popped.
    #[must_use]
    pub fn in_flight(&self) -> u32 {
        self.core.in_flight
    }

    /// Queues one transfer; [`Ring::submit`] hands it to the kernel. With SQPOLL the helper thread
    /// may take it at once.
    ///
    /// # Panics
    /// When the slot does not exist, is too small, or more transfers are queued than there are
    /// slots.
    #[inline]
    pub fn queue(&mut self, transfer: Transfer) {
        assert!(
            transfer.length as usize <= self.buffers.size()
                || transfer.operation == Operation::Discard
        );
        let buffer = self.buffers.of(transfer.slot, transfer.operation.writes());
        let entry = entry(transfer, buffer, self.buffers.address(buffer));
        // SAFETY: the buffer slot is registered, checked to be large enough, and outlives the ring:
        // both are fields of `self`, the ring is dropped first, and dropping waits until nothing is
        // in flight.
        unsafe { self.core.push(&entry) };
    }

    /// Hands everything queued to the kernel. It runs no completion work.
    ///
    /// # Errors
    /// When the kernel refuses.
    #[inline]
    pub fn submit(&mut self) -> Result<(), RingError> {
        self.core.submit()
    }

    /// Looks once without sleeping: runs pending completion work, or asks the device with IOPOLL,
    /// then tells whether a completion can be popped.
    ///
    /// # Errors
    /// When the kernel refuses.
    #[inline]
    pub fn look(&mut self) -> Result<bool, RingError> {
        self.core.look()
    }

    /// Stays in the kernel until a completion can be popped: asleep, or polling with IOPOLL. The
    /// kernel's polling loop may end early, without a completion: the caller has to look again.
    ///
    /// # Errors
    /// When the kernel refuses; interruptions by signals are resumed.
    #[inline]
    pub fn wait(&mut self) -> Result<(), RingError> {
        self.core.wait()
    }

    /// Hands everything queued to the kernel and waits until one completion can be popped, in one
    /// system call. With SQPOLL the helper thread takes the queued transfers, and the call only
    /// waits.
    ///
    /// # Errors
    /// When the kernel refuses.
    #[inline]
    pub fn submit_and_wait(&mut self) -> Result<(), RingError> {
        self.core.submit_and_wait()
    }

    /// Takes the next finished transfer.
    #[inline]
    pub fn pop(&mut self) -> Option<Completion> {
        let entry = self.core.pop()?;
        let (data, result) = (entry.user_data(), entry.result());
        let result = match result {
            // A discard completes with 0: its length stands above the slot in the user data. For
            // the others these bits are 0.
            0 => (data >> u16::BITS) as i32,
            result => result,
        };
        Some(Completion {
            slot: data as u16,
            result,
        })
    }

    /// Waits as [`Ring::wait`] does, but not beyond `deadline_ns` of CLOCK_MONOTONIC.
    ///
    /// # Errors
    /// When the kernel refuses.
    #[inline]
    pub fn wait_until(&mut self, deadline_ns: u64) -> Result<(), RingError> {
        self.core.wait_until(deadline_ns)
    }

    /// Whether [`Ring::wait_until`] sleeps: it does on Linux 5.11 and later where the ring does not
    /// poll in its calls. Else it looks again and again until the deadline.
    #[must_use]
    pub fn waits_timed(&self) -> bool {
        self.core.waits_timed()
    }
}

/// RWF_DSYNC (include/uapi/linux/fs.h).
const RWF_DSYNC: i32 = 2;
/// FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE (include/uapi/linux/falloc.h).
const PUNCH_HOLE: i32 = 3;

fn entry(transfer: Transfer, buffer: usize, address: *mut u8) -> squeue::Entry {
    let Transfer {
        operation,
        offset,
        length,
        slot,
    } = transfer;
    let (file, buffer) = (types::Fixed(0), buffer as u16);
    let write = |flags| {
        opcode::WriteFixed::new(file, address, length, buffer)
            .offset(offset)
            .rw_flags(flags)
            .build()
    };
    let entry = match operation {
        Operation::Read => opcode::ReadFixed::new(file, address, length, buffer)
            .offset(offset)
            .build(),
        Operation::Write => write(0),
        Operation::Durable => write(RWF_DSYNC),
        Operation::Flush => opcode::Fsync::new(file)
            .flags(types::FsyncFlags::DATASYNC)
            .build(),
        Operation::Discard => opcode::Fallocate::new(file, u64::from(length))
            .offset(offset)
            .mode(PUNCH_HOLE)
            .build(),
    };
    let discarded = if operation == Operation::Discard {
        length
    } else {
        0
    };
    entry.user_data(u64::from(slot) | u64::from(discarded) << u16::BITS)
}

#[cfg(test)]
mod tests;
