//! Kernel AIO, the interface that libaio wraps, by its four system calls.
//!
//! Contract: an [`Aio`] is used by one thread. Completions become visible through [`Aio::pop`] after [`Aio::look`] (never
//! sleeps) or [`Aio::wait`] (sleeps until there is one). A look reads the completion ring that the kernel maps into the
//! process, or, where it was asked to or the ring's layout is not known, calls `io_getevents` with a minimum of 0. Waiting is
//! `io_getevents` with a minimum of 1: it fetches whatever else is there as well.

mod abi;
mod user_ring;

use crate::clock::monotonic_ns;
use crate::{Act, Buffers, Done, Transfer};
use abi::{Context, DSYNC, Event, FDSYNC, Iocb, READ, WRITE};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use thiserror::Error;
use user_ring::UserRing;

/// Why kernel AIO could not be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AioError {
    /// No context.
    #[error("set up kernel AIO for {depth} requests: {source}{}", todo(source))]
    Setup {
        /// Requests asked.
        depth: u32,
        /// Cause.
        source: io::Error,
    },
    /// Events could not be fetched.
    #[error("fetch events of kernel AIO: {0}")]
    Events(io::Error),
}

fn todo(source: &io::Error) -> &'static str {
    match source.raw_os_error() {
        Some(libc::EAGAIN) => "; raise the sysctl fs.aio-max-nr or use fewer jobs or less depth",
        Some(libc::ENOSYS) => "; the kernel has no AIO (CONFIG_AIO): use io_uring",
        Some(libc::EPERM | libc::EACCES) => {
            "; it is forbidden here: see the container's seccomp profile"
        }
        _ => "",
    }
}

/// How looks find completions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Reap {
    /// In the mapped ring, without a call.
    #[default]
    Ring,
    /// By `io_getevents`.
    Kernel,
}

/// One context, one file and its buffers.
pub struct Aio {
    /// Before its context: it must not be used after it.
    ring: Option<UserRing>,
    /// Before the buffers: dropping it waits for what is in flight.
    context: Context,
    /// One per slot; the kernel reads them during the submission only.
    blocks: Box<[Iocb]>,
    /// Queued, not submitted.
    queued: Vec<*mut Iocb>,
    /// Fetched and not popped: `events[next..fetched]`.
    events: Box<[Event]>,
    next: usize,
    fetched: usize,
    /// Refused at the submission, to be popped.
    refused: Vec<Done>,
    buffers: Buffers,
    file: File,
}

impl Aio {
    /// A context for as many requests as there are slots.
    ///
    /// # Errors
    /// When the kernel has none to give.
    pub fn new(file: File, buffers: Buffers, reap: Reap) -> Result<Self, AioError> {
        let slots = buffers.slots();
        let depth = slots as u32;
        let context = Context::new(depth).map_err(|source| AioError::Setup { depth, source })?;
        let ring = match reap {
            Reap::Ring => UserRing::of(&context),
            Reap::Kernel => None,
        };
        Ok(Aio {
            ring,
            context,
            blocks: vec![Iocb::default(); slots].into(),
            queued: Vec::with_capacity(slots),
            events: vec![Event::default(); slots].into(),
            next: 0,
            fetched: 0,
            refused: Vec::with_capacity(slots),
            buffers,
            file,
        })
    }

    /// How looks find completions: what was asked for, or [`Reap::Kernel`] where the ring's layout is not known.
    #[must_use]
    pub fn reap(&self) -> Reap {
        match self.ring {
            Some(_) => Reap::Ring,
            None => Reap::Kernel,
        }
    }

