//! The binary interface of kernel AIO (include/uapi/linux/aio_abi.h) and its four system calls.

use std::sync::atomic::{AtomicU32, Ordering};
use std::{io, ptr};

/// `struct iocb` for one buffer.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(super) struct Iocb {
    pub data: u64,
    /// `aio_key`, which stays 0, and `aio_rw_flags`; which of the two comes first depends on the
    /// machine's byte order.
    pub key_and_flags: [u32; 2],
    pub opcode: u16,
    pub priority: i16,
    pub fd: u32,
    pub buffer: u64,
    pub bytes: u64,
    pub offset: i64,
    pub reserved: u64,
    pub flags: u32,
    pub resfd: u32,
}

/// `struct io_event`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(super) struct AioEvent {
    pub data: u64,
    pub object: u64,
    /// Bytes moved, or a negative errno.
    pub result: i64,
    pub result2: i64,
}

const _: () = assert!(size_of::<Iocb>() == 64 && size_of::<AioEvent>() == 32);

/// IOCB_CMD_PREAD.
pub(super) const READ: u16 = 0;
/// IOCB_CMD_PWRITE.
pub(super) const WRITE: u16 = 1;
/// IOCB_CMD_FDSYNC (4.18 and later). The buffer, length and offset of its request must be 0.
pub(super) const FDSYNC: u16 = 3;
/// The value of `key_and_flags` with RWF_DSYNC in `aio_rw_flags`.
pub(super) const DSYNC: [u32; 2] = if cfg!(target_endian = "little") {
    [0, 2]
} else {
    [2, 0]
};

/// An AIO context of the kernel. Dropping it destroys it, which waits for the requests in flight.
pub(super) struct AioContext(u64);

impl AioContext {
    pub(crate) fn new(depth: u32) -> io::Result<Self> {
        let mut context = 0u64;
        // SAFETY: the kernel writes the context's id, eight bytes, to `context`.
        let rc = unsafe { libc::syscall(libc::SYS_io_setup, depth, &raw mut context) };
        check(rc).map(|_| AioContext(context))
    }

    /// The context's id, which is the address of its completion ring.
    pub(crate) fn id(&self) -> u64 {
        self.0
    }

    /// Submits the requests that the pointers name, and returns how many the kernel took.
    ///
    /// # Safety
    /// Each pointer must name an `Iocb` that is valid during the call, and the memory that each
    /// `Iocb` names must stay valid until its event.
    #[inline]
    pub(crate) unsafe fn submit(&self, requests: &[*mut Iocb]) -> io::Result<usize> {
        let (n, pointers) = (requests.len() as libc::c_long, requests.as_ptr());
        // SAFETY: `pointers` points to `n` pointers; the caller guarantees the entries they name.
        check(unsafe { libc::syscall(libc::SYS_io_submit, self.0, n, pointers) })
    }

    /// Fetches up to `events.len()` events and waits for at least `min_events`; with 0 it never
    /// sleeps. Returns the number of fetched events.
    #[inline]
    pub(crate) fn events(&self, min_events: usize, events: &mut [AioEvent]) -> io::Result<usize> {
        self.get_events(min_events, events, ptr::null())
    }

    /// Waits for at least one event, for at most `ns` nanoseconds, and fetches all that have
    /// arrived; no event if the time is over first.
    #[inline]
    pub(crate) fn events_within(&self, ns: u64, events: &mut [AioEvent]) -> io::Result<usize> {
        let timeout = libc::timespec {
            tv_sec: (ns / 1_000_000_000) as libc::time_t,
            tv_nsec: (ns % 1_000_000_000) as libc::c_long,
        };
        self.get_events(1, events, &raw const timeout)
    }

    #[inline]
    fn get_events(
        &self,
        min_events: usize,
        events: &mut [AioEvent],
        timeout: *const libc::timespec,
    ) -> io::Result<usize> {
        let (min_events, max_events) = (min_events as libc::c_long, events.len() as libc::c_long);
        let (buffer, call) = (events.as_mut_ptr(), libc::SYS_io_getevents);
        // SAFETY: the kernel writes at most `max_events` events to the slice, which has room for
        // them, and reads the time, which is null or belongs to the caller during the call.
        check(unsafe { libc::syscall(call, self.0, min_events, max_events, buffer, timeout) })
    }
}

impl Drop for AioContext {
    fn drop(&mut self) {
        // SAFETY: the id is that of a live context that nothing uses any more.
        unsafe { libc::syscall(libc::SYS_io_destroy, self.0) };
    }
}

fn check(rc: libc::c_long) -> io::Result<usize> {
    match rc {
        0.. => Ok(rc as usize),
        _ => Err(io::Error::last_os_error()),
    }
}

/// `struct aio_ring` (fs/aio.c); the events follow it in memory.
#[repr(C)]
struct Header {
    id: u32,
    entries: u32,
    /// Index of the next event to take; the process moves it.
    head: AtomicU32,
    /// Index after the last event; the kernel moves it.
    tail: AtomicU32,
    magic: u32,
    compatible: u32,
    incompatible: u32,
    length: u32,
}

const MAGIC: u32 = 0xa10a_10a1;
/// The bit that says that a process may read the ring.
const COMPATIBLE: u32 = 1;

/// A context's ring, read by one thread. It MUST NOT be used after its [`AioContext`] is dropped:
/// its memory belongs to the context.
pub(super) struct UserRing {
    header: ptr::NonNull<Header>,
    entries: u32,
}

impl UserRing {
    /// The context's ring; `None` if its layout is not the one known here.
    pub(crate) fn from_context(context: &AioContext) -> Option<Self> {
        let header = ptr::NonNull::new(context.id() as *mut Header)?;
        // SAFETY: a context's id is the address at which the kernel mapped its ring, at least one
        // page, for as long as the context lives.
        let layout = unsafe { header.as_ref() };
        let fits = layout.magic == MAGIC
            && layout.compatible & COMPATIBLE != 0
            && layout.incompatible == 0
            && layout.length as usize == size_of::<Header>()
            && layout.entries > 0;
        let entries = layout.entries;
        fits.then_some(UserRing { header, entries })
    }

    /// Takes as many events as are there and fit into `events`, and returns their number. It never
    /// sleeps.
    #[inline]
    pub(crate) fn take(&self, events: &mut [AioEvent]) -> usize {
        // SAFETY: the ring is mapped as long as the context lives; their common owner keeps the
        // context alive.
        let header = unsafe { self.header.as_ref() };
        let mut head = header.head.load(Ordering::Relaxed);
        let tail = header.tail.load(Ordering::Acquire);
        let mut count = 0;
        while head != tail && count < events.len() {
            events[count] = self.event(head);
            count += 1;
            head = (head + 1) % self.entries;
        }
        if count > 0 {
            // The kernel may write to these entries again only after they were read.
            header.head.store(head, Ordering::Release);
        }
        count
    }

    #[inline]
    fn event(&self, index: u32) -> AioEvent {
        let events = self.header.as_ptr().wrapping_add(1).cast::<AioEvent>();
        let event = events.wrapping_add((index % self.entries) as usize);
        // SAFETY: the index lies within the ring's entries, all of which are mapped after the
        // header; the kernel has finished writing this one, as the tail has passed it.
        unsafe { event.read_volatile() }
    }
}
