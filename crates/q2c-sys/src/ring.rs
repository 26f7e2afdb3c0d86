//! One io_uring for one lane: registered file and buffers, completions run only when the lane asks for them.
//!
//! Contract: a [`Ring`] is made and used by one thread. Completions become visible through [`Ring::pop`] after
//! [`Ring::look`] (never sleeps) or [`Ring::wait`] (sleeps until there is one). With `DEFER_TASKRUN` nothing wakes
//! the lane in between: a completion during a timed sleep stays pending until the next look. That is what hybrid
//! polling needs; with the default flags task work interrupts the sleep and falsifies it.

use crate::Buffers;
use io_uring::{IoUring, opcode, squeue, types};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use thiserror::Error;

/// Ring memory is locked memory where the process has no CAP_IPC_LOCK.
fn todo(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::OutOfMemory => "; raise the memlock limit (ulimit -l) or free memory",
        _ => "",
    }
}

/// Why a ring could not be made or used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RingError {
    /// The kernel forbids io_uring.
    #[error(
        "set up io_uring: {0}; it is forbidden here: see sysctl kernel.io_uring_disabled (0 allows it) and the \
         container's seccomp profile"
    )]
    Forbidden(io::Error),
    /// Set-up failed otherwise.
    #[error("set up io_uring with {depth} entries: {source}{}", todo(source))]
    Setup {
        /// Entries asked.
        depth: u32,
        /// Cause.
        source: io::Error,
    },
    /// Buffers could not be pinned.
    #[error(
        "register {bytes} bytes of buffers: {source}; raise the memlock limit (ulimit -l, now {limit}) or use a \
         smaller depth or block size"
    )]
    Memlock {
        /// Bytes asked.
        bytes: usize,
        /// RLIMIT_MEMLOCK in words.
        limit: String,
        /// Cause.
        source: io::Error,
    },
    /// The file could not be registered.
    #[error("register the target with io_uring: {0}")]
    Register(io::Error),
    /// A system call on the ring failed.
    #[error("enter io_uring: {0}")]
    Enter(io::Error),
}

/// Ring flags in force: what decides whether a sleep can be disturbed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RingFlags {
    /// SINGLE_ISSUER, DEFER_TASKRUN, TASKRUN_FLAG (6.1 and later): completions wait for the lane.
    Deferred,
    /// COOP_TASKRUN, TASKRUN_FLAG (5.19 and later): no interrupt is sent, yet a sleeper is woken early.
    Cooperative,
    /// None: task work interrupts the lane whenever it comes.
    Default,
}

impl RingFlags {
    const ORDER: [RingFlags; 3] = [
        RingFlags::Deferred,
        RingFlags::Cooperative,
        RingFlags::Default,
    ];

    /// The kernel's names.
    #[must_use]
    pub const fn names(self) -> &'static str {
        match self {
            RingFlags::Deferred => "SINGLE_ISSUER|DEFER_TASKRUN|TASKRUN_FLAG",
            RingFlags::Cooperative => "COOP_TASKRUN|TASKRUN_FLAG",
            RingFlags::Default => "none",
        }
    }

    /// Whether a timed sleep lasts although the I/O completes meanwhile.
    #[must_use]
    pub const fn sleeps_undisturbed(self) -> bool {
        matches!(self, RingFlags::Deferred)
    }

    fn build(self, depth: u32) -> io::Result<IoUring> {
        let mut builder = IoUring::builder();
        match self {
            RingFlags::Deferred => builder
                .setup_single_issuer()
                .setup_defer_taskrun()
                .setup_taskrun_flag(),
            RingFlags::Cooperative => builder.setup_coop_taskrun().setup_taskrun_flag(),
            RingFlags::Default => &mut builder,
        };
        builder.build(depth)
    }
}

/// One transfer between the registered file and a buffer slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// To the file, else from it.
    pub write: bool,
    /// Byte offset in the file.
    pub offset: u64,
    /// Bytes, at most a slot's size.
    pub length: u32,
    /// Buffer slot; no other transfer may be using it.
    pub slot: u16,
}

/// A finished transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// The slot given at submission.
    pub slot: u16,
    /// Bytes transferred, or a negative errno.
    pub result: i32,
}

/// A ring with one registered file and its buffers.
pub struct Ring {
    ring: IoUring,
    flags: RingFlags,
    in_flight: u32,
    buffers: Buffers,
    /// Kept open as long as the kernel may use it.
    _file: OwnedFd,
}

