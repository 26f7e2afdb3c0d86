use super::abi::{self, Descriptor};
use io_uring::{IoUring, opcode, types};
use rustix::mm::{MapFlags, ProtFlags};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Duration;

/// The operation of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UblkOp {
    /// Reads data.
    Read,
    /// Writes data.
    Write,
    /// Makes sure that all data written before are stored.
    Flush,
    /// Discards its place or writes zeros to it; this server makes zeros for both.
    Clear,
    /// An operation that this server does not know.
    Other,
}

/// A request of the block layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UblkRequest {
    /// The request's tag: its number within the queue.
    pub tag: u16,
    /// The request's operation.
    pub op: UblkOp,
    /// Byte offset on the device.
    pub offset: u64,
    /// Length in bytes.
    pub bytes: u32,
}

/// A queue that the calling thread serves. The kernel binds it to the thread of the first fetch.
pub struct Queue {
    ring: IoUring,
    device: Arc<File>,
    descriptors: NonNull<Descriptor>,
    map_length: usize,
    id: u16,
    depth: u16,
    /// Number of commands that the kernel has not answered.
    kernel_commands: u16,
}

impl Queue {
    /// Opens the queue `id` of a device whose file is `device`, and fetches its first requests.
    pub fn open(device: &Arc<File>, id: u16, depth: u16) -> io::Result<Queue> {
        let ring = IoUring::builder().build(u32::from(depth).next_power_of_two())?;
        let map_length = (usize::from(depth) * size_of::<Descriptor>()).next_multiple_of(4096);
        let offset = u64::from(id) * abi::QUEUE_STRIDE_BYTES;
        let (address, read) = (std::ptr::null_mut(), ProtFlags::READ);
        let shared = MapFlags::SHARED | MapFlags::POPULATE;
        // SAFETY: a fresh mapping at an address of the kernel's choice aliases nothing.
        let base = unsafe { rustix::mm::mmap(address, map_length, read, shared, device, offset) }?;
        let mut queue = Queue {
            ring,
            device: Arc::clone(device),
            descriptors: NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?,
            map_length,
            id,
            depth,
            kernel_commands: 0,
        };
        for tag in 0..depth {
            queue.push(abi::FETCH_REQ, tag, 0)?;
        }
        queue.ring.submit()?;
        Ok(queue)
    }

    fn push(&mut self, op: u32, tag: u16, result: i32) -> io::Result<()> {
        let mut command = [0_u8; 16];
        command[..2].copy_from_slice(&self.id.to_ne_bytes());
        command[2..4].copy_from_slice(&tag.to_ne_bytes());
        command[4..8].copy_from_slice(&result.to_ne_bytes());
        let fd = types::Fd(self.device.as_raw_fd());
        let entry = opcode::UringCmd16::new(fd, op).cmd(command).build();
        let entry = entry.user_data(u64::from(tag));
        // SAFETY: the command has no pointer in it, and the file is open as long as the ring.
        unsafe { self.ring.submission().push(&entry) }.map_err(io::Error::other)?;
        self.kernel_commands += 1;
        Ok(())
    }

    /// Waits until a request comes, or until `timeout` is over. New requests are put into `new`.
    /// Returns false when the kernel holds no command and no request is new: the queue has ended
    /// once the caller has committed all requests that it holds.
    pub fn wait(
        &mut self,
        timeout: Option<Duration>,
        new: &mut Vec<UblkRequest>,
    ) -> io::Result<bool> {
        let waited = match timeout {
            Some(timeout) => {
                let time = types::Timespec::from(timeout);
                let args = types::SubmitArgs::new().timespec(&time);
                self.ring.submitter().submit_with_args(1, &args)
            }
            None => self.ring.submit_and_wait(1),
        };
        // The time is over, a signal came, or completions fill the ring: they are read below.
        match waited.map_err(|e| (e.raw_os_error(), e)) {
            Ok(_) | Err((Some(libc::ETIME | libc::EINTR | libc::EBUSY), _)) => {}
            Err((_, e)) => return Err(e),
        }
        let completions = self.ring.completion();
        let completions: Vec<_> = completions.map(|d| (d.user_data(), d.result())).collect();
        for (tag, result) in completions {
            self.kernel_commands -= 1;
            // Any other result says that the device is being removed: the tag is not fetched again.
            if result == 0 {
                new.push(self.request(tag as u16));
            }
        }
        Ok(self.kernel_commands > 0 || !new.is_empty())
    }

