use super::encoded::RingCores;
use super::{
    EncodedRing, Operation, RingCompletion, RingEncoding, RingError, RingOptions, Transfer,
};
use crate::Buffers;
use io_uring::{cqueue, opcode, squeue, types};
use std::fs::File;

/// The encoding for files and block devices.
pub struct FileEncoding;

impl EncodedRing<FileEncoding> {
    /// Makes the ring with the best flags the kernel has, registers `file` and `buffers`.
    pub fn new(file: File, buffers: Buffers) -> Result<Self, RingError> {
        Self::with(file, buffers, RingOptions::default())
    }

    /// Makes the ring with `options`, registers `file` and `buffers`.
    pub fn with(file: File, buffers: Buffers, options: RingOptions) -> Result<Self, RingError> {
        let cores = RingCores::new(buffers.slots() as u32, options, file)?;
        cores.register_buffers(&buffers)?;
        Ok(Self::from_cores(cores, FileEncoding, buffers))
    }
}

impl RingEncoding for FileEncoding {
    type Submission = squeue::Entry;
    type Completion = cqueue::Entry;

    const REFUSES: bool = false;
    const WAITS_TIMED: bool = true;

    #[inline]
    fn entry(&self, transfer: Transfer, buffer: usize, address: *mut u8) -> Option<squeue::Entry> {
        Some(entry(transfer, buffer, address))
    }

    #[inline]
    fn completion(entry: cqueue::Entry) -> RingCompletion {
        let (data, result) = (entry.user_data(), entry.result());
        let result = match result {
            // A discard completes with 0: its length stands above the slot in the user data. For
            // the others these bits are 0.
            0 => (data >> u16::BITS) as i32,
            result => result,
        };
        RingCompletion {
            slot: data as u16,
            result,
        }
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