impl Ring {
    /// Makes the ring with the best flags the kernel has, registers `file` and `buffers`.
    ///
    /// # Errors
    /// When io_uring is forbidden or absent, memory may not be pinned, or the file cannot be registered.
    pub fn new(file: File, buffers: Buffers) -> Result<Self, RingError> {
        let depth = buffers.slots() as u32;
        let (ring, flags) = build(depth)?;
        let file = OwnedFd::from(file);
        ring.submitter()
            .register_files(&[file.as_raw_fd()])
            .map_err(RingError::Register)?;
        register_buffers(&ring, &buffers)?;
        Ok(Ring {
            ring,
            flags,
            in_flight: 0,
            buffers,
            _file: file,
        })
    }

    /// The flags in force.
    #[must_use]
    pub fn flags(&self) -> RingFlags {
        self.flags
    }

    /// Transfers queued or submitted, not yet popped.
    #[must_use]
    pub fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// Queues one transfer; [`Ring::submit`] hands it to the kernel.
    ///
    /// # Panics
    /// When the slot does not exist, is too small, or more transfers are queued than there are slots.
    #[inline]
    pub fn queue(&mut self, transfer: Transfer) {
        assert!(
            transfer.length as usize <= self.buffers.size()
                && self.in_flight < self.buffers.slots() as u32
        );
        let address = self.buffers.address(transfer.slot as usize);
        let entry = entry(transfer, address);
        // SAFETY: the buffer slot is registered, checked to be large enough, and outlives the ring: both are
        // fields of `self`, the ring is dropped first, and dropping waits until nothing is in flight.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        assert!(
            pushed.is_ok(),
            "the submission queue has as many entries as there are slots"
        );
        self.in_flight += 1;
    }

    /// Hands everything queued to the kernel; runs no completions.
    ///
    /// # Errors
    /// When the kernel refuses.
    #[inline]
    pub fn submit(&mut self) -> Result<(), RingError> {
        loop {
            let queued = self.ring.submission().len() as u32;
            // The kernel may take fewer than offered; one left behind would never complete.
            if queued == 0 || self.enter(queued, 0, 0)? >= queued {
                return Ok(());
            }
        }
    }

    /// One look without sleeping: runs pending completion work, then tells whether a completion can be popped.
    ///
    /// # Errors
    /// When the kernel refuses.
    #[inline]
    pub fn look(&mut self) -> Result<bool, RingError> {
        if self.flags != RingFlags::Default && self.ring.submission().taskrun() {
            self.enter(0, 0, GETEVENTS)?;
        }
        Ok(!self.ring.completion().is_empty())
    }

    /// Sleeps until at least one completion can be popped.
    ///
    /// # Errors
    /// When the kernel refuses; interruptions by signals are resumed.
    #[inline]
    pub fn wait(&mut self) -> Result<(), RingError> {
        loop {
            match self.enter(0, 1, GETEVENTS) {
                Err(RingError::Enter(e)) if e.kind() == io::ErrorKind::Interrupted => {}
                other => return other.map(drop),
            }
        }
    }

    /// Hands everything queued to the kernel and sleeps until one completion can be popped: one system call.
    ///
    /// # Errors
    /// When the kernel refuses.
    #[inline]
    pub fn submit_and_wait(&mut self) -> Result<(), RingError> {
        let queued = self.ring.submission().len() as u32;
        match self.enter(queued, 1, GETEVENTS) {
            Err(RingError::Enter(e)) if e.kind() == io::ErrorKind::Interrupted => self.wait(),
            other => other.map(drop),
        }
    }

    /// Takes the next finished transfer.
    #[inline]
    pub fn pop(&mut self) -> Option<Done> {
        let entry = self.ring.completion().next()?;
        self.in_flight -= 1;
        Some(Done {
            slot: entry.user_data() as u16,
            result: entry.result(),
        })
    }

    /// How many entries the kernel took.
    #[inline]
    fn enter(&mut self, submit: u32, want: u32, flags: u32) -> Result<u32, RingError> {
        // SAFETY: no argument struct is passed; counts and flags are values the kernel checks.
        let entered = unsafe {
            self.ring
                .submitter()
                .enter::<libc::sigset_t>(submit, want, flags, None)
        };
        entered.map(|taken| taken as u32).map_err(RingError::Enter)
    }
}

/// Waits for what is in flight: the kernel must not write into buffers that are gone.
impl Drop for Ring {
    fn drop(&mut self) {
        while self.in_flight > 0 && self.submit_and_wait().is_ok() {
            while self.pop().is_some() {}
        }
    }
}

/// IORING_ENTER_GETEVENTS (include/uapi/linux/io_uring.h).
const GETEVENTS: u32 = 1;

fn entry(transfer: Transfer, address: *mut u8) -> squeue::Entry {
    let Transfer {
        write,
        offset,
        length,
        slot,
    } = transfer;
    let entry = if write {
        opcode::WriteFixed::new(types::Fixed(0), address, length, slot)
            .offset(offset)
            .build()
    } else {
        opcode::ReadFixed::new(types::Fixed(0), address, length, slot)
            .offset(offset)
            .build()
    };
    entry.user_data(u64::from(slot))
}

