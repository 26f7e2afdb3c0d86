//! Queueing, submitting, looking and waiting, for every kind of ring entry.

use super::options::{RingOptions, TaskRun};
use super::setup::{SetUp, build, register_ring, unregister_ring};
use super::{RingError, sq_thread};
use crate::clock::monotonic_ns;
use io_uring::{IoUring, cqueue, squeue, types};
use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

// IORING_ENTER_* (include/uapi/linux/io_uring.h).
const GETEVENTS: u32 = 1;
const SQ_WAKEUP: u32 = 1 << 1;
const EXT_ARG: u32 = 1 << 3;
const REGISTERED_RING: u32 = 1 << 4;

/// A ring that one thread uses. [`EncodedRing`](super::EncodedRing) is built on it.
///
/// `in_flight` counts entries that are pushed and not popped, never more than `depth`. The drop
/// waits until none is in flight, so the owner must drop the ring before the memory that its
/// entries name.
pub(super) struct RingCore<S: squeue::EntryMarker, C: cqueue::EntryMarker> {
    pub ring: IoUring<S, C>,
    pub options: RingOptions,
    pub taskrun: TaskRun,
    pub helper: Option<u32>,
    pub in_flight: u32,
    depth: u32,
    /// The ring as `io_uring_enter` takes it: the descriptor, or the index under which it is
    /// registered.
    fd: i32,
    /// [`REGISTERED_RING`] when `fd` is an index, else 0.
    pub fd_flag: u32,
    /// Keeps the type on its thread: the index names this ring only in the thread that registered
    /// it.
    _thread: PhantomData<*const ()>,
}

impl<S, C> RingCore<S, C>
where
    S: squeue::EntryMarker,
    C: cqueue::EntryMarker,
    IoUring<S, C>: SetUp,
{
    pub(crate) fn new(depth: u32, options: RingOptions) -> Result<Self, RingError> {
        // The helper thread frees an entry only after it has handed the request on. The completion
        // may come before, and its slot be used again, so twice as many entries are needed.
        let entries = depth * (1 + u32::from(options.sqpoll.is_some()));
        let (ring, taskrun) = build::<IoUring<S, C>>(entries, &options)?;
        let (fd, fd_flag) = match register_ring(&ring) {
            Some(index) => (index as i32, REGISTERED_RING),
            None => (ring.as_raw_fd(), 0),
        };
        let helper = options.sqpoll.and_then(|_| sq_thread(&ring));
        Ok(RingCore {
            ring,
            options,
            taskrun,
            helper,
            in_flight: 0,
            depth,
            fd,
            fd_flag,
            _thread: PhantomData,
        })
    }
}

impl<S: squeue::EntryMarker, C: cqueue::EntryMarker> RingCore<S, C> {
    /// Registers the file that entries name as number 0. It must stay open as long as the ring.
    pub(crate) fn register_file(&self, file: &OwnedFd) -> Result<(), RingError> {
        let registered = self.ring.submitter().register_files(&[file.as_raw_fd()]);
        registered.map_err(RingError::Register)
    }

    /// Queues an entry; [`RingCore::submit`] hands it to the kernel.
    ///
    /// # Safety
    /// The memory that the entry names must stay valid until its completion.
    #[inline]
    pub(crate) unsafe fn push(&mut self, entry: &S) {
        assert!(self.in_flight < self.depth, "more requests than slots");
        // SAFETY: the caller keeps the memory valid; the descriptor in the entry is registered with
        // this ring.
        let pushed = unsafe { self.ring.submission().push(entry) };
        pushed.expect("the submission queue has entries for every slot");
        self.in_flight += 1;
    }

    /// Hands everything queued to the kernel. It runs no completion work.
    #[inline]
    pub(crate) fn submit(&mut self) -> Result<(), RingError> {
        if self.options.sqpoll.is_some() {
            return self.wake_helper(0, 0);
        }
        loop {
            let queued = self.ring.submission().len() as u32;
            // The kernel may take fewer entries than offered; an entry that is left in the queue
            // would never complete.
            if queued == 0 || self.enter(queued, 0, 0)? >= queued {
                return Ok(());
            }
        }
    }

    /// For SQPOLL: calls the kernel only if the helper thread sleeps or `flags` ask for more than a
    /// wake-up.
    #[inline]
    fn wake_helper(&mut self, want: u32, flags: u32) -> Result<(), RingError> {
        // `need_wakeup` reads the flag after a full barrier: either the helper sees the new
        // entries, or this thread sees that the helper sleeps.
        let sleeps = self.ring.submission().need_wakeup();
        match flags | (SQ_WAKEUP * u32::from(sleeps)) {
            0 => Ok(()),
            flags => self.enter(0, want, flags).map(drop),
        }
    }

    /// Looks once without sleeping. When no completion is there yet it runs pending completion
    /// work, or asks the device.
    #[inline]
    pub(crate) fn look(&mut self) -> Result<bool, RingError> {
        if !self.ring.completion().is_empty() {
            return Ok(true);
        }
        let pending = self.options.polls_in_call()
            || self.taskrun != TaskRun::Default && self.ring.submission().taskrun();
        if !pending {
            return Ok(false);
        }
        self.retry_interrupted(|core| core.enter(0, 0, GETEVENTS).map(drop))?;
        Ok(!self.ring.completion().is_empty())
    }

