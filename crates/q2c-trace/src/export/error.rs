//! Errors of exporting a trace.

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
    /// The output could not be written.
    #[error("write the export of {}: {source}", path.display())]
    Write {
        /// The trace that was exported.
        path: PathBuf,
        /// The reason that the operating system gave.
        source: io::Error,
    },
    /// A file with the output's name exists.
    #[error("export to {}: expected a new name, found an existing file; remove it or name another", path.display())]
    Exists {
        /// Path of the file.
        path: PathBuf,
    },
    /// The output file could not be created, or could not get its name.
    #[error("export to {}: {source}", path.display())]
    Create {
        /// Path of the file.
        path: PathBuf,
        /// The reason that the operating system gave.
        source: io::Error,
    },
    /// The format cannot express what the trace holds.
    #[error("export {} as {format}: expected {expected}, found {found}", path.display())]
    Unfit {
        /// Path of the trace.
        path: PathBuf,
        /// Name of the format.
        format: &'static str,
        /// What the format can express.
        expected: &'static str,
        /// What the trace holds.
        found: &'static str,
    },
    /// No request was written.
    #[error("export {}: expected at least one request that can be exported, found none ({left_out} left out); widen --from and --to", path.display())]
    Nothing {
        /// Path of the trace.
        path: PathBuf,
        /// Number of requests that were read and left out.
        left_out: u64,
    },
}
