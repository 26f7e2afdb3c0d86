//! Errors of reading blktrace files.

use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// A blktrace file that could not be read or used.
#[derive(Debug, Error)]
pub enum BlktraceError {
    /// The operating system refused to open or read the file.
    #[error("read {}: {source}", path.display())]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// The reason that the operating system gave.
        source: io::Error,
    },
    /// Something else stands where a record should begin.
    #[error("read {}, offset {offset}: expected {expected}, found {found}; copy or record it again, or skip and count what is bad with --skip-bad", path.display())]
    Record {
        /// Path of the file.
        path: PathBuf,
        /// Offset in the file, bytes.
        offset: u64,
        /// What was expected at the offset.
        expected: String,
        /// What the file has at the offset.
        found: String,
    },
    /// Files of one trace differ in version or byte order.
    #[error("read {}: expected {expected} as in {}, found {found}; the files are of different traces", path.display(), first.display())]
    Mixed {
        /// Path of the file.
        path: PathBuf,
        /// The first file of the trace.
        first: PathBuf,
        /// Layout of the first file.
        expected: String,
        /// Layout of this file.
        found: String,
    },
    /// There is neither a file of this name nor one of the files `BASE.blktrace.N`.
    #[error("find the files of blktrace {}: expected {}.blktrace.N or a blktrace file of that name, found none", base.display(), base.display())]
    Absent {
        /// The name that was asked for.
        base: PathBuf,
    },
    /// The files hold no event.
    #[error("read blktrace {}: expected at least one event, found none in {files} files; was anything done on the device?", base.display())]
    Empty {
        /// The name that was asked for.
        base: PathBuf,
        /// Number of files read.
        files: usize,
    },
}
