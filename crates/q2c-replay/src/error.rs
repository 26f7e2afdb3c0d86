//! What can stop a replay.

use q2c_engine::engine::EngineError;
use q2c_trace::TraceError;
use q2c_trace::recording::RecordingError;
use std::path::PathBuf;
use thiserror::Error;

/// A replay could not begin or go on; reads well after "failed to".
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// The trace cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// There is nothing to replay.
    #[error("replay {}: expected at least one request with a time, found none", path.display())]
    Empty {
        /// The trace.
        path: PathBuf,
    },
    /// The mode needs completions.
    #[error(
        "replay so that what is in flight is kept: expected completions, found {completed} of {requests} requests with one; replay the trace \
         once timed with --record PROFILE.parquet, and then PROFILE.parquet in outstanding mode on every target"
    )]
    NoCompletions {
        /// Requests with a completion.
        completed: u64,
        /// All of them.
        requests: u64,
    },
    /// The trace does not say what it is to be divided by.
    #[error(
        "divide the trace by {0}: expected requests with one, found none; leave the option out, or name another"
    )]
    NoKey(&'static str),
    /// A target cannot hold anything.
    #[error(
        "replay on a target of {size} bytes: expected room for the largest request of {needed} bytes for each of {devices} devices"
    )]
    TooSmall {
        /// Its size.
        size: u64,
        /// The largest request.
        needed: u64,
        /// Devices of the trace that go there.
        devices: usize,
    },
    /// An engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A thread could not be started.
    #[error("start a submitting thread: {0}")]
    Spawn(std::io::Error),
    /// A thread panicked: a fault of q2c.
    #[error("replay: the {0} thread panicked")]
    Panic(&'static str),
    /// What was done could not be recorded.
    #[error(transparent)]
    Record(#[from] RecordingError),
}
