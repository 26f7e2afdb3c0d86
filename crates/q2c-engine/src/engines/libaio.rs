//! `libaio`: kernel AIO by its system calls. Waiting calls `io_getevents`. Polling reads the mapped
//! completion ring, or also calls `io_getevents` if [`ReapFrom`] says so.

use super::memory::{Memory, duplicate};
use crate::engine::{Engine, EngineError, EngineFacts, Request, RingCompletion};
use q2c_policy::method::Means;
use q2c_sys::Aio;
use q2c_sys::aio::ReapFrom;
use std::fs::File;

pub struct Libaio {
    aio: Aio,
}

impl Libaio {
    pub(crate) fn open(file: &File, memory: Memory, reap: ReapFrom) -> Result<Self, EngineError> {
        let aio = Aio::new(duplicate(file)?, memory.buffers()?, reap)?;
        Ok(Libaio { aio })
    }
}

impl Engine for Libaio {
    #[inline]
    fn submit(&mut self, requests: &[Request]) -> Result<(), EngineError> {
        requests.iter().for_each(|&request| self.aio.queue(request));
        self.aio.submit();
        Ok(())
    }

    #[inline]
    fn poll(&mut self) -> Result<Option<RingCompletion>, EngineError> {
        let is_there = self.aio.look()?;
        Ok(if is_there { self.aio.pop() } else { None })
    }

    fn wait(&mut self) -> Result<RingCompletion, EngineError> {
        self.aio.wait()?;
        let done = self.aio.pop();
        Ok(done.expect("waiting ends with a completion"))
    }

    fn wait_until(&mut self, deadline_ns: u64) -> Result<Option<RingCompletion>, EngineError> {
        self.aio.wait_until(deadline_ns)?;
        Ok(self.aio.pop())
    }

    fn facts(&self) -> EngineFacts {
        EngineFacts {
            polls_by: match self.aio.reap() {
                ReapFrom::Ring => Means::Ring,
                ReapFrom::Kernel => Means::IoGetevents,
            },
            // A completion wakes only a thread that waits in io_getevents.
            sleeps_undisturbed: true,
            ..EngineFacts::default()
        }
    }
}
