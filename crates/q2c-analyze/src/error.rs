//! Errors of analysing a recording.

use q2c_trace::import::ImportError;
use q2c_trace::process::NoSuchProcess;
use std::path::PathBuf;
use thiserror::Error;

/// A recording that could not be analysed.
#[derive(Debug, Error)]
pub enum AnalyzeError {
    /// The recording could not be recognised, read or used. An analysis that is stopped gives
    /// [`ImportError::Trace`] with [`q2c_trace::TraceError::Stopped`].
    #[error(transparent)]
    Import(#[from] ImportError),
    /// The recording holds no request of the process that was asked for.
    #[error(transparent)]
    Process(#[from] NoSuchProcess),
    /// The recording holds no request.
    #[error("analyze {}: expected at least one request, found none; record it again for longer, as with q2c trace record DISK --seconds 10", path.display())]
    Empty {
        /// Path of the recording.
        path: PathBuf,
    },
    /// No I/O of the recording has times that a figure can have.
    #[error("analyze {}: expected times that rise from stage to stage, found {ios} I/Os whose times fall and no other; record it again with one clock", path.display())]
    Untimed {
        /// Path of the recording.
        path: PathBuf,
        /// Number of its I/Os.
        ios: u64,
    },
}