    /// Stays in the kernel until a completion can be popped. The kernel may return earlier, so the
    /// caller looks again.
    #[inline]
    pub(crate) fn wait(&mut self) -> Result<(), RingError> {
        match self.options.sqpoll {
            None => self.retry_interrupted(|core| core.enter(0, 1, GETEVENTS).map(drop)),
            Some(_) => self.retry_interrupted(|core| core.wake_helper(1, GETEVENTS)),
        }
    }

    /// True if a wait with a deadline can sleep in the kernel.
    pub(crate) fn waits_timed(&self) -> bool {
        !self.options.polls_in_call() && self.ring.params().is_feature_ext_arg()
    }

    /// Waits as [`RingCore::wait`] does, but not beyond `deadline_ns` of CLOCK_MONOTONIC. Unless
    /// `sleeps` is set, for which [`RingCore::waits_timed`] must hold, it looks in a loop.
    #[inline]
    pub(crate) fn wait_until(&mut self, deadline_ns: u64, sleeps: bool) -> Result<(), RingError> {
        while !self.look()? {
            let left_ns = deadline_ns.saturating_sub(monotonic_ns());
            if left_ns == 0 {
                return Ok(());
            }
            if sleeps {
                self.wait_for(left_ns)?;
            } else {
                std::hint::spin_loop();
            }
        }
        Ok(())
    }

    /// Sleeps until a completion arrives, `left_ns` have passed, or a signal comes.
    fn wait_for(&mut self, left_ns: u64) -> Result<(), RingError> {
        let timeout = types::Timespec::from(Duration::from_nanos(left_ns));
        let argument = types::SubmitArgs::new().timespec(&timeout);
        // With SQPOLL the helper may sleep although entries are in its queue.
        let wakeup = match self.options.sqpoll {
            Some(_) if self.ring.submission().need_wakeup() => SQ_WAKEUP,
            _ => 0,
        };
        let flags = GETEVENTS | EXT_ARG | wakeup;
        match self.enter_with(0, 1, flags, Some(&argument)) {
            Err(RingError::Enter(e))
                if matches!(e.raw_os_error(), Some(libc::ETIME | libc::EINTR)) =>
            {
                Ok(())
            }
            other => other.map(drop),
        }
    }

    /// Hands everything queued to the kernel and waits, in one system call. With SQPOLL it only
    /// waits: the helper thread takes the submissions.
    #[inline]
    pub(crate) fn submit_and_wait(&mut self) -> Result<(), RingError> {
        if self.options.sqpoll.is_some() {
            return self.wait();
        }
        let queued = self.ring.submission().len() as u32;
        match self.enter(queued, 1, GETEVENTS) {
            Err(RingError::Enter(e)) if e.kind() == io::ErrorKind::Interrupted => self.wait(),
            Ok(taken) if taken < queued => self.submit().and_then(|()| self.wait()),
            other => other.map(drop),
        }
    }

    /// Takes the next completion, if there is one. [`RingCore::wait`] may return without one.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<C> {
        let entry = self.ring.completion().next()?;
        self.in_flight -= 1;
        Some(entry)
    }

    /// Waits for everything in flight: the kernel must not write into buffers that no longer exist.
    pub(crate) fn drain(&mut self) {
        while self.in_flight > 0 && self.submit_and_wait().is_ok() {
            while self.pop().is_some() {}
        }
    }

    fn retry_interrupted(
        &mut self,
        call: impl Fn(&mut Self) -> Result<(), RingError>,
    ) -> Result<(), RingError> {
        loop {
            match call(self) {
                Err(RingError::Enter(e)) if e.kind() == io::ErrorKind::Interrupted => {}
                other => return other,
            }
        }
    }

    /// Offers `submit` entries and waits for `want` completions. Returns how many were taken.
    #[inline]
    fn enter(&mut self, submit: u32, want: u32, flags: u32) -> Result<u32, RingError> {
        self.enter_with(submit, want, flags, None)
    }

    /// As [`RingCore::enter`], with the argument of EXT_ARG.
    #[inline]
    fn enter_with(
        &mut self,
        submit: u32,
        want: u32,
        flags: u32,
        argument: Option<&types::SubmitArgs<'_, '_>>,
    ) -> Result<u32, RingError> {
        let (call, flags) = (libc::SYS_io_uring_enter, flags | self.fd_flag);
        let size = argument.map_or(0, size_of_val);
        let argument = argument.map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: the call names no memory but the ring's own, and the argument with the time that
        // it points to, which live until the call returns; the kernel checks counts and flags.
        let result = unsafe { libc::syscall(call, self.fd, submit, want, flags, argument, size) };
        match result {
            0.. => Ok(result as u32),
            _ => Err(RingError::Enter(io::Error::last_os_error())),
        }
    }
}

impl<S: squeue::EntryMarker, C: cqueue::EntryMarker> Drop for RingCore<S, C> {
    fn drop(&mut self) {
        self.drain();
        if self.fd_flag != 0 {
            unregister_ring(&self.ring, self.fd as u32);
        }
    }
}