    /// Queues one transfer; [`Aio::submit`] hands it to the kernel. Its slot must have no other in flight.
    ///
    /// A discard, which AIO does not have, comes back with EOPNOTSUPP.
    ///
    /// # Panics
    /// When the slot does not exist, is too small, or more transfers are queued than there are slots.
    #[inline]
    pub fn queue(&mut self, transfer: Transfer) {
        if transfer.act == Act::Discard {
            let (slot, result) = (transfer.slot, -libc::EOPNOTSUPP);
            return self.refused.push(Done { slot, result });
        }
        let slot = transfer.slot as usize;
        let buffer = self.buffers.of(transfer.slot, transfer.act.writes());
        let fits = transfer.length as usize <= self.buffers.size();
        assert!(fits && self.queued.len() < self.queued.capacity());
        let common = Iocb {
            data: u64::from(transfer.slot),
            fd: self.file.as_raw_fd() as u32,
            ..Iocb::default()
        };
        self.blocks[slot] = match transfer.act {
            Act::Flush => Iocb {
                opcode: FDSYNC,
                ..common
            },
            act => Iocb {
                opcode: if act.writes() { WRITE } else { READ },
                key_and_flags: if act == Act::Durable { DSYNC } else { [0, 0] },
                buffer: self.buffers.address(buffer) as u64,
                bytes: u64::from(transfer.length),
                offset: transfer.offset as i64,
                ..common
            },
        };
        // By way of the box's own pointer: all of these live together.
        let block = self.blocks.as_mut_ptr().wrapping_add(slot);
        self.queued.push(block);
    }

    /// Hands everything queued to the kernel. What it refuses comes back as a failed transfer.
    #[inline]
    pub fn submit(&mut self) {
        let mut from = 0;
        while from < self.queued.len() {
            // SAFETY: the pointers name entries of `blocks`, and those name slots of `buffers`, checked to be large
            // enough; both outlive the context, whose end waits for every request.
            match unsafe { self.context.submit(&self.queued[from..]) } {
                Ok(taken) if taken > 0 => from += taken,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                // It is the first of them that was refused.
                refused => {
                    self.refuse(from, refused.err());
                    from += 1;
                }
            }
        }
        self.queued.clear();
    }

    #[cold]
    fn refuse(&mut self, index: usize, why: Option<io::Error>) {
        let base = self.blocks.as_ptr() as usize;
        let slot = (self.queued[index] as usize - base) / size_of::<Iocb>();
        let errno = why.and_then(|e| e.raw_os_error()).unwrap_or(libc::EAGAIN);
        self.refused.push(Done {
            slot: slot as u16,
            result: -errno,
        });
    }

    /// One look without sleeping: whether a completion can be popped.
    ///
    /// # Errors
    /// When the kernel refuses.
    #[inline]
    pub fn look(&mut self) -> Result<bool, AioError> {
        if self.ready() {
            return Ok(true);
        }
        self.next = 0;
        self.fetched = match &self.ring {
            Some(ring) => ring.take(&mut self.events),
            None => self.fetch(0)?,
        };
        Ok(self.fetched > 0)
    }

    /// Sleeps until at least one completion can be popped.
    ///
    /// # Errors
    /// When the kernel refuses; interruptions by signals are resumed.
    #[inline]
    pub fn wait(&mut self) -> Result<(), AioError> {
        while !self.ready() {
            self.next = 0;
            self.fetched = self.fetch(1)?;
        }
        Ok(())
    }

    /// As [`Aio::wait`], but not beyond `deadline_ns` of CLOCK_MONOTONIC.
    ///
    /// # Errors
    /// When the kernel refuses.
    #[inline]
    pub fn wait_until(&mut self, deadline_ns: u64) -> Result<(), AioError> {
        while !self.look()? {
            let left = deadline_ns.saturating_sub(monotonic_ns());
            if left == 0 {
                return Ok(());
            }
            self.next = 0;
            self.fetched = match self.context.events_within(left, &mut self.events) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => 0,
                other => other.map_err(AioError::Events)?,
            };
        }
        Ok(())
    }

    #[inline]
    fn ready(&self) -> bool {
        self.next < self.fetched || !self.refused.is_empty()
    }

    #[inline]
    fn fetch(&mut self, least: usize) -> Result<usize, AioError> {
        match self.context.events(least, &mut self.events) {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => Ok(0),
            other => other.map_err(AioError::Events),
        }
    }

    /// Takes the next finished transfer.
    #[inline]
    pub fn pop(&mut self) -> Option<Done> {
        if self.next == self.fetched {
            return self.refused.pop();
        }
        let event = self.events[self.next];
        self.next += 1;
        Some(Done {
            slot: event.data as u16,
            result: event.result as i32,
        })
    }
}

#[cfg(test)]
mod tests;
