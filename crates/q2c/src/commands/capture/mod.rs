//! A capture of a disk's I/Os, as `q2c trace record` and `q2c analyze --live` make it.

mod captured;
mod child;
mod running;
mod target;

pub use captured::{Captured, Described};
pub use child::Child;
pub use running::{CaptureEnd, Quiet, RunningCapture, Watch};
pub use target::Target;
