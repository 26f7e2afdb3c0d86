//! A program whose I/Os were recorded, as the workload of a study.
//!
//! [`read()`] makes a [pattern](q2c_result::program::ProgramPattern) from a recording in one pass
//! and bounded memory: sizes, reads and writes, I/Os in flight, think times. [`nearest_workload()`]
//! finds the nearest workload that q2c's jobs can run, and says what it leaves out. [`compare()`]
//! compares the trials with the program, and says what the answer would be worth to it.

mod compare;
mod copy;
mod pattern;
mod read;
mod tally;
mod worth;

pub use compare::compare;
pub use copy::nearest_workload;
pub use read::{RecordingSelection, read};
