//! Kernel AIO, the interface that libaio wraps, called directly by its four system calls.
//!
//! Contract: one thread uses an [`Aio`]. Completions become visible through [`Aio::pop`] after
//! [`Aio::look`], which never sleeps, or [`Aio::wait`], which sleeps until there is one. A look
//! reads the completion ring that the kernel maps into the process. Where the caller asked for
//! [`ReapFrom::Kernel`], or the ring's layout is not known, it calls `io_getevents` with a minimum
//! of 0 instead. A wait is `io_getevents` with a minimum of 1; it fetches all other completions
//! that have arrived, too.

mod abi;

use crate::clock::monotonic_ns;
use crate::{Buffers, Operation, RingCompletion, Transfer};
use abi::{AioContext, AioEvent, DSYNC, FDSYNC, Iocb, READ, UserRing, WRITE};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use thiserror::Error;

/// The reason why kernel AIO could not be used.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "the messages say it")]
#[non_exhaustive]
pub enum AioError {
    #[error(
        "set up kernel AIO for {depth} requests: {source}{}",
        todo_hint(source)
    )]
    Setup { depth: u32, source: io::Error },
    #[error("fetch events of kernel AIO: {0}")]
    Events(io::Error),
}

fn todo_hint(source: &io::Error) -> &'static str {
    match source.raw_os_error() {
        Some(libc::EAGAIN) => "; raise the sysctl fs.aio-max-nr or use fewer jobs or less depth",
        Some(libc::ENOSYS) => "; the kernel has no AIO (CONFIG_AIO): use io_uring",
        Some(libc::EPERM | libc::EACCES) => {
            "; it is forbidden here: see the container's seccomp profile"
        }
        _ => "",
    }
}

/// The place where a look finds completions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ReapFrom {
    /// The mapped ring, read without a system call.
    #[default]
    Ring,
    /// The kernel, asked by `io_getevents`.
    Kernel,
}

/// One AIO context with its file and buffers.
///
/// The order of the fields is the order of their drop, and matters: the ring belongs to the
/// context, and dropping the context waits for the requests in flight, which use the buffers and
/// the file.
pub struct Aio {
    /// The mapped ring, if looks read it. It is dropped before the context, which owns its memory.
    ring: Option<UserRing>,
    /// It is dropped before the buffers, because its drop waits for the requests in flight.
    context: AioContext,
    /// One control block per slot; the kernel reads it during the submission only.
    blocks: Box<[Iocb]>,
    /// Pointers to the `blocks` that are queued and not submitted.
    queued: Vec<*mut Iocb>,
    /// `events[next..fetched]` are fetched and not popped.
    events: Box<[AioEvent]>,
    next: usize,
    fetched: usize,
    /// Transfers that were refused at the submission. They wait here to be popped with an error.
    refused: Vec<RingCompletion>,
    buffers: Buffers,
    file: File,
}

impl Aio {
    /// Makes a context for as many requests as there are slots.
    pub fn new(file: File, buffers: Buffers, reap: ReapFrom) -> Result<Self, AioError> {
        let slots = buffers.slots();
        let depth = slots as u32;
        let context = AioContext::new(depth).map_err(|source| AioError::Setup { depth, source })?;
        let ring = match reap {
            ReapFrom::Ring => UserRing::from_context(&context),
            ReapFrom::Kernel => None,
        };
        Ok(Aio {
            ring,
            context,
            blocks: vec![Iocb::default(); slots].into(),
            queued: Vec::with_capacity(slots),
            events: vec![AioEvent::default(); slots].into(),
            next: 0,
            fetched: 0,
            refused: Vec::with_capacity(slots),
            buffers,
            file,
        })
    }

    /// The place where looks find completions: as asked for, or [`ReapFrom::Kernel`] if the ring's
    /// layout is not known.
    pub fn reap(&self) -> ReapFrom {
        match self.ring {
            Some(_) => ReapFrom::Ring,
            None => ReapFrom::Kernel,
        }
    }

