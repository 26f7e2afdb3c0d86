//! A capture of a disk's I/Os, as `q2c trace record` and `q2c analyze --live` make it.

mod captured;
mod child;
mod running;
mod target;

pub use captured::{Captured, Described};
pub use child::Child;
pub use running::{CaptureEnd, Quiet, RunningCapture, Watch};
pub use target::Target;

use super::trace::trace_exit;
use q2c_result::Exit;
use q2c_trace::recording::RecordingError;

/// The exit code for a recording that cannot be kept.
pub fn recording_exit(error: &RecordingError) -> Exit {
    match error {
        RecordingError::Trace(error) => trace_exit(error),
        RecordingError::Spill { .. } | RecordingError::InFlight => Exit::Environment,
    }
}
