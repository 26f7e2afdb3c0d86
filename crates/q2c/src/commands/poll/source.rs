//! From paths to traces that can be simulated.

use crate::args::SourceArgs;
use crate::failure::{Fails, Failure};
use q2c_lab::study::{SourceError, Trace, read};
use q2c_result::Exit;
use q2c_trace::import::ImportError;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// One of so many `inputs`.
pub(super) fn trace(
    path: &Path,
    args: &SourceArgs,
    inputs: usize,
    stop: &AtomicBool,
) -> Result<Trace, Failure> {
    read(path, &args.options(inputs), stop).or_exit_of(|error| match error {
        SourceError::Stopped { .. } => Exit::Interrupted,
        SourceError::Import(ImportError::Option { .. } | ImportError::Map { .. })
        | SourceError::Unknown { .. } => Exit::Usage,
        SourceError::Spill { .. } | SourceError::Import(ImportError::Sort { .. }) => {
            Exit::Environment
        }
        _ => Exit::Input,
    })
}
