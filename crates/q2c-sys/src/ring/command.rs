//! NVMe passthrough: read and write commands through a ring to the controller's character device,
//! past the block layer.
//!
//! The encoding is checked against the bytes of the specification, and live in guests
//! (`guest/tests/passthrough.sh`).

use super::encoded::RingCores;
use super::{EncodedRing, RingCompletion, RingEncoding, RingError, RingOptions, TaskRun, Transfer};
use crate::Buffers;
use crate::nvme::{Namespace, URING_CMD_IO, rw_command};
use io_uring::{cqueue, opcode, squeue, types};
use std::fs::File;

/// The encoding as NVMe commands for one namespace. A transfer that one command cannot express (see
/// [`rw_command`]) is refused.
pub struct NvmeEncoding {
    namespace: Namespace,
    /// Whether commands may name a registered buffer.
    fixed: bool,
}

impl EncodedRing<NvmeEncoding> {
    /// Makes the ring on a namespace's character device (`/dev/ng0n1`). With `iopoll` completions
    /// are found by asking the device, which needs poll queues and Linux 6.1 or later.
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
        let cores = RingCores::new(buffers.slots() as u32, options, file)?;
        // Registered buffers in commands came with Linux 6.1, as DEFER_TASKRUN did.
        let fixed = cores.core.taskrun == TaskRun::Deferred;
        if fixed {
            cores.register_buffers(&buffers)?;
        }
        let encoding = NvmeEncoding { namespace, fixed };
        Ok(Self::from_cores(cores, encoding, buffers))
    }
}

impl RingEncoding for NvmeEncoding {
    type Submission = squeue::Entry128;
    type Completion = cqueue::Entry32;

    const REFUSES: bool = true;
    const WAITS_TIMED: bool = false;

    #[inline]
    fn entry(
        &self,
        transfer: Transfer,
        buffer: usize,
        address: *mut u8,
    ) -> Option<squeue::Entry128> {
        let command = rw_command(self.namespace, transfer, address as u64)?;
        let entry = opcode::UringCmd80::new(types::Fixed(0), URING_CMD_IO)
            .buf_index(self.fixed.then_some(buffer as u16))
            .cmd(command)
            .build()
            // The completion does not tell the length, so it stands above the slot.
            .user_data(u64::from(transfer.slot) | u64::from(transfer.length) << u16::BITS);
        Some(entry)
    }

    #[inline]
    fn completion(entry: cqueue::Entry32) -> RingCompletion {
        let entry: cqueue::Entry = entry.into();
        done(entry.user_data(), entry.result())
    }
}

/// Reads a completion's result: 0 is success, a negative number the kernel's errno, a positive one
/// the device's status, which is told as EIO.
fn done(user_data: u64, result: i32) -> RingCompletion {
    let result = match result {
        0 => (user_data >> u16::BITS) as i32,
        1.. => -libc::EIO,
        errno => errno,
    };
    let slot = user_data as u16;
    RingCompletion { slot, result }
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
