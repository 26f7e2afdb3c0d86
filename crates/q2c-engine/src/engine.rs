//! What every engine can do.
//!
//! # Contract
//! An engine is opened in the thread that uses it and never leaves it. [`Engine::submit`] returns when the requests
//! are handed over; each of them MUST come back exactly once, through [`Engine::poll`] (one look, never sleeps) or
//! [`Engine::wait`] (in the kernel until there is one, see [`Waits`]), in any order. A request that fails comes back too,
//! with its errno: errors of the device are data, an `Err` means that the engine itself is broken.
//! Nothing here allocates after opening.

use q2c_sys::clock::monotonic_ns;
use q2c_sys::nvme::NvmeError;
use q2c_sys::{AioError, RingError, Transfer};
use thiserror::Error;

/// What a request does.
pub use q2c_sys::Act;

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
    /// Kernel AIO failed.
    #[error(transparent)]
    Aio(#[from] AioError),
    /// The target takes no NVMe commands.
    #[error(transparent)]
    Nvme(#[from] NvmeError),
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
    /// A target could not be written before it is measured.
    #[error("write the target before it is measured: {source}")]
    Precondition {
        /// Cause.
        source: std::io::Error,
    },
    /// The engine wants a file or device and got none.
    #[error("open engine {0}: it needs a file or device as its target")]
    NoTarget(&'static str),
}

/// What [`Engine::wait`] does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Waits {
    /// Sleeps until the completion wakes the caller.
    #[default]
    Asleep,
    /// Polls in the kernel: no completion wakes anybody. With HYBRID_IOPOLL it sleeps once by a timer before.
    Polling,
    /// Nothing: a request is complete when its submission returns.
    Not,
}

/// Facts an engine tells about itself, for the proof of the effective mode.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// How polling happens: `ring` (completions are looked for in memory), `iopoll` (the device is asked), `iopoll, hybrid`
    /// (the kernel sleeps, then asks), `ring, iopoll by helper` (a kernel thread asks), `io_getevents`, `call` (within the
    /// call that does the I/O), `memory`.
    pub polls_by: &'static str,
    /// What waiting is.
    pub waits: Waits,
    /// Flags in force, as the kernel names them; empty when there are none.
    pub flags: &'static str,
    /// Whether a timed sleep lasts although the I/O completes meanwhile.
    pub sleeps_undisturbed: bool,
    /// Thread id of the kernel thread that works for this engine alone (SQPOLL): its CPU belongs to the lane's cost.
    pub helper: Option<u32>,
}

/// EAGAIN and EOPNOTSUPP (include/uapi/asm-generic/errno*.h).
const EAGAIN: i32 = 11;
const EOPNOTSUPP: i32 = 95;

impl Facts {
    /// Why a request of this engine ended with `result`, where the engine's own options are the likely reason.
    #[must_use]
    pub fn cause(&self, result: i32) -> Option<&'static str> {
        let has = |flag: &str| self.flags.split('|').any(|name| name == flag);
        match -result {
            EOPNOTSUPP if has("IOPOLL") => Some(
                "no poll queues: IOPOLL needs direct I/O, a device with poll queues (nvme.poll_queues=N; its \
                 queue/io_poll then shows 1) and a file system that polls (not btrfs)",
            ),
            EOPNOTSUPP if has("RWF_HIPRI") => Some(
                "RWF_HIPRI is refused here: leave hipri out, or use direct I/O on a device with poll queues",
            ),
            EAGAIN if has("RWF_NOWAIT") => {
                Some("RWF_NOWAIT: it would have had to wait for something else than the device")
            }
            _ => None,
        }
    }
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

    /// In the kernel until a completion is there, as [`Facts::waits`] says. At least one request MUST be in flight.
    ///
    /// # Errors
    /// When the engine is broken.
    fn wait(&mut self) -> Result<Completion, EngineError>;

    /// As [`Engine::wait`], but at most until `deadline_ns` of CLOCK_MONOTONIC: `None` then. It sleeps where the interface can wait
    /// by time, and looks all the while where it cannot. Nothing need be in flight.
    ///
    /// # Errors
    /// When the engine is broken.
    fn wait_until(&mut self, deadline_ns: u64) -> Result<Option<Completion>, EngineError> {
        loop {
            let done = self.poll()?;
            if done.is_some() || monotonic_ns() >= deadline_ns {
                return Ok(done);
            }
            std::hint::spin_loop();
        }
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_errno_is_explained_by_the_flag_that_brings_it() {
        let facts = |flags| Facts {
            flags,
            ..Facts::default()
        };
        let polled = facts("IOPOLL|HYBRID_IOPOLL|TASKRUN_FLAG").cause(-EOPNOTSUPP);
        assert!(polled.is_some_and(|cause| cause.starts_with("no poll queues")));
        assert_eq!(facts("SINGLE_ISSUER").cause(-EOPNOTSUPP), None);
        assert!(facts("RWF_HIPRI|RWF_NOWAIT").cause(-EAGAIN).is_some());
        assert_eq!(facts("RWF_HIPRI").cause(-EAGAIN), None);
        assert_eq!(facts("IOPOLL").cause(4096), None);
    }
}
