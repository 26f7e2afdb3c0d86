//! Errors of writing and reading trace files.

use super::column::Column;
use parquet::errors::ParquetError;
use q2c_model::{Exit, Fault};
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// A trace that could not be written or read.
#[derive(Debug, Error)]
pub enum TraceError {
    /// The operating system refused a call.
    #[error("{doing} {}: {source}{}", path.display(), todo(source))]
    Io {
        /// The step that failed, for the message.
        doing: &'static str,
        /// Path of the trace.
        path: PathBuf,
        /// The reason that the operating system gave.
        source: io::Error,
    },
    /// The file of a new trace could not be made.
    #[error("create trace {}: {source}", path.display())]
    NotMade {
        /// Path of the trace.
        path: PathBuf,
        /// The reason that the operating system gave.
        source: io::Error,
    },
    /// The disk or the quota is full. No partly written file was left.
    #[error("{doing} {}: no space left on its disk; free some space and try again", path.display())]
    DiskFull {
        /// The step that failed, for the message.
        doing: &'static str,
        /// Path of the trace.
        path: PathBuf,
    },
    /// The Parquet or Arrow library refused the data, for example damaged pages.
    #[error("{doing} {}: {source}", path.display())]
    Parquet {
        /// The step that failed, for the message.
        doing: &'static str,
        /// Path of the trace.
        path: PathBuf,
        /// The reason that the library gave.
        source: ParquetError,
    },
    /// The caller asked to stop, as it does when a signal has come.
    #[error("{doing} {}: stopped by a signal", path.display())]
    Stopped {
        /// The step that was stopped, for the message.
        doing: &'static str,
        /// Path of the trace or recording.
        path: PathBuf,
    },
    /// The machine gave no thread to work on the trace.
    #[error(
        "start a thread for {}: {source}; end other programs, or raise the limit of tasks (ulimit -u, pids.max)",
        path.display()
    )]
    Thread {
        /// Path of the trace or recording.
        path: PathBuf,
        /// The reason that the operating system gave.
        source: io::Error,
    },
    /// A file with the target's name exists.
    #[error("create trace {}: expected a new name, found an existing file; remove it or name another", path.display())]
    Exists {
        /// Path of the trace.
        path: PathBuf,
    },
    /// The target's name was taken while the trace was written; the trace was kept beside it.
    #[error("name the finished trace {}: {source}; it is kept whole as {}", path.display(), kept.display())]
    NotNamed {
        /// The wanted name.
        path: PathBuf,
        /// The name under which the whole trace was kept.
        kept: PathBuf,
        /// The reason why the trace could not be renamed.
        source: io::Error,
    },
    /// An earlier push failed, so records would be missing from the trace.
    #[error("finish trace {}: an earlier write failed, so records are missing; record it again", path.display())]
    Incomplete {
        /// Path of the trace.
        path: PathBuf,
    },
    /// The file is no Parquet file.
    #[error("open trace {}: expected a Parquet file (first bytes `PAR1`), found {found}; if another tool recorded it, make a trace of it: q2c trace import {} --output NEW.parquet", path.display(), path.display())]
    NotParquet {
        /// Path of the file.
        path: PathBuf,
        /// First bytes of the file.
        found: String,
    },
    /// The file begins as a Parquet file, but its end is missing.
    #[error("open trace {}: expected `PAR1` as last bytes, found {found}: the file is cut off; copy or record it again", path.display())]
    Truncated {
        /// Path of the file.
        path: PathBuf,
        /// Last bytes of the file.
        found: String,
    },
    /// The footer names bytes that the file does not have.
    #[error("open trace {}: column `{column}`: expected bytes between 4 and {end}, found offset {offset} and length {len}: the file is damaged; copy or record it again", path.display())]
    Damaged {
        /// Path of the file.
        path: PathBuf,
        /// Name of the column.
        column: String,
        /// Offset at which the footer begins.
        end: u64,
        /// Offset of the column's first byte by the footer.
        offset: i64,
        /// Length of the column in bytes by the footer.
        len: i64,
    },
    /// The Parquet library panicked over the content of the file.
    #[error("{doing} {}: expected whole pages, found some that break the Parquet reader: the file is damaged; copy or record it again", path.display())]
    BrokenPages {
        /// The step that failed, for the message.
        doing: &'static str,
        /// Path of the trace.
        path: PathBuf,
    },
    /// The file is a Parquet file, but no trace.
    #[error("open trace {}: expected metadata `{key}`, found none: the Parquet file is no q2c trace; q2c trace import makes one of what other tools recorded", path.display())]
    NotATrace {
        /// Path of the file.
        path: PathBuf,
        /// The metadata key that is missing.
        key: &'static str,
    },
    /// The trace has another schema version.
    #[error("open trace {}: expected schema version {expected}, found `{found}`; use the q2c that wrote it", path.display())]
    Version {
        /// Path of the file.
        path: PathBuf,
        /// The version that this crate reads.
        expected: u32,
        /// The version in the file.
        found: String,
    },
    /// The description in the file cannot be parsed.
    #[error("open trace {}: expected a trace description as JSON in metadata `{key}`, found {source}", path.display())]
    Meta {
        /// Path of the file.
        path: PathBuf,
        /// The metadata key of the description.
        key: &'static str,
        /// The error of the JSON parser.
        source: serde_json::Error,
    },
    /// A column of the trace is missing.
    #[error("open trace {}: expected column `{column}`, found no such column", path.display())]
    MissingColumn {
        /// Path of the file.
        path: PathBuf,
        /// The missing column.
        column: Column,
    },
    /// A column has another type than in a trace.
    #[error("open trace {}: column `{column}`: expected {expected}, found {found}", path.display())]
    ColumnType {
        /// Path of the file.
        path: PathBuf,
        /// The column with the other type.
        column: Column,
        /// Type of the column in a trace.
        expected: String,
        /// Type of the column in the file.
        found: String,
    },
    /// A cell holds a value that has no meaning in its column.
    #[error("read trace {}: column `{column}`: expected {expected}, found `{found}`", path.display())]
    Value {
        /// Path of the file.
        path: PathBuf,
        /// The column of the cell.
        column: Column,
        /// The values that are allowed.
        expected: &'static str,
        /// The value in the cell.
        found: String,
    },
    /// The description could not be turned into JSON.
    #[error("describe trace {}: {source}", path.display())]
    Describe {
        /// Path of the file.
        path: PathBuf,
        /// The error of writing JSON.
        source: serde_json::Error,
    },
}

