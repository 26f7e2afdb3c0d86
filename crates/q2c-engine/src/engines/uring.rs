//! `io_uring`: one ring per lane, registered file and buffers, completions run only when the lane looks.

use crate::engine::{Completion, Engine, EngineError, Facts, Request};
use q2c_sys::{Buffers, Ring};
use std::fs::File;

/// An open ring on a file or device.
pub struct Uring {
    ring: Ring,
}

impl Uring {
    /// Opens a ring on `file` with `slots` buffers of `size` bytes.
    pub fn open(file: &File, slots: usize, size: usize) -> Result<Self, EngineError> {
        let buffers = Buffers::new(slots, size).map_err(|source| EngineError::Buffers {
            slots,
            size,
            source,
        })?;
        let file = file.try_clone().map_err(EngineError::Reopen)?;
        Ok(Uring {
            ring: Ring::new(file, buffers)?,
        })
    }

    /// Waiting returned, so a completion can be popped; anything else is the kernel's fault or ours.
    fn popped(&mut self) -> Result<Completion, EngineError> {
        loop {
            if let Some(done) = self.ring.pop() {
                return Ok(done);
            }
            self.ring.wait()?;
        }
    }
}

impl Engine for Uring {
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

    fn facts(&self) -> Facts {
        let flags = self.ring.flags();
        Facts {
            polls_by: "ring",
            flags: flags.names(),
            sleeps_undisturbed: flags.sleeps_undisturbed(),
        }
    }
}