    /// Queues one transfer; [`Aio::submit`] hands it to the kernel. Its slot must have no other
    /// transfer in flight.
    ///
    /// AIO has no discard: a discard completes with EOPNOTSUPP.
    #[inline]
    pub fn queue(&mut self, transfer: Transfer) {
        if transfer.operation == Operation::Discard {
            let (slot, result) = (transfer.slot, -libc::EOPNOTSUPP);
            return self.refused.push(RingCompletion { slot, result });
        }
        let slot = transfer.slot as usize;
        let writes = transfer.operation.writes();
        let buffer = self.buffers.index_of(transfer.slot, writes);
        let fits = transfer.length as usize <= self.buffers.size();
        assert!(fits && self.queued.len() < self.queued.capacity());
        let common = Iocb {
            data: u64::from(transfer.slot),
            fd: self.file.as_raw_fd() as u32,
            ..Iocb::default()
        };
        let is_durable = transfer.operation == Operation::Durable;
        self.blocks[slot] = match transfer.operation {
            Operation::Flush => Iocb {
                opcode: FDSYNC,
                ..common
            },
            _ => Iocb {
                opcode: if writes { WRITE } else { READ },
                key_and_flags: if is_durable { DSYNC } else { [0, 0] },
                buffer: self.buffers.address(buffer) as u64,
                bytes: u64::from(transfer.length),
                offset: transfer.offset as i64,
                ..common
            },
        };
        // The pointer is derived from the one to the whole array: a reference to one entry would
        // invalidate the earlier pointers, which are still queued.
        let block = self.blocks.as_mut_ptr().wrapping_add(slot);
        self.queued.push(block);
    }

    /// Hands everything queued to the kernel. A transfer that the kernel refuses completes with an
    /// error.
    #[inline]
    pub fn submit(&mut self) {
        let mut handled = 0;
        while handled < self.queued.len() {
            // SAFETY: the pointers name entries of `blocks`, and those name slots of `buffers`,
            // checked to be large enough; both outlive the context, whose drop waits for every
            // request.
            match unsafe { self.context.submit(&self.queued[handled..]) } {
                Ok(taken) if taken > 0 => handled += taken,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                // The kernel stops at the first request that it refuses.
                refused => {
                    self.refuse_queued(handled, refused.err());
                    handled += 1;
                }
            }
        }
        self.queued.clear();
    }

    #[cold]
    fn refuse_queued(&mut self, index: usize, error: Option<io::Error>) {
        let base = self.blocks.as_ptr() as usize;
        let slot = ((self.queued[index] as usize - base) / size_of::<Iocb>()) as u16;
        let result = -error.and_then(|e| e.raw_os_error()).unwrap_or(libc::EAGAIN);
        self.refused.push(RingCompletion { slot, result });
    }

    /// Looks once without sleeping. Returns true if a completion can be popped.
    #[inline]
    pub fn look(&mut self) -> Result<bool, AioError> {
        if self.has_completion() {
            return Ok(true);
        }
        self.next = 0;
        self.fetched = match &self.ring {
            Some(ring) => ring.take(&mut self.events),
            None => self.fetch(0)?,
        };
        Ok(self.fetched > 0)
    }

    /// Sleeps until at least one completion can be popped; interruptions by signals are resumed.
    #[inline]
    pub fn wait(&mut self) -> Result<(), AioError> {
        while !self.has_completion() {
            self.next = 0;
            self.fetched = self.fetch(1)?;
        }
        Ok(())
    }

    /// Waits as [`Aio::wait`] does, but not beyond `deadline_ns` of CLOCK_MONOTONIC.
    #[inline]
    pub fn wait_until(&mut self, deadline_ns: u64) -> Result<(), AioError> {
        while !self.look()? {
            let left_ns = deadline_ns.saturating_sub(monotonic_ns());
            if left_ns == 0 {
                return Ok(());
            }
            self.next = 0;
            self.fetched = match self.context.events_within(left_ns, &mut self.events) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => 0,
                other => other.map_err(AioError::Events)?,
            };
        }
        Ok(())
    }

    #[inline]
    fn has_completion(&self) -> bool {
        self.next < self.fetched || !self.refused.is_empty()
    }

    #[inline]
    fn fetch(&mut self, min_events: usize) -> Result<usize, AioError> {
        match self.context.events(min_events, &mut self.events) {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => Ok(0),
            other => other.map_err(AioError::Events),
        }
    }

    /// Takes the next finished transfer.
    #[inline]
    pub fn pop(&mut self) -> Option<RingCompletion> {
        if self.next == self.fetched {
            return self.refused.pop();
        }
        let event = self.events[self.next];
        self.next += 1;
        Some(RingCompletion {
            slot: event.data as u16,
            result: event.result as i32,
        })
    }
}

#[cfg(test)]
mod tests;
