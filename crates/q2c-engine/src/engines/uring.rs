//! `io_uring`: one ring for each lane, with a registered file and buffers; completions run only
//! when the lane looks. The options say who submits and how completions are found. If the lane
//! polls the device, a second ring takes the requests that wait for interrupts.

use super::memory::{Memory, duplicate};
use crate::engine::{Engine, EngineError, EngineFacts, Request, RingCompletion, Waits};
use q2c_policy::method::Means;
use q2c_sys::nvme::{MAX_BLOCKS, NvmeError, namespace};
use q2c_sys::{
    CommandRing, CompletionPath, EncodedRing, FileEncoding, NvmeEncoding, Ring, RingEncoding,
    RingOptions,
};
use std::fs::File;

pub(crate) struct RingEngine<E: RingEncoding> {
    ring: EncodedRing<E>,
}

pub(crate) type UringEngine = RingEngine<FileEncoding>;

impl UringEngine {
    pub(crate) fn open(
        file: &File,
        memory: Memory,
        options: RingOptions,
    ) -> Result<Self, EngineError> {
        let ring = Ring::with(duplicate(file)?, memory.buffers()?, options)?;
        Ok(RingEngine { ring })
    }
}

/// `io_uring_cmd`: NVMe commands through a ring to a namespace's character device, bypassing the
/// block layer and the file system.
pub(crate) type NvmeEngine = RingEngine<NvmeEncoding>;

impl NvmeEngine {
    /// Opens a ring on `file`, which must be a namespace's character device, with `memory` as
    /// buffers. With `iopoll` the kernel asks the device for completions.
    pub(crate) fn open(file: &File, memory: Memory, iopoll: bool) -> Result<Self, EngineError> {
        let (size, buffers) = (memory.size, memory.buffers()?);
        let namespace = namespace(file)?;
        let block = namespace.block;
        if size / block as usize > MAX_BLOCKS as usize {
            let most = MAX_BLOCKS;
            return Err(NvmeError::TooLarge { size, most, block }.into());
        }
        let ring = CommandRing::new(duplicate(file)?, namespace, buffers, iopoll)?;
        Ok(RingEngine { ring })
    }
}

impl<E: RingEncoding> RingEngine<E> {
    #[inline]
    fn queue(&mut self, requests: &[Request], path: CompletionPath) {
        let queue = |&request: &Request| self.ring.queue(request, path);
        requests.iter().for_each(queue);
    }

    /// Takes a completion, and waits until there is one. A wait ends without a completion only if
    /// the kernel's polling was interrupted.
    #[inline]
    fn pop_or_wait(&mut self) -> Result<RingCompletion, EngineError> {
        loop {
            if let Some(done) = self.ring.pop() {
                return Ok(done);
            }
            self.ring.wait()?;
        }
    }
}

impl<E: RingEncoding> Engine for RingEngine<E> {
    #[inline]
    fn submit(&mut self, requests: &[Request]) -> Result<(), EngineError> {
        self.queue(requests, CompletionPath::Options);
        Ok(self.ring.submit(CompletionPath::Options)?)
    }

    fn submit_interrupting(&mut self, requests: &[Request]) -> Result<(), EngineError> {
        self.queue(requests, CompletionPath::Interrupt);
        Ok(self.ring.submit(CompletionPath::Interrupt)?)
    }

    #[inline]
    fn poll(&mut self) -> Result<Option<RingCompletion>, EngineError> {
        let is_there = self.ring.look()?;
        Ok(if is_there { self.ring.pop() } else { None })
    }

    fn wait(&mut self) -> Result<RingCompletion, EngineError> {
        self.pop_or_wait()
    }

    fn wait_until(&mut self, deadline_ns: u64) -> Result<Option<RingCompletion>, EngineError> {
        self.ring.wait_until(deadline_ns)?;
        Ok(self.ring.pop())
    }

    fn submit_and_wait(&mut self, requests: &[Request]) -> Result<RingCompletion, EngineError> {
        self.queue(requests, CompletionPath::Interrupt);
        self.ring.submit_and_wait(CompletionPath::Interrupt)?;
        self.pop_or_wait()
    }

    fn facts(&self) -> EngineFacts {
        let (options, taskrun) = (self.ring.options(), self.ring.flags());
        let has_helper = options.sqpoll.is_some();
        EngineFacts {
            polls_by: match (has_helper, options.iopoll, options.hybrid) {
                (_, false, _) => Means::Ring,
                (false, true, false) => Means::IoPoll,
                (false, true, true) => Means::IoPollHybrid,
                (true, true, false) => Means::HelperIoPoll,
                (true, true, true) => Means::HelperIoPollHybrid,
            },
            waits: if options.polls_in_call() {
                Waits::Polling
            } else {
                Waits::Asleep
            },
            flags: self.ring.names(),
            interrupting_flags: self.ring.interrupting_names(),
            // Polled completions, and those of a helper, cause no work in this thread.
            sleeps_undisturbed: options.iopoll || has_helper || taskrun.sleeps_undisturbed(),
            helper: self.ring.helper(),
        }
    }
}
