//! What goes wrong with an export.

use crate::TraceError;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// A trace that could not be exported.
#[derive(Debug, Error)]
pub enum ExportError {
    /// The trace could not be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// What was written was not taken.
    #[error("write the export of {}: {source}", path.display())]
    Write {
        /// The trace.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The file to make is there already.
    #[error("export to {}: expected a new name, found an existing file; remove it or name another", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The file could not be made, or not get its name.
    #[error("export to {}: {source}", path.display())]
    Create {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The format cannot say what the trace holds.
    #[error("export {} as {format}: expected {expected}, found {found}", path.display())]
    Unfit {
        /// The trace.
        path: PathBuf,
        /// The format.
        format: &'static str,
        /// What it can say.
        expected: &'static str,
        /// What there is.
        found: &'static str,
    },
    /// Nothing to export.
    #[error("export {}: expected at least one request that can be exported, found none ({left_out} left out); widen --from and --to", path.display())]
    Nothing {
        /// The trace.
        path: PathBuf,
        /// Requests that could not be.
        left_out: u64,
    },
}