impl TraceError {
    /// The fault of a trace that cannot be read: its file is to blame, unless the machine is.
    #[must_use]
    pub fn unread(self) -> Fault {
        let exit = match &self {
            error if Exit::is_limit(error) => Exit::Environment,
            TraceError::Stopped { .. } => Exit::Interrupted,
            TraceError::Thread { .. } => Exit::Environment,
            _ => Exit::Input,
        };
        Fault::from_error(exit, self)
    }
}

/// The fault of a trace that cannot be written, or whose content cannot be used. Where it is only
/// read, [`TraceError::unread`] is right.
impl From<TraceError> for Fault {
    fn from(error: TraceError) -> Fault {
        let exit = match &error {
            error if Exit::is_limit(error) => Exit::Environment,
            TraceError::Stopped { .. } => Exit::Interrupted,
            TraceError::Exists { .. } => Exit::Usage,
            TraceError::Thread { .. } => Exit::Environment,
            TraceError::NotMade { source, .. } => Exit::of_output(source),
            TraceError::Io { .. }
            | TraceError::DiskFull { .. }
            | TraceError::Parquet { .. }
            | TraceError::NotNamed { .. }
            | TraceError::Incomplete { .. }
            | TraceError::Describe { .. } => Exit::Device,
            _ => Exit::Input,
        };
        Fault::from_error(exit, error)
    }
}

/// What to do about a system's error on a recording, as the end of the message; empty where nothing
/// can be advised.
pub(crate) fn todo(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::NotFound => "; name a q2c trace or a recording of another tool",
        io::ErrorKind::IsADirectory => "; name a file in it",
        io::ErrorKind::PermissionDenied => "; run q2c as a user who may use it",
        _ => "",
    }
}
