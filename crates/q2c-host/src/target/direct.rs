use super::{Result, TargetError};
use q2c_model::Bytes;
use q2c_result::Device;
use rustix::fs::{AtFlags, StatxFlags};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// The alignment that direct I/O on a target needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alignment {
    /// The address of the buffer must be a multiple of this.
    pub memory: Bytes,
    /// Offset and length must be multiples of this.
    pub offset: Bytes,
    /// True if the kernel reported both (statx, Linux 6.1 and later, or the NVMe namespace). Else
    /// both are the device's logical block size, or 4096.
    pub is_reported: bool,
}

impl Alignment {
    pub(super) fn from_block(block: Bytes, is_reported: bool) -> Alignment {
        Alignment {
            memory: block,
            offset: block,
            is_reported,
        }
    }
}

/// An alignment that is safe where nothing is known: no sector or page in use is larger.
const SAFE_ALIGNMENT: Bytes = Bytes(4096);

/// Asks the kernel for the alignment, and falls back to the device's logical block size. Fails if
/// the file system has no direct I/O for this file.
pub(super) fn alignment(file: &File, path: &Path, device: Option<&Device>) -> Result<Alignment> {
    let status = rustix::fs::statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN).ok();
    match status.filter(|s| s.stx_mask & StatxFlags::DIOALIGN.bits() != 0) {
        Some(s) if s.stx_dio_offset_align == 0 => {
            let reason = "the file system does not offer it for this file".into();
            Err(TargetError::NoDirect(path.to_owned(), reason))
        }
        Some(s) => Ok(Alignment {
            memory: Bytes(s.stx_dio_mem_align.into()),
            offset: Bytes(s.stx_dio_offset_align.into()),
            is_reported: true,
        }),
        None => {
            let block = device.and_then(|d| d.logical_block);
            let block = block.unwrap_or(SAFE_ALIGNMENT);
            Ok(Alignment::from_block(block, false))
        }
    }
}

/// The errnos by which the block layer reports a device's own failures (include/linux/blk_types.h,
/// block/blk-core.c): EIO, ENXIO, ENODEV, EBADE, ENODATA (medium), ENOLINK (transport), EILSEQ
/// (protection), ETIMEDOUT, EREMOTEIO (target), ENOMEDIUM.
const DEVICE_FAILED: [i32; 10] = [5, 6, 19, 52, 61, 67, 84, 110, 121, 123];

/// Reads one block of the smallest length from the start of `file`, which must be open with
/// O_DIRECT.
pub(super) fn probe(file: &File, path: &Path, alignment: Alignment) -> Result<()> {
    let mut buffer = AlignedBuffer::new(alignment.offset, alignment.memory);
    let length = buffer.bytes().len();
    let failure = match file.read_at(buffer.bytes(), 0) {
        Ok(n) if n == length => return Ok(()),
        Ok(n) => format!("{n} of {length} bytes came"),
        Err(source) if DEVICE_FAILED.contains(&source.raw_os_error().unwrap_or(0)) => {
            return Err(TargetError::Failed(
                path.to_owned(),
                alignment.offset,
                source,
            ));
        }
        Err(e) => e.to_string(),
    };
    Err(TargetError::NoDirect(path.to_owned(), failure))
}

/// Memory at an aligned address, for single reads and writes outside of measurements.
pub(super) struct AlignedBuffer {
    memory: Vec<u8>,
    start: usize,
    length: usize,
}

impl AlignedBuffer {
    /// Makes `length` zeros at an address that is a multiple of `alignment`, a power of two, and of
    /// a page. The page is for zram of Linux 6.18, which says that it takes any multiple of 512
    /// bytes, but reads whole pages around a buffer that begins within a page.
    pub(crate) fn new(length: Bytes, alignment: Bytes) -> AlignedBuffer {
        let (length, alignment) = (length.0 as usize, alignment.max(SAFE_ALIGNMENT).0 as usize);
        let memory = vec![0; length + alignment];
        let start = memory.as_ptr().align_offset(alignment);
        AlignedBuffer {
            memory,
            start,
            length,
        }
    }

    pub(crate) fn bytes(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..self.start + self.length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_stand_where_they_should() {
        for (alignment, page) in [(1, 4096), (512, 4096), (4096, 4096), (65536, 65536)] {
            let mut buffer = AlignedBuffer::new(Bytes(1000), Bytes(alignment));
            let bytes = buffer.bytes();
            assert_eq!(bytes.as_ptr() as usize as u64 % page, 0);
            assert_eq!(bytes.len(), 1000);
        }
    }
}
