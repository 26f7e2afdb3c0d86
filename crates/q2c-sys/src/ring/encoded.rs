//! A ring with one registered file and its buffers, whatever its entries are.

use super::core::Core;
use super::{Completion, Operation, RingError, RingOptions, TaskRun, Transfer};
use crate::Buffers;
use io_uring::{cqueue, squeue};
use std::os::fd::OwnedFd;

/// How a ring writes transfers into its entries and reads completions from them.
pub trait RingEncoding {
    /// An entry of the submission queue.
    type Submission: squeue::EntryMarker;
    /// An entry of the completion queue.
    type Completion: cqueue::EntryMarker;

    /// Whether [`RingEncoding::entry`] may refuse a transfer.
    const REFUSES: bool;
    /// Whether a wait with a deadline may sleep in the kernel; else it looks in a loop.
    const WAITS_TIMED: bool;

    /// The entry for a transfer whose data are at `address`, in the buffer with this index. `None`
    /// for a transfer that no entry can express.
    fn entry(
        &self,
        transfer: Transfer,
        buffer: usize,
        address: *mut u8,
    ) -> Option<Self::Submission>;

    /// The completion of an entry.
    fn completion(entry: Self::Completion) -> Completion;
}

/// A ring with one registered file and its buffers. Its types are [`Ring`](super::Ring) and
/// [`CommandRing`](super::CommandRing).
pub struct EncodedRing<E: RingEncoding> {
    /// The first field, so that it is dropped first: its drop waits until nothing is in flight, and
    /// the memory and the file must live until then.
    pub(super) core: Core<E::Submission, E::Completion>,
    encoding: E,
    /// Transfers that no entry can express. They wait here to be popped with EINVAL.
    refused: Vec<Completion>,
    pub(super) buffers: Buffers,
    /// Kept open while the kernel may use it.
    _file: OwnedFd,
}

impl<E: RingEncoding> EncodedRing<E> {
    /// The ring of a core on which the file, and the buffers as far as `encoding` names them, are
    /// registered.
    pub(super) fn of(
        core: Core<E::Submission, E::Completion>,
        encoding: E,
        buffers: Buffers,
        file: OwnedFd,
    ) -> Self {
        let room = if E::REFUSES { buffers.slots() } else { 0 };
        EncodedRing {
            core,
            encoding,
            refused: Vec::with_capacity(room),
            buffers,
            _file: file,
        }
    }

    /// The completion flags that the kernel accepted.
    #[must_use]
    pub fn flags(&self) -> TaskRun {
        self.core.taskrun
    }

    /// The options that the ring was made with.
    #[must_use]
    pub fn options(&self) -> RingOptions {
        self.core.options
    }

    /// The kernel's names of all flags in force; `none` when there are none.
    #[must_use]
    pub fn names(&self) -> &'static str {
        self.core.options.names(self.core.taskrun)
    }

    /// The thread id of the SQPOLL helper. `None` without SQPOLL, or where the kernel does not tell
    /// it.
    #[must_use]
    pub fn helper(&self) -> Option<u32> {
        self.core.helper
    }

    /// Transfers queued or submitted and not yet popped.
    #[must_use]
    pub fn in_flight(&self) -> u32 {
        self.core.in_flight
    }

    /// Whether a transfer that was refused waits to be popped.
    #[inline]
    fn has_refused(&self) -> bool {
        E::REFUSES && !self.refused.is_empty()
    }

    /// Queues one transfer; [`EncodedRing::submit`] hands it to the kernel. With SQPOLL the helper
    /// thread may take it at once. A transfer that no entry can express completes with EINVAL.
    ///
    /// # Panics
    /// When the slot does not exist, is too small, or more transfers are queued than there are
    /// slots.
    #[inline]
    pub fn queue(&mut self, transfer: Transfer) {
        let fits = transfer.length as usize <= self.buffers.size();
        assert!(fits || transfer.operation == Operation::Discard);
        let buffer = self.buffers.of(transfer.slot, transfer.operation.writes());
        let address = self.buffers.address(buffer);
        let Some(entry) = self.encoding.entry(transfer, buffer, address) else {
            assert!(self.refused.len() < self.refused.capacity());
            let (slot, result) = (transfer.slot, -libc::EINVAL);
            return self.refused.push(Completion { slot, result });
        };
        // SAFETY: the buffer slot is checked to be large enough and outlives the ring: both are
        // fields of `self`, the ring is dropped first, and dropping waits until nothing is in
        // flight.
        unsafe { self.core.push(&entry) };
    }

    /// Hands everything queued to the kernel. It runs no completion work.
    ///
    /// # Errors
    /// When the kernel refuses.
    #[inline]
    pub fn submit(&mut self) -> Result<(), RingError> {
        self.core.submit()
    }

    /// Looks once without sleeping: runs pending completion work, or asks the device with IOPOLL,
    /// then tells whether a completion can be popped.
    ///
    /// # Errors
    /// When the kernel refuses.
    #[inline]
    pub fn look(&mut self) -> Result<bool, RingError> {
        Ok(self.has_refused() || self.core.look()?)
    }

    /// Stays in the kernel until a completion can be popped: asleep, or polling with IOPOLL. The
    /// kernel's polling loop may end early, without a completion: the caller has to look again.
    ///
    /// # Errors
    /// When the kernel refuses; interruptions by signals are resumed.
    #[inline]
    pub fn wait(&mut self) -> Result<(), RingError> {
        match self.has_refused() {
            true => Ok(()),
            false => self.core.wait(),
        }
    }

    /// Hands everything queued to the kernel and waits until one completion can be popped, in one
    /// system call. With SQPOLL the helper thread takes the queued transfers, and the call only
    /// waits.
    ///
    /// # Errors
    /// When the kernel refuses.
    #[inline]
    pub fn submit_and_wait(&mut self) -> Result<(), RingError> {
        match self.has_refused() {
            true => self.core.submit(),
            false => self.core.submit_and_wait(),
        }
    }

    /// Takes the next finished transfer.
    #[inline]
    pub fn pop(&mut self) -> Option<Completion> {
        if E::REFUSES
            && let Some(done) = self.refused.pop()
        {
            return Some(done);
        }
        self.core.pop().map(E::completion)
    }

    /// Waits as [`EncodedRing::wait`] does, but not beyond `deadline_ns` of CLOCK_MONOTONIC.
    ///
    /// # Errors
    /// When the kernel refuses.
    #[inline]
    pub fn wait_until(&mut self, deadline_ns: u64) -> Result<(), RingError> {
        match self.has_refused() {
            true => Ok(()),
            false => self.core.wait_until(deadline_ns, self.waits_timed()),
        }
    }

    /// Whether [`EncodedRing::wait_until`] sleeps: it does for files and block devices on Linux
    /// 5.11 and later where the ring does not poll in its calls. Else it looks again and again
    /// until the deadline.
    #[must_use]
    pub fn waits_timed(&self) -> bool {
        E::WAITS_TIMED && self.core.waits_timed()
    }
}
