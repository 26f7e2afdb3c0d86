//! A program whose I/Os were recorded, as the workload of a study.
//!
//! [`read()`] makes a [`Pattern`](q2c_result::program::Pattern) from a recording in one pass and
//! bounded memory: sizes, reads and writes, I/Os in flight, think times. [`copied()`] finds the
//! nearest workload that q2c's jobs can run, and says what it leaves out. [`compared()`] compares
//! the trials with the program, and says what the answer would be worth to it.

mod beside;
mod copied;
mod pattern;
mod read;
mod tally;
mod worth;

pub use beside::compared;
pub use copied::copied;
pub use read::{RecordingSelection, read};
