//! NVMe passthrough: read and write commands through a ring to the controller's character device,
//! past the block layer.
//!
//! The encoding is checked against the bytes of the specification, and live in guests
//! (`guest/tests/passthrough.sh`).

use super::core::Core;
use super::{Completion, RingError, RingOptions, TaskRun, Transfer, setup};
use crate::Buffers;
use crate::nvme::{Namespace, URING_CMD_IO, rw_command};
use io_uring::{cqueue, opcode, squeue, types};
use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};

/// A ring with one registered NVMe namespace and its buffers.
///
/// It has the contract of [`Ring`](super::Ring), but its entries are NVMe commands.
pub struct CommandRing {
    core: Core<squeue::Entry128, cqueue::Entry32>,
    namespace: Namespace,
    /// Transfers that no command can express. They wait here to be popped with an error.
    refused: Vec<Completion>,
    /// Whether commands may name a registered buffer.
    fixed: bool,
    buffers: Buffers,
    _file: OwnedFd,
}

impl CommandRing {
    /// Makes the ring on a namespace's character device (`/dev/ng0n1`). With `iopoll` completions
    /// are found by asking the device, which needs poll queues and Linux 6.1 or later.
    ///
    /// # Errors
    /// As [`Ring::new`](super::Ring::new).
    pub fn new(
        file: File,
        namespace: Namespace,
        buffers: Buffers,
        iopoll: bool,
    ) -> Result<Self, RingError> {
        let options = RingOptions {
            iopoll,
            ..RingOptions::default()
        };
        let core: Core<squeue::Entry128, cqueue::Entry32> =
            Core::new(buffers.slots() as u32, options)?;
        let file = OwnedFd::from(file);
        core.ring
            .submitter()
            .register_files(&[file.as_raw_fd()])
            .map_err(RingError::Register)?;
        // Registered buffers in commands came with Linux 6.1, as DEFER_TASKRUN did.
        let fixed = core.taskrun == TaskRun::Deferred;
        if fixed {
            setup::register_buffers(&core.ring, &buffers)?;
        }
        Ok(CommandRing {
            core,
            namespace,
            refused: Vec::with_capacity(buffers.slots()),
            fixed,
            buffers,
            _file: file,
        })
    }

    /// The completion flags that the kernel accepted.
    #[must_use]
    pub fn flags(&self) -> TaskRun {
        self.core.taskrun
    }

    /// The kernel's names of all flags in force; `none` when there are none.
    #[must_use]
    pub fn names(&self) -> &'static str {
        self.core.options.names(self.core.taskrun)
    }

    /// Queues one transfer; [`CommandRing::submit`] hands it to the kernel. A transfer that one
    /// command cannot express (see [`rw_command`]) completes with EINVAL.
    ///
    /// # Panics
    /// When the slot does not exist, is too small, or more transfers are queued than there are
    /// slots.
    #[inline]
    pub fn queue(&mut self, transfer: Transfer) {
        assert!(transfer.length as usize <= self.buffers.size());
        let buffer = self.buffers.of(transfer.slot, transfer.operation.writes());
        let address = self.buffers.address(buffer);
        let Some(command) = rw_command(self.namespace, transfer, address as u64) else {
            let (slot, result) = (transfer.slot, -libc::EINVAL);
            assert!(self.refused.len() < self.refused.capacity());
            return self.refused.push(Completion { slot, result });
        };
        let entry = opcode::UringCmd80::new(types::Fixed(0), URING_CMD_IO)
            .buf_index(self.fixed.then_some(buffer as u16))
            .cmd(command)
            .build()
            // The completion does not tell the length, so it stands above the slot.
            .user_data(u64::from(transfer.slot) | u64::from(transfer.length) << 16);
        // SAFETY: the slot is large enough and outlives the ring: both are fields of `self`, the
        // ring is dropped first, and dropping it waits until nothing is in flight.
        unsafe { self.core.push(&entry) };
    }

    /// Hands everything queued to the kernel.
    ///
    /// # Errors
    /// When the kernel refuses.
    #[inline]
    pub fn submit(&mut self) -> Result<(), RingError> {
        self.core.submit()
    }

    /// Looks once without sleeping, and tells whether a completion can be popped.
    ///
    /// # Errors
    /// When the kernel refuses.
    #[inline]
    pub fn look(&mut self) -> Result<bool, RingError> {
        Ok(!self.refused.is_empty() || self.core.look()?)
    }

    /// Stays in the kernel until a completion can be popped: asleep, or polling with `iopoll`. As
    /// in [`Ring::wait`](super::Ring::wait), the kernel may return early.
    ///
    /// # Errors
    /// When the kernel refuses.
    #[inline]
    pub fn wait(&mut self) -> Result<(), RingError> {
        match self.refused.is_empty() {
            true => self.core.wait(),
            false => Ok(()),
        }
    }

    /// Hands everything queued to the kernel and waits for a completion, in one system call.
    ///
    /// # Errors
    /// When the kernel refuses.
    #[inline]
    pub fn submit_and_wait(&mut self) -> Result<(), RingError> {
        match self.refused.is_empty() {
            true => self.core.submit_and_wait(),
            false => self.core.submit(),
        }
    }

    /// Takes the next finished transfer.
    #[inline]
    pub fn pop(&mut self) -> Option<Completion> {
        if let Some(done) = self.refused.pop() {
            return Some(done);
        }
        let entry: cqueue::Entry = self.core.pop()?.into();
        Some(done(entry.user_data(), entry.result()))
    }
}

/// Reads a completion's result: 0 is success, a negative number the kernel's errno, a positive one
/// the device's status, which is told as EIO.
fn done(user_data: u64, result: i32) -> Completion {
    let result = match result {
        0 => (user_data >> 16) as i32,
        1.. => -libc::EIO,
        errno => errno,
    };
    let slot = user_data as u16;
    Completion { slot, result }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 0x281 is an unrecovered read error (media errors, status code 81h).
    #[test]
    fn a_status_is_an_io_error_and_success_has_the_length_asked() {
        let user_data = 3 | 8192 << 16;
        let result = |result| done(user_data, result).result;
        assert_eq!(result(0), 8192);
        assert_eq!(result(0x281), -libc::EIO);
        assert_eq!(result(-libc::EOPNOTSUPP), -libc::EOPNOTSUPP);
        assert_eq!(done(user_data, 0).slot, 3);
    }
}