    fn request(&self, tag: u16) -> UblkRequest {
        debug_assert!(tag < self.depth);
        let address = self.descriptors.as_ptr().wrapping_add(usize::from(tag));
        // SAFETY: the mapping has a descriptor for each tag, and tags are those that were fetched.
        let descriptor = unsafe { address.read_volatile() };
        // The low byte is one of UBLK_IO_OP_READ, WRITE, FLUSH, DISCARD and WRITE_ZEROES (5).
        let op = match descriptor.op_flags & 0xff {
            0 => UblkOp::Read,
            1 => UblkOp::Write,
            2 => UblkOp::Flush,
            3 | 5 => UblkOp::Clear,
            _ => UblkOp::Other,
        };
        UblkRequest {
            tag,
            op,
            offset: descriptor.start.saturating_mul(512),
            bytes: descriptor.sectors.saturating_mul(512),
        }
    }

    /// Carries the request out on `memory`. The data of a read are written to the device's file, at
    /// the offset of the tag, from which the kernel copies them; those of a write are read there.
    /// Returns the result to commit: the request's bytes, or a negative errno.
    #[must_use]
    pub fn serve(&self, request: &UblkRequest, memory: &UblkMemory) -> i32 {
        let (offset, len) = (request.offset, request.bytes as usize);
        let data = abi::data_offset(self.id, request.tag);
        let result = match request.op {
            UblkOp::Read => memory.write_to(offset, len, &self.device, data),
            UblkOp::Write => memory.read_from(offset, len, &self.device, data),
            UblkOp::Clear => memory.clear(offset, len),
            // A flush has nothing to do: a write that is complete is stored.
            UblkOp::Flush => return 0,
            UblkOp::Other => return -libc::EOPNOTSUPP,
        };
        match result {
            Ok(()) => request.bytes as i32,
            Err(e) => -e.raw_os_error().unwrap_or(libc::EIO),
        }
    }

    /// Ends the request `tag` with `result` at the next [`Queue::wait`], and fetches the next one.
    pub fn commit(&mut self, tag: u16, result: i32) -> io::Result<()> {
        self.push(abi::COMMIT_AND_FETCH_REQ, tag, result)
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        let base = self.descriptors.as_ptr().cast();
        // SAFETY: the mapping was made by `open`, and nobody else has its address.
        let unmapped = unsafe { rustix::mm::munmap(base, self.map_length) };
        debug_assert!(unmapped.is_ok());
    }
}

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
        let address = std::ptr::null_mut();
        // SAFETY: a fresh mapping at an address of the kernel's choice aliases nothing.
        let base = unsafe { rustix::mm::mmap(address, bytes, access, MapFlags::SHARED, file, 0) }?;
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(UblkMemory { base, bytes })
    }

    /// The address of `len` bytes at `at`; an error outside of the memory.
    fn address(&self, at: u64, len: usize) -> io::Result<*mut u8> {
        let at = usize::try_from(at).unwrap_or(usize::MAX);
        match at.checked_add(len) {
            Some(end) if end <= self.bytes => Ok(self.base.as_ptr().wrapping_add(at)),
            _ => Err(io::Error::from_raw_os_error(libc::EIO)),
        }
    }

    /// Fills `len` bytes at `at` from `file` at `from`.
    pub(super) fn read_from(&self, at: u64, len: usize, file: &File, from: u64) -> io::Result<()> {
        let address = self.address(at, len)?;
        // SAFETY: `address` checked that the bytes are in the mapping, which lives as long as
        // `self`.
        let n = unsafe { libc::pread(file.as_raw_fd(), address.cast(), len, from as libc::off_t) };
        check_complete(n, len)
    }

    /// Writes `len` bytes at `at` to `file` at `to`.
    pub(super) fn write_to(&self, at: u64, len: usize, file: &File, to: u64) -> io::Result<()> {
        let address = self.address(at, len)?;
        // SAFETY: as in `read_from`.
        let n = unsafe { libc::pwrite(file.as_raw_fd(), address.cast(), len, to as libc::off_t) };
        check_complete(n, len)
    }

    /// Makes `len` bytes at `at` zeros. Their memory is not freed.
    pub(super) fn clear(&self, at: u64, len: usize) -> io::Result<()> {
        let address = self.address(at, len)?;
        // SAFETY: as in `read_from`; no reference to the bytes exists.
        unsafe { address.write_bytes(0, len) };
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
        memory.read_from(4096, 4096, &other, 512).unwrap();
        memory.clear(4096, 512).unwrap();
        memory.write_to(4096, 1024, &other, 0).unwrap();
        let mut back = [1; 1024];
        other.read_exact_at(&mut back, 0).unwrap();
        assert_eq!((&back[..512], &back[512..]), (&[0; 512][..], &[7; 512][..]));
        let errno = |result: io::Result<()>| result.unwrap_err().raw_os_error();
        assert_eq!(
            errno(memory.read_from(4097, 4096, &other, 0)),
            Some(libc::EIO)
        );
        assert_eq!(errno(memory.clear(u64::MAX, 1)), Some(libc::EIO));
        assert_eq!(errno(memory.read_from(0, 8192, &other, 0)), Some(libc::EIO));
    }
}
