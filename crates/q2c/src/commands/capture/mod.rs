//! A capture of a disk's I/Os, as `q2c trace record` and `q2c analyze --live` make it.

mod child;
mod following;
mod of_command;
mod running;

pub use child::{Child, kill_the_command};
pub use following::{CaptureEnd, Counted, Watch};
pub use of_command::OfCommand;
pub use running::{Captured, RunningCapture};
