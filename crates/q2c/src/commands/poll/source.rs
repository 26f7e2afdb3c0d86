//! Reads recordings into traces that can be simulated.

use crate::args::SourceArgs;
use crate::exit::study_exit;
use crate::failure::{Fails, Failure};
use q2c_study::{Trace, read};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Reads the recording at `path`, one of `inputs` recordings that share the memory.
pub(super) fn trace(
    path: &Path,
    args: &SourceArgs,
    inputs: usize,
    stop: &AtomicBool,
) -> Result<Trace, Failure> {
    read(path, &args.options(inputs), stop).or_exit_of(study_exit)
}
