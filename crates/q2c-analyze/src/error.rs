//! Errors of analysing a recording.

use q2c_trace::TraceError;
use q2c_trace::blktrace::BlktraceError;
use q2c_trace::import::ImportError;
use std::path::PathBuf;
use thiserror::Error;

/// A recording that could not be analysed.
#[derive(Debug, Error)]
pub enum AnalyzeError {
    /// A q2c trace could not be read, or the analysis was stopped ([`TraceError::Stopped`]).
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// Binary blktrace records could not be read or used.
    #[error(transparent)]
    Blktrace(#[from] BlktraceError),
    /// A recording of another tool could not be read or used, or the input was not recognised. An
    /// analysis that is stopped while it imports gives [`ImportError::Trace`] with
    /// [`TraceError::Stopped`].
    #[error(transparent)]
    Import(#[from] ImportError),
    /// The recording holds no request.
    #[error("analyze {}: expected at least one request, found none", path.display())]
    Empty {
        /// Path of the recording.
        path: PathBuf,
    },
}
