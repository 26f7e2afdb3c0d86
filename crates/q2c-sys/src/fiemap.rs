//! Where a file's bytes lie on its device: the `FS_IOC_FIEMAP` call.

use crate::check;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// Extents asked for in one call. For a file with more extents the next call begins where the last
/// one ended.
const BATCH_EXTENTS: usize = 128;
/// `_IOWR('f', 11, struct fiemap)`, a request header of 32 bytes.
const FS_IOC_FIEMAP: u64 = 0xc020_660b;

/// One extent of a file, as its file system reports it. Lengths and positions are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Position in the file.
    pub logical: u64,
    /// Position on the file system's device; meaningless while `UNKNOWN` is set.
    pub physical: u64,
    /// Bytes of the extent.
    pub length: u64,
    /// Any of the flags that are constants of this type.
    pub flags: u32,
}

impl Extent {
    /// The extent is the file's last.
    pub const LAST: u32 = 0x1;
    /// The position on the device is not known, or not known yet.
    pub const UNKNOWN: u32 = 0x2;
    /// The extent has no place on the device yet: the data are in the page cache only.
    pub const DELALLOC: u32 = 0x4;
    /// The data are compressed or otherwise encoded: the bytes on the device are not those that a
    /// read returns.
    pub const ENCODED: u32 = 0x8;
    /// The file system encrypts the data.
    pub const ENCRYPTED: u32 = 0x80;
    /// The data are stored in the inode.
    pub const INLINE: u32 = 0x200;
    /// The extent shares a block with the ends of other files.
    pub const TAIL: u32 = 0x400;
    /// The extent is allocated and was never written: reads return zeros without touching the
    /// device.
    pub const UNWRITTEN: u32 = 0x800;
    /// The extent is shared with another file (a reflink or a snapshot).
    pub const SHARED: u32 = 0x2000;

    /// True if any of `flags` is set.
    pub const fn has(&self, flags: u32) -> bool {
        self.flags & flags != 0
    }

    /// The first position in the file after the extent.
    pub const fn end(&self) -> u64 {
        self.logical.saturating_add(self.length)
    }
}

/// `struct fiemap_extent` of the kernel's interface.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct RawExtent {
    logical: u64,
    physical: u64,
    length: u64,
    reserved64: [u64; 2],
    flags: u32,
    reserved: [u32; 3],
}

/// `struct fiemap` with room for a batch of answers.
#[repr(C)]
struct FiemapRequest {
    start: u64,
    length: u64,
    flags: u32,
    mapped_extents: u32,
    extent_count: u32,
    reserved: u32,
    extents: [RawExtent; BATCH_EXTENTS],
}

/// All extents of `file`, in the order of the file. The call writes nothing back: call `fsync`
/// first to see delayed allocations in their final place.
/// `EOPNOTSUPP` means that the file system does not support the call (tmpfs, most network file
/// systems).
pub fn extents(file: &File) -> io::Result<Vec<Extent>> {
    let mut extents: Vec<Extent> = Vec::new();
    loop {
        let start = extents.last().map_or(0, Extent::end);
        let batch = read_batch(file, start)?;
        let ends_file = |last: &Extent| last.has(Extent::LAST) || last.end() <= start;
        let is_last = batch.last().is_none_or(ends_file);
        extents.extend(batch);
        if is_last {
            return Ok(extents);
        }
    }
}

/// Makes one call, which returns up to [`BATCH_EXTENTS`] extents from byte `start` on.
fn read_batch(file: &File, start: u64) -> io::Result<Vec<Extent>> {
    let mut request = FiemapRequest {
        start,
        length: u64::MAX - start,
        flags: 0,
        mapped_extents: 0,
        extent_count: BATCH_EXTENTS as u32,
        reserved: 0,
        extents: [RawExtent::default(); BATCH_EXTENTS],
    };
    // SAFETY: the descriptor is open during the call, and the request is a `struct fiemap` followed
    // by `extent_count` extents, all owned by this frame: the kernel writes nowhere else.
    check(unsafe { libc::ioctl(file.as_raw_fd(), FS_IOC_FIEMAP as _, &raw mut request) })?;
    let mapped = (request.mapped_extents as usize).min(BATCH_EXTENTS);
    let extent = |raw: &RawExtent| Extent {
        logical: raw.logical,
        physical: raw.physical,
        length: raw.length,
        flags: raw.flags,
    };
    Ok(request.extents[..mapped].iter().map(extent).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    #[test]
    fn layout_is_the_kernels() {
        // linux/fiemap.h: a header of 32 bytes, extents of 56.
        assert_eq!(size_of::<RawExtent>(), 56);
        assert_eq!(std::mem::offset_of!(FiemapRequest, extents), 32);
    }

    #[test]
    fn more_extents_than_one_call_holds() {
        // Every second 4 KiB block is written, so no two written blocks can be one extent.
        let blocks = BATCH_EXTENTS as u64 * 2 + 7;
        let file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        for i in 0..blocks {
            file.write_all_at(&[7; 4096], i * 8192).unwrap();
        }
        file.sync_all().unwrap();
        let extents = match extents(&file) {
            Err(e) if e.raw_os_error() == Some(libc::EOPNOTSUPP) => {
                let test = "more_extents_than_one_call_holds";
                return q2c_testkit::skip(test, "this file system has no FIEMAP");
            }
            other => other.unwrap(),
        };
        let starts: Vec<u64> = extents.iter().map(|e| e.logical).collect();
        assert_eq!(starts, (0..blocks).map(|i| i * 8192).collect::<Vec<_>>());
        assert!(extents.iter().all(|e| e.length == 4096));
    }
}
