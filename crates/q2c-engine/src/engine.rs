//! The trait that every engine implements, and its types.
//!
//! # Contract
//! An engine is opened in the thread that uses it and never leaves that thread. [`Engine::submit`]
//! returns when the requests are handed over. Each of them MUST come back exactly once, in any
//! order, through [`Engine::poll`] (one look, never sleeps) or [`Engine::wait`] (stays in the
//! kernel until there is one, see [`Waits`]). A request that fails comes back too, with its errno:
//! errors of the device are data, and an `Err` means that the engine itself is broken. After
//! opening, no call allocates memory.
//!
//! An engine that polls the device has two paths: it polls for requests of [`Engine::submit`], and
//! those of [`Engine::submit_interrupting`] complete by the device's interrupt. Every call that
//! takes completions takes those of both paths.

use q2c_model::Bytes;
use q2c_policy::method::Means;
use q2c_service::SimInterface;
use q2c_sys::clock::monotonic_ns;
use q2c_sys::nvme::NvmeError;
use q2c_sys::{AioError, RingError, Transfer};
use thiserror::Error;

/// `Operation` is the kind of a request. `RingCompletion` is a finished request: its slot, and the
/// bytes moved or a negative errno.
pub use q2c_sys::{Operation, RingCompletion};

/// One request, named by the buffer slot that it uses. At most one request is in flight for each
/// slot.
pub type Request = Transfer;

/// The engine failed or could not be opened. The lane stops.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "the messages say it")]
#[non_exhaustive]
pub enum EngineError {
    #[error(transparent)]
    Ring(#[from] RingError),
    #[error(transparent)]
    Aio(#[from] AioError),
    #[error(transparent)]
    Nvme(#[from] NvmeError),
    #[error("allocate {slots} I/O buffers of {size} bytes: {source}")]
    Buffers {
        slots: usize,
        size: usize,
        source: std::io::Error,
    },
    #[error(
        "allocate {bytes} of samples for a job: the system gives no more memory; ask for shorter trials or fewer jobs"
    )]
    Samples { bytes: Bytes },
    #[error("pin a job to CPU {cpu}: {source}; choose one of the online CPUs with --cpus")]
    Pin { cpu: u32, source: std::io::Error },
    #[error("open the target once more: {0}")]
    Reopen(std::io::Error),
    #[error("write the target before it is measured: {source}")]
    Precondition { source: std::io::Error },
    /// The engine needs a file or device, but the medium has none. Holds the engine's name.
    #[error("open engine {0}: it needs a file or device as its target")]
    NoTarget(&'static str),
    /// The engine needs the kernel, but time is simulated. Holds the engine's text.
    #[error(
        "open engine {0} in simulated time: it does its I/O in the kernel; name a simulated device, or say --real-time"
    )]
    NotSimulated(String),
    /// The engine simulates, but the medium holds no simulated devices. Holds the engine's text.
    #[error(
        "open engine {0}: the target it was given holds no simulated devices; name {0} as the target"
    )]
    NoDevices(String),
    /// The engine needs simulated time, because nothing would end it in real time. Holds the
    /// engine's text.
    #[error(
        "open engine {0}: a request that never completes would hold its job for ever; use it on a simulated device, in simulated time"
    )]
    OnlySimulated(String),
    /// The costs of the interface are not known.
    #[error(
        "simulate {0}: expected its costs, found none; give --machine a file with [interfaces.{0}]"
    )]
    NoCosts(SimInterface),
    /// Only requests that never complete are in flight. Holds one of them.
    #[error(
        "wait for a completion: the request of {} bytes at {} never completes", .0.length, .0.offset
    )]
    NeverCompletes(Request),
    /// A completion came for a slot without a request in flight. Holds the slot.
    #[error(
        "take a completion: expected one of a request in flight, found one of slot {0}, which has none; a request came back twice"
    )]
    CompletedTwice(u16),
    /// A lane waits, and nothing is in flight: a fault of q2c.
    #[error("wait for a completion: nothing is in flight; q2c has lost a completion")]
    NothingInFlight,
    #[error("read service times from {path}: {source}")]
    ServiceTimes {
        path: std::path::PathBuf,
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// How [`Engine::wait`] waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Waits {
    /// It sleeps until a completion wakes the caller.
    #[default]
    Asleep,
    /// It polls in the kernel, so no completion wakes the caller. With HYBRID_IOPOLL it first
    /// sleeps once, by a timer.
    Polling,
    /// It does not wait: a request is complete when its submission returns.
    Never,
}

