//! The completion ring that the kernel maps into the process: events can be taken out without a
//! system call.

use super::abi::{AioContext, AioEvent};
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

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
        let known = unsafe { header.as_ref() };
        let fits = known.magic == MAGIC
            && known.compatible & COMPATIBLE != 0
            && known.incompatible == 0
            && known.length as usize == size_of::<Header>()
            && known.entries > 0;
        fits.then_some(UserRing {
            header,
            entries: known.entries,
        })
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
        let mut taken = 0;
        while head != tail && taken < events.len() {
            events[taken] = self.event(head);
            taken += 1;
            head = (head + 1) % self.entries;
        }
        if taken > 0 {
            // The kernel may write to these entries again only after they were read.
            header.head.store(head, Ordering::Release);
        }
        taken
    }

    #[inline]
    fn event(&self, index: u32) -> AioEvent {
        let events = self.header.as_ptr().wrapping_add(1).cast::<AioEvent>();
        let event = events.wrapping_add((index % self.entries) as usize);
        // SAFETY: the index lies within the ring's entries, all of which are mapped behind the
        // header; the kernel has finished writing this one, as the tail has passed it.
        unsafe { event.read_volatile() }
    }
}
