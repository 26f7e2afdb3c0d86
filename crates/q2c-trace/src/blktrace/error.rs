//! What goes wrong with a blktrace file.

use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// A blktrace file that could not be read or used.
#[derive(Debug, Error)]
pub enum BlktraceError {
    /// The operating system refused.
    #[error("read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Something else stands where a record should begin.
    #[error("read {}, offset {offset}: expected {expected}, found {found}; copy or record it again, or skip and count what is bad", path.display())]
    Record {
        /// The file.
        path: PathBuf,
        /// Byte in it.
        offset: u64,
        /// What may stand there.
        expected: String,
        /// What stands there.
        found: String,
    },
    /// Files of one trace differ in version or byte order.
    #[error("read {}: expected {expected} as in {}, found {found}; the files are of different traces", path.display(), first.display())]
    Mixed {
        /// The file.
        path: PathBuf,
        /// The file it is compared with.
        first: PathBuf,
        /// Layout of the first.
        expected: String,
        /// Layout of this one.
        found: String,
    },
    /// No file of that name.
    #[error("find the files of blktrace {}: expected {}.blktrace.N or a blktrace file of that name, found none", base.display(), base.display())]
    Absent {
        /// The base name.
        base: PathBuf,
    },
    /// Files without a single event.
    #[error("read blktrace {}: expected at least one event, found none in {files} files; was anything done on the device?", base.display())]
    Empty {
        /// The base name.
        base: PathBuf,
        /// Files read.
        files: usize,
    },
}
