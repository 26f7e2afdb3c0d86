use rustix::mm::{MapFlags, ProtFlags};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;

/// The data of a device, mapped. The threads of its queues share them without a lock: two requests
/// at one place, of which one is a write, have no order on any device.
#[derive(Debug)]
pub struct UblkMemory {
    base: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the mapping is not bound to a thread, and no reference to its bytes is ever made: they
// are changed by the kernel and by raw pointers only.
unsafe impl Send for UblkMemory {}
// SAFETY: as above.
unsafe impl Sync for UblkMemory {}

impl UblkMemory {
    /// Maps the whole file.
    pub fn map(file: &File) -> io::Result<UblkMemory> {
        let bytes = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        let place = std::ptr::null_mut();
        // SAFETY: a fresh mapping at an address of the kernel's choice aliases nothing.
        let base = unsafe { rustix::mm::mmap(place, bytes, access, MapFlags::SHARED, file, 0) }?;
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(UblkMemory { base, bytes })
    }

    /// The address of `len` bytes at `at`; an error outside of the memory.
    fn place(&self, at: u64, len: usize) -> io::Result<*mut u8> {
        let at = usize::try_from(at).unwrap_or(usize::MAX);
        match at.checked_add(len) {
            Some(end) if end <= self.bytes => Ok(self.base.as_ptr().wrapping_add(at)),
            _ => Err(io::Error::from_raw_os_error(libc::EIO)),
        }
    }

    /// Fills `len` bytes at `at` from `file` at `from`.
    pub(super) fn fill(&self, at: u64, len: usize, file: &File, from: u64) -> io::Result<()> {
        let place = self.place(at, len)?;
        // SAFETY: `place` checked that the bytes are in the mapping, which lives as long as `self`.
        let n = unsafe { libc::pread(file.as_raw_fd(), place.cast(), len, from as libc::off_t) };
        check_complete(n, len)
    }

    /// Writes `len` bytes at `at` to `file` at `to`.
    pub(super) fn give(&self, at: u64, len: usize, file: &File, to: u64) -> io::Result<()> {
        let place = self.place(at, len)?;
        // SAFETY: as in `fill`.
        let n = unsafe { libc::pwrite(file.as_raw_fd(), place.cast(), len, to as libc::off_t) };
        check_complete(n, len)
    }

    /// Makes `len` bytes at `at` zeros. Their memory stays taken.
    pub(super) fn clear(&self, at: u64, len: usize) -> io::Result<()> {
        let place = self.place(at, len)?;
        // SAFETY: as in `fill`; no reference to the bytes exists.
        unsafe { place.write_bytes(0, len) };
        Ok(())
    }
}

fn check_complete(n: isize, len: usize) -> io::Result<()> {
    match usize::try_from(n) {
        Ok(n) if n == len => Ok(()),
        Ok(_) => Err(io::Error::from_raw_os_error(libc::EIO)),
        Err(_) => Err(io::Error::last_os_error()),
    }
}

impl Drop for UblkMemory {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `map`, and nobody else has its address.
        let unmapped = unsafe { rustix::mm::munmap(self.base.as_ptr().cast(), self.bytes) };
        debug_assert!(unmapped.is_ok());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    #[test]
    fn bytes_come_back_and_nothing_beyond_the_end_is_touched() {
        let memory = tempfile::tempfile().unwrap();
        memory.set_len(8192).unwrap();
        let memory = UblkMemory::map(&memory).unwrap();
        let other = tempfile::tempfile().unwrap();
        other.write_all_at(&[7; 4096], 512).unwrap();
        memory.fill(4096, 4096, &other, 512).unwrap();
        memory.clear(4096, 512).unwrap();
        memory.give(4096, 1024, &other, 0).unwrap();
        let mut back = [1; 1024];
        other.read_exact_at(&mut back, 0).unwrap();
        assert_eq!((&back[..512], &back[512..]), (&[0; 512][..], &[7; 512][..]));
        let errno = |result: io::Result<()>| result.unwrap_err().raw_os_error();
        assert_eq!(errno(memory.fill(4097, 4096, &other, 0)), Some(libc::EIO));
        assert_eq!(errno(memory.clear(u64::MAX, 1)), Some(libc::EIO));
        assert_eq!(errno(memory.fill(0, 8192, &other, 0)), Some(libc::EIO));
    }
}
