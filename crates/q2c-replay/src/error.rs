//! The errors that can stop a replay.

use q2c_engine::engine::EngineError;
use q2c_model::{Exit, Fault};
use q2c_trace::TraceError;
use q2c_trace::process::NoSuchProcess;
use std::path::PathBuf;
use thiserror::Error;

/// The reason why a replay could not begin or continue. Its text reads well after "failed to".
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// The trace cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The trace has no request of the requested process.
    #[error(transparent)]
    Process(#[from] NoSuchProcess),
    /// No request of the trace has a time.
    #[error("replay {}: expected at least one request with a time, found none", path.display())]
    Empty {
        /// Path of the trace.
        path: PathBuf,
    },
    /// Outstanding mode needs completions, but too few requests have one.
    #[error(
        "replay so that what is in flight is kept: expected completions, found {completed} of {requests} requests with one; replay the trace \
         once timed with --record PROFILE.parquet, and then PROFILE.parquet in outstanding mode on every target"
    )]
    NoCompletions {
        /// Requests with a completion.
        completed: u64,
        /// All requests.
        requests: u64,
    },
    /// No request of the trace has the key that names its lanes: "pid" or "CPU".
    #[error(
        "divide the trace by {0}: expected requests with one, found none; leave the option out, or name another"
    )]
    NoKey(&'static str),
    /// A target has no room for the largest request of each device that goes to it.
    #[error(
        "replay on a target of {size} bytes: expected room for the largest request of {needed} bytes for each of {devices} devices; name a larger target, or a target for each device with --map"
    )]
    TooSmall {
        /// Bytes of the target.
        size: u64,
        /// Bytes of the largest request.
        needed: u64,
        /// Number of devices of the trace that go to the target.
        devices: usize,
    },
    /// An engine failed, or a thread could not be pinned to its CPU.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A thread could not be started.
    #[error("start a submitting thread: {0}")]
    Spawn(std::io::Error),
    /// A thread panicked, which is a fault of q2c. Holds the thread's name.
    #[error("replay: the {0} thread panicked")]
    Panic(&'static str),
    /// The recording of the replay could not be written.
    #[error(transparent)]
    Record(#[from] Fault),
}

impl From<ReplayError> for Fault {
    fn from(error: ReplayError) -> Fault {
        let exit = match error {
            ReplayError::Trace(error) => return error.into_read_fault(),
            ReplayError::Record(fault) => return fault,
            ReplayError::Empty { .. }
            | ReplayError::Process(_)
            | ReplayError::NoCompletions { .. }
            | ReplayError::NoKey(_)
            | ReplayError::Engine(EngineError::ServiceTimes { .. }) => Exit::Input,
            ReplayError::TooSmall { .. } => Exit::Target,
            ReplayError::Engine(EngineError::Precondition { .. }) => Exit::Device,
            ReplayError::Panic(_) => Exit::Internal,
            // Engines and threads that cannot be set up.
            _ => Exit::Environment,
        };
        Fault::from_error(exit, error)
    }
}
