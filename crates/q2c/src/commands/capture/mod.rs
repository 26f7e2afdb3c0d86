//! A capture of a disk's I/Os, as `q2c trace record` and `q2c analyze --live` make it.

mod child;
mod following;
mod running;

pub use child::Child;
pub use following::{CaptureEnd, Quiet, Watch};
pub use running::{Captured, RunningCapture};

use super::trace::trace_exit;
use crate::failure::Failure;
use q2c_capture::ProbeError;
use q2c_result::Exit;
use q2c_trace::recording::RecordingError;

/// The exit code for a recording that cannot be kept.
pub fn recording_exit(error: &RecordingError) -> Exit {
    match error {
        RecordingError::Trace(error) => trace_exit(error),
        RecordingError::Spill { .. } | RecordingError::InFlight => Exit::Environment,
    }
}

impl From<ProbeError> for Failure {
    fn from(error: ProbeError) -> Failure {
        Failure::new(error.exit(), error)
    }
}