/// Facts that an engine reports about itself, as proof of the effective mode.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EngineFacts {
    /// Where polling looks for completions.
    pub polls_by: Means,
    /// How waiting happens.
    pub waits: Waits,
    /// The flags in force as the kernel names them, separated by `|`; empty if there are none.
    pub flags: &'static str,
    /// For an engine with two paths, the flags in force on the path of
    /// [`Engine::submit_interrupting`]. `None` if all requests take one path.
    pub interrupting_flags: Option<&'static str>,
    /// True if a timed sleep lasts to its end although the I/O completes meanwhile.
    pub sleeps_undisturbed: bool,
    /// Thread id of the kernel thread that works for this engine alone (SQPOLL). The lane's cost
    /// includes its CPU time.
    pub helper: Option<u32>,
}

/// EAGAIN and EOPNOTSUPP (include/uapi/asm-generic/errno*.h).
const EAGAIN: i32 = 11;
const EOPNOTSUPP: i32 = 95;

impl EngineFacts {
    /// The flags in force for the requests of a lane that waits for interrupts (`interrupting` is
    /// true) or of a lane that polls (`interrupting` is false).
    pub fn flags_of(&self, interrupting: bool) -> &'static str {
        let interrupt_flags = self.interrupting_flags.filter(|_| interrupting);
        interrupt_flags.unwrap_or(self.flags)
    }

    /// The likely reason why a request of this engine ended with `result`, if the engine's own
    /// options explain it; otherwise `None`.
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

/// An I/O interface, used by one thread. The module's documentation has the contract.
pub trait Engine {
    /// Hands the requests over, and returns when that is done. After an error they are lost.
    fn submit(&mut self, requests: &[Request]) -> Result<(), EngineError>;

    /// Hands over requests that are to complete by the device's interrupt. An engine with one path
    /// submits as usual.
    fn submit_interrupting(&mut self, requests: &[Request]) -> Result<(), EngineError> {
        self.submit(requests)
    }

    /// Looks once for a completion and never sleeps.
    fn poll(&mut self) -> Result<Option<RingCompletion>, EngineError>;

    /// Waits in the kernel until there is a completion, in the way of [`EngineFacts::waits`]. It
    /// sleeps if all requests in flight came by [`Engine::submit_interrupting`]; with requests on
    /// both paths it looks at both. At least one request MUST be in flight.
    fn wait(&mut self) -> Result<RingCompletion, EngineError>;

    /// The time of the next completion, ns on the run's clock; `None` if the engine cannot know it.
    fn next_due(&self) -> Option<u64> {
        None
    }

    /// As [`Engine::wait`], but returns `None` at `deadline_ns` of CLOCK_MONOTONIC. It sleeps if
    /// the interface can wait by time, and otherwise polls until then. It may be called with
    /// nothing in flight.
    fn wait_until(&mut self, deadline_ns: u64) -> Result<Option<RingCompletion>, EngineError> {
        loop {
            let done = self.poll()?;
            if done.is_some() || monotonic_ns() >= deadline_ns {
                return Ok(done);
            }
            std::hint::spin_loop();
        }
    }

    /// Submits as [`Engine::submit_interrupting`] does and waits, in one system call if the
    /// interface can do so.
    fn submit_and_wait(&mut self, requests: &[Request]) -> Result<RingCompletion, EngineError> {
        self.submit_interrupting(requests)?;
        self.wait()
    }

    /// The facts about this engine and its options.
    fn facts(&self) -> EngineFacts;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_errno_is_explained_by_the_flag_that_brings_it() {
        let facts = |flags| EngineFacts {
            flags,
            ..EngineFacts::default()
        };
        let polled = facts("IOPOLL|HYBRID_IOPOLL|TASKRUN_FLAG").cause(-EOPNOTSUPP);
        assert!(polled.is_some_and(|cause| cause.starts_with("no poll queues")));
        assert_eq!(facts("SINGLE_ISSUER").cause(-EOPNOTSUPP), None);
        assert!(facts("RWF_HIPRI|RWF_NOWAIT").cause(-EAGAIN).is_some());
        assert_eq!(facts("RWF_HIPRI").cause(-EAGAIN), None);
        assert_eq!(facts("IOPOLL").cause(4096), None);
    }
}