/// Older kernels answer EINVAL to flags they do not know: the next set is tried.
fn build(depth: u32) -> Result<(IoUring, RingFlags), RingError> {
    let mut last = io::Error::from_raw_os_error(libc::EINVAL);
    for flags in RingFlags::ORDER {
        match flags.build(depth) {
            Ok(ring) => return Ok((ring, flags)),
            Err(e) if e.raw_os_error() == Some(libc::EINVAL) => last = e,
            Err(e)
                if matches!(
                    e.raw_os_error(),
                    Some(libc::EPERM | libc::ENOSYS | libc::EACCES)
                ) =>
            {
                return Err(RingError::Forbidden(e));
            }
            Err(source) => return Err(RingError::Setup { depth, source }),
        }
    }
    Err(RingError::Setup {
        depth,
        source: last,
    })
}

fn register_buffers(ring: &IoUring, buffers: &Buffers) -> Result<(), RingError> {
    let slot = |i| libc::iovec {
        iov_base: buffers.address(i).cast(),
        iov_len: buffers.size(),
    };
    let vectors: Vec<libc::iovec> = (0..buffers.slots()).map(slot).collect();
    // SAFETY: the vectors describe live, distinct slots that outlive the registration (fields of one `Ring`).
    let registered = unsafe { ring.submitter().register_buffers(&vectors) };
    registered.map_err(|source| RingError::Memlock {
        bytes: buffers.slots() * buffers.size(),
        limit: memlock_limit(),
        source,
    })
}

fn memlock_limit() -> String {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Memlock).current;
    limit.map_or("unlimited".to_owned(), |bytes| {
        format!("{} KiB", bytes / 1024)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Seek, Write};

    fn file(content: &[u8]) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(content).unwrap();
        file
    }

    /// Waits for the one transfer in flight.
    fn finish(ring: &mut Ring) -> Done {
        ring.submit().unwrap();
        ring.wait().unwrap();
        ring.pop().unwrap()
    }

    #[test]
    fn reads_come_into_their_slot() {
        let content: Vec<u8> = (0..8192u32).map(|i| (i / 4096 + 1) as u8).collect();
        let mut ring = Ring::new(file(&content), Buffers::new(2, 4096).unwrap()).unwrap();
        ring.queue(Transfer {
            write: false,
            offset: 4096,
            length: 4096,
            slot: 1,
        });
        assert_eq!(
            finish(&mut ring),
            Done {
                slot: 1,
                result: 4096
            }
        );
        assert!(ring.buffers.slot_mut(1).iter().all(|&b| b == 2));
        assert_eq!(ring.in_flight(), 0);
    }

    #[test]
    fn writes_reach_the_file() {
        let target = file(&[0; 4096]);
        let mut back = target.try_clone().unwrap();
        let mut buffers = Buffers::new(1, 4096).unwrap();
        buffers.slot_mut(0).fill(9);
        let mut ring = Ring::new(target, buffers).unwrap();
        ring.queue(Transfer {
            write: true,
            offset: 0,
            length: 4096,
            slot: 0,
        });
        assert_eq!(finish(&mut ring).result, 4096);
        let mut content = Vec::new();
        back.rewind().unwrap();
        back.read_to_end(&mut content).unwrap();
        assert!(content.len() == 4096 && content.iter().all(|&b| b == 9));
    }

    #[test]
    fn a_read_past_the_end_is_short_and_an_odd_one_is_an_errno() {
        let mut ring = Ring::new(file(&[1; 1000]), Buffers::new(1, 4096).unwrap()).unwrap();
        ring.queue(Transfer {
            write: false,
            offset: 0,
            length: 4096,
            slot: 0,
        });
        assert_eq!(finish(&mut ring).result, 1000);
        let write_only = std::fs::OpenOptions::new()
            .write(true)
            .open("/dev/null")
            .unwrap();
        let mut ring = Ring::new(write_only, Buffers::new(1, 4096).unwrap()).unwrap();
        ring.queue(Transfer {
            write: false,
            offset: 0,
            length: 512,
            slot: 0,
        });
        assert_eq!(finish(&mut ring).result, -libc::EBADF);
    }

    #[test]
    fn looking_never_sleeps_and_finds_the_completion_in_the_end() {
        let mut ring = Ring::new(file(&[1; 4096]), Buffers::new(1, 4096).unwrap()).unwrap();
        assert!(!ring.look().unwrap(), "nothing was submitted");
        ring.queue(Transfer {
            write: false,
            offset: 0,
            length: 4096,
            slot: 0,
        });
        ring.submit().unwrap();
        while !ring.look().unwrap() {}
        assert_eq!(
            ring.pop(),
            Some(Done {
                slot: 0,
                result: 4096
            })
        );
    }
}
