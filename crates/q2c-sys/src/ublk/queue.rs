use super::UblkMemory;
use super::abi::{self, Descriptor};
use io_uring::{IoUring, opcode, types};
use rustix::mm::{MapFlags, ProtFlags};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Duration;

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// To read.
    Read,
    /// To write.
    Write,
    /// That what was written is stored.
    Flush,
    /// That its place has zeros, or anything (discard).
    Clear,
    /// What this server does not know.
    Other,
}

/// A request of the block layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UblkRequest {
    /// Its tag: its number within the queue.
    pub tag: u16,
    /// What it asks for.
    pub wish: Wish,
    /// Its place in bytes.
    pub at: u64,
    /// Its length in bytes.
    pub bytes: u32,
}

/// A queue that the calling thread serves. The kernel binds it to the thread of the first fetch.
pub struct Queue {
    ring: IoUring,
    device: Arc<File>,
    descriptors: NonNull<Descriptor>,
    mapped: usize,
    id: u16,
    depth: u16,
    /// Commands that the kernel has.
    with_kernel: u16,
}

impl Queue {
    /// Opens the queue `id` of a device whose file is `device`, and fetches its first requests.
    pub fn open(device: &Arc<File>, id: u16, depth: u16) -> io::Result<Queue> {
        let ring = IoUring::builder().build(u32::from(depth).next_power_of_two())?;
        let mapped = (usize::from(depth) * size_of::<Descriptor>()).next_multiple_of(4096);
        let at = u64::from(id) * abi::QUEUE_DESCRIPTORS;
        let (place, read) = (std::ptr::null_mut(), ProtFlags::READ);
        let shared = MapFlags::SHARED | MapFlags::POPULATE;
        // SAFETY: a fresh mapping at an address of the kernel's choice aliases nothing.
        let base = unsafe { rustix::mm::mmap(place, mapped, read, shared, device, at) }?;
        let mut queue = Queue {
            ring,
            device: Arc::clone(device),
            descriptors: NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?,
            mapped,
            id,
            depth,
            with_kernel: 0,
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
        self.with_kernel += 1;
        Ok(())
    }

    /// Waits until a request comes, or until `longest` is over. New requests are put into `new`.
    /// Returns false when the kernel has ended the queue and no command is left.
    pub fn wait(
        &mut self,
        longest: Option<Duration>,
        new: &mut Vec<UblkRequest>,
    ) -> io::Result<bool> {
        let waited = match longest {
            Some(longest) => {
                let time = types::Timespec::from(longest);
                let args = types::SubmitArgs::new().timespec(&time);
                self.ring.submitter().submit_with_args(1, &args)
            }
            None => self.ring.submit_and_wait(1),
        };
        match waited.map_err(|e| (e.raw_os_error(), e)) {
            Ok(_) | Err((Some(libc::ETIME | libc::EINTR | libc::EBUSY), _)) => {}
            Err((_, e)) => return Err(e),
        }
        let done: Vec<(u64, i32)> = self
            .ring
            .completion()
            .map(|done| (done.user_data(), done.result()))
            .collect();
        for (tag, result) in done {
            self.with_kernel -= 1;
            // Any other result says that the device goes: the tag is not fetched again.
            if result == 0 {
                new.push(self.request(tag as u16));
            }
        }
        Ok(self.with_kernel > 0 || !new.is_empty())
    }

    fn request(&self, tag: u16) -> UblkRequest {
        debug_assert!(tag < self.depth);
        let place = self.descriptors.as_ptr().wrapping_add(usize::from(tag));
        // SAFETY: the mapping has a descriptor for each tag, and tags are those that were fetched.
        let descriptor = unsafe { place.read_volatile() };
        let wish = match descriptor.op_flags & 0xff {
            0 => Wish::Read,
            1 => Wish::Write,
            2 => Wish::Flush,
            3 | 5 => Wish::Clear,
            _ => Wish::Other,
        };
        UblkRequest {
            tag,
            wish,
            at: descriptor.start.saturating_mul(512),
            bytes: descriptor.sectors.saturating_mul(512),
        }
    }

    /// Does what the request asks for on `memory`. Returns the result to commit: its bytes, or an
    /// error's number, negative.
    #[must_use]
    pub fn serve(&self, request: &UblkRequest, memory: &UblkMemory) -> i32 {
        let UblkRequest {
            tag,
            wish,
            at,
            bytes,
        } = *request;
        let len = bytes as usize;
        let data = abi::data_at(self.id, tag);
        let done = match wish {
            Wish::Read => memory.give(at, len, &self.device, data),
            Wish::Write => memory.fill(at, len, &self.device, data),
            Wish::Clear => memory.clear(at, len),
            // A flush has neither place nor length: a write that is complete is stored.
            Wish::Flush => return 0,
            Wish::Other => return -libc::EOPNOTSUPP,
        };
        match done {
            Ok(()) => bytes as i32,
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
        let unmapped = unsafe { rustix::mm::munmap(base, self.mapped) };
        debug_assert!(unmapped.is_ok());
    }
}
