//! What every engine can do.
//!
//! # Contract
//! An engine is opened in the thread that uses it and never leaves it. [`Engine::submit`] returns when the requests
//! are handed over; each of them MUST come back exactly once, through [`Engine::poll`] (one look, never sleeps) or
//! [`Engine::wait`] (sleeps until there is one), in any order. A request that fails comes back too, with its
//! errno: errors of the device are data, an `Err` means that the engine itself is broken.
//! Nothing here allocates after opening.

use q2c_sys::{RingError, Transfer};
use thiserror::Error;

/// One request, named by the buffer slot it uses: at most one in flight per slot.
pub type Request = Transfer;

/// One finished request: its slot, and the bytes moved or a negative errno.
pub type Completion = q2c_sys::Done;

/// The engine itself failed; the lane stops.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The ring failed.
    #[error(transparent)]
    Ring(#[from] RingError),
    /// Buffers could not be had.
    #[error("allocate {slots} I/O buffers of {size} bytes: {source}")]
    Buffers {
        /// Number of buffers.
        slots: usize,
        /// Bytes each.
        size: usize,
        /// Cause.
        source: std::io::Error,
    },
    /// A lane could not be placed on its CPU.
    #[error("pin a job to CPU {cpu}: {source}; choose one of the online CPUs with --cpu")]
    Pin {
        /// The CPU asked for.
        cpu: u32,
        /// Cause.
        source: std::io::Error,
    },
    /// The target's handle could not be shared with another thread.
    #[error("open the target once more: {0}")]
    Reopen(std::io::Error),
    /// The engine wants a file or device and got none.
    #[error("open engine {0}: it needs a file or device as its target")]
    NoTarget(&'static str),
}

/// Facts an engine tells about itself, for the proof of the effective mode.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// How polling happens: `ring`, `iopoll`, `memory`.
    pub polls_by: &'static str,
    /// Flags in force, as the kernel names them; empty when there are none.
    pub flags: &'static str,
    /// Whether a timed sleep lasts although the I/O completes meanwhile.
    pub sleeps_undisturbed: bool,
}

/// An I/O interface, in use by one thread.
pub trait Engine {
    /// Hands the requests over. Returns when the submission returned.
    ///
    /// # Errors
    /// When the engine is broken; the requests are lost then.
    fn submit(&mut self, requests: &[Request]) -> Result<(), EngineError>;

    /// One look for a completion; never sleeps.
    ///
    /// # Errors
    /// When the engine is broken.
    fn poll(&mut self) -> Result<Option<Completion>, EngineError>;

    /// Sleeps until a completion is there. At least one request MUST be in flight.
    ///
    /// # Errors
    /// When the engine is broken.
    fn wait(&mut self) -> Result<Completion, EngineError>;

    /// Submits and waits as one act, where the interface can (one system call).
    ///
    /// # Errors
    /// When the engine is broken.
    fn submit_and_wait(&mut self, requests: &[Request]) -> Result<Completion, EngineError> {
        self.submit(requests)?;
        self.wait()
    }

    /// What it is.
    fn facts(&self) -> Facts;
}
