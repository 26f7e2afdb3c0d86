//! `io_uring_cmd`: NVMe commands through a ring to a namespace's character device, past block layer
//! and file system.

use super::memory::own;
use crate::engine::{Completion, Engine, EngineError, EngineFacts, Request, Waits};
use q2c_policy::method::Means;
use q2c_sys::nvme::{MOST_BLOCKS, NvmeError, namespace};
use q2c_sys::{Buffers, CommandRing};
use std::fs::File;

/// The engine: an open ring on a namespace's character device.
pub struct Command {
    ring: CommandRing,
    iopoll: bool,
}

impl Command {
    /// Opens a ring on `file`, which must be a namespace's character device, with these buffers.
    /// `iopoll` makes the kernel ask the device for completions.
    pub fn open(file: &File, buffers: Buffers, iopoll: bool) -> Result<Self, EngineError> {
        let size = buffers.size();
        let namespace = namespace(file)?;
        let block = namespace.block;
        if size / block as usize > MOST_BLOCKS as usize {
            let most = MOST_BLOCKS;
            return Err(NvmeError::TooLarge { size, most, block }.into());
        }
        let ring = CommandRing::new(own(file)?, namespace, buffers, iopoll)?;
        Ok(Command { ring, iopoll })
    }

    #[inline]
    fn popped(&mut self) -> Result<Completion, EngineError> {
        loop {
            if let Some(done) = self.ring.pop() {
                return Ok(done);
            }
            self.ring.wait()?;
        }
    }
}

impl Engine for Command {
    #[inline]
    fn submit(&mut self, requests: &[Request]) -> Result<(), EngineError> {
        requests
            .iter()
            .for_each(|&request| self.ring.queue(request));
        Ok(self.ring.submit()?)
    }

    #[inline]
    fn poll(&mut self) -> Result<Option<Completion>, EngineError> {
        Ok(if self.ring.look()? {
            self.ring.pop()
        } else {
            None
        })
    }

    fn wait(&mut self) -> Result<Completion, EngineError> {
        self.popped()
    }

    fn submit_and_wait(&mut self, requests: &[Request]) -> Result<Completion, EngineError> {
        requests
            .iter()
            .for_each(|&request| self.ring.queue(request));
        self.ring.submit_and_wait()?;
        self.popped()
    }

    fn facts(&self) -> EngineFacts {
        EngineFacts {
            polls_by: if self.iopoll {
                Means::IoPoll
            } else {
                Means::Ring
            },
            waits: if self.iopoll {
                Waits::Polling
            } else {
                Waits::Asleep
            },
            flags: self.ring.names(),
            sleeps_undisturbed: self.iopoll || self.ring.flags().sleeps_undisturbed(),
            helper: None,
        }
    }
}
