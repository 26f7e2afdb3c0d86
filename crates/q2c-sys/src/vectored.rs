//! `preadv2` and `pwritev2`: synchronous calls of one transfer each, with per-call flags.

use crate::{Buffers, Operation, RingCompletion, Transfer};
use rustix::fs::{FallocateFlags, fallocate, fdatasync};
use rustix::io::{Errno, ReadWriteFlags, preadv2, pwritev2};
use std::fs::File;
use std::io::{IoSlice, IoSliceMut};

/// Flags that every call is given (include/uapi/linux/fs.h).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct VectoredFlags {
    /// RWF_HIPRI: the call polls for its completion, where the device has poll queues; Linux 5.19
    /// and later ignore it.
    pub hipri: bool,
    /// RWF_NOWAIT: a transfer that would have to wait for anything but the device fails with
    /// EAGAIN.
    pub nowait: bool,
    /// RWF_DSYNC: a write is on the medium when the call returns.
    pub dsync: bool,
    /// RWF_SYNC: a write and the file's metadata are on the medium when the call returns.
    pub sync: bool,
    /// RWF_APPEND: a write goes to the end of the file, whatever its offset, and makes it longer.
    pub append: bool,
}

impl VectoredFlags {
    fn bits(self) -> ReadWriteFlags {
        let flags = [
            (self.hipri, ReadWriteFlags::HIPRI),
            (self.nowait, ReadWriteFlags::NOWAIT),
            (self.dsync, ReadWriteFlags::DSYNC),
            (self.sync, ReadWriteFlags::SYNC),
            (self.append, ReadWriteFlags::APPEND),
        ];
        let set = flags.into_iter().filter(|(on, _)| *on);
        set.map(|(_, flag)| flag).collect()
    }
}

/// A file and its buffers, for transfers by calls that return when the transfer is done.
pub struct Vectored {
    file: File,
    buffers: Buffers,
    flags: ReadWriteFlags,
}

impl Vectored {
    /// Prepares transfers between `file` and `buffers`, each with `flags`.
    pub fn new(file: File, buffers: Buffers, flags: VectoredFlags) -> Self {
        let flags = flags.bits();
        Vectored {
            file,
            buffers,
            flags,
        }
    }

    /// Does one transfer and waits for its end. An error becomes the negative errno in
    /// [`RingCompletion::result`]; a call that a signal interrupted is repeated.
    #[inline]
    pub fn transfer(&mut self, transfer: Transfer) -> RingCompletion {
        let Transfer {
            operation, length, ..
        } = transfer;
        let memory = self.buffers.transfer_mut(transfer.slot, operation.writes());
        let (file, offset, mut flags) = (&self.file, transfer.offset, self.flags);
        if operation == Operation::Durable {
            flags |= ReadWriteFlags::DSYNC;
        }
        let moved = loop {
            let moved = match operation {
                Operation::Read => {
                    let memory = &mut memory[..length as usize];
                    preadv2(file, &mut [IoSliceMut::new(memory)], offset, flags)
                }
                Operation::Write | Operation::Durable => {
                    let memory = IoSlice::new(&memory[..length as usize]);
                    pwritev2(file, &[memory], offset, flags)
                }
                Operation::Flush => fdatasync(file).map(|()| 0),
                Operation::Discard => {
                    let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
                    fallocate(file, hole, offset, length.into()).map(|()| length as usize)
                }
            };
            if moved != Err(Errno::INTR) {
                break moved;
            }
        };
        RingCompletion {
            slot: transfer.slot,
            result: moved.map_or_else(|errno| -errno.raw_os_error(), |bytes| bytes as i32),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::fs::FileExt;

    fn target(content: &[u8], flags: VectoredFlags) -> (Vectored, File) {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(content).unwrap();
        let back = file.try_clone().unwrap();
        let buffers = Buffers::new(2, 4096).unwrap();
        (Vectored::new(file, buffers, flags), back)
    }

    fn transfer(write: bool, offset: u64, length: u32) -> Transfer {
        Transfer {
            operation: Operation::writing(write),
            offset,
            length,
            slot: 1,
        }
    }

    #[test]
    fn a_read_comes_into_its_slot_and_is_short_at_the_end() {
        let (mut target, _) = target(&[5; 1000], VectoredFlags::default());
        let done = target.transfer(transfer(false, 512, 4096));
        assert_eq!((done.slot, done.result), (1, 488));
        assert!(target.buffers.slot_mut(1)[..488].iter().all(|&b| b == 5));
        assert_ne!(target.buffers.slot_mut(0)[..488], [5; 488]);
    }

    #[test]
    fn flags_reach_the_kernel() {
        let append = VectoredFlags {
            append: true,
            ..VectoredFlags::default()
        };
        let (mut target, file) = target(&[5; 1000], append);
        assert_eq!(target.transfer(transfer(true, 0, 512)).result, 512);
        assert_eq!(file.metadata().unwrap().len(), 1512, "at the end, not at 0");
        let mut first = [0; 512];
        file.read_exact_at(&mut first, 0).unwrap();
        assert_eq!(first, [5; 512]);
        let flags = VectoredFlags {
            hipri: true,
            nowait: true,
            dsync: true,
            sync: true,
            append: true,
        };
        // RWF_HIPRI 1, DSYNC 2, SYNC 4, NOWAIT 8, APPEND 16.
        assert_eq!(flags.bits().bits(), 31);
    }

    #[test]
    fn an_error_is_a_result() {
        let (mut target, _) = target(&[], VectoredFlags::default());
        target.file = File::options().write(true).open("/dev/null").unwrap();
        let expected = -libc::EBADF;
        assert_eq!(target.transfer(transfer(false, 0, 512)).result, expected);
    }
}
