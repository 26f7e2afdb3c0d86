//! Reads recordings into traces that can be simulated.

use crate::args::SourceArgs;
use q2c_model::Fault;
use q2c_study::{Trace, read};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// Reads the recording at `path`, one of `inputs`, which share the memory and the options.
pub(super) fn trace(
    path: &Path,
    args: &SourceArgs,
    inputs: &[PathBuf],
    stop: &AtomicBool,
) -> Result<Trace, Fault> {
    let mut options = args.options(inputs.len());
    options.import = options.import.for_recordings(inputs);
    read(path, &options, stop)
}
