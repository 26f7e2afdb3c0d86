use super::column::Column;
use parquet::errors::ParquetError;
use q2c_model::{Exit, Fault};
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// A trace that could not be written or read.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum TraceError {
    #[error("{doing} {}: {source}{}", path.display(), todo(source))]
    Io {
        doing: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error("create trace {}: {source}", path.display())]
    NotMade { path: PathBuf, source: io::Error },
    /// The disk or the quota is full. No partly written file was left.
    #[error("{doing} {}: no space left on its disk; free some space and try again", path.display())]
    DiskFull { doing: &'static str, path: PathBuf },
    #[error("{doing} {}: {source}", path.display())]
    Parquet {
        doing: &'static str,
        path: PathBuf,
        source: ParquetError,
    },
    #[error("{doing} {}: stopped by a signal", path.display())]
    Stopped { doing: &'static str, path: PathBuf },
    #[error(
        "start a thread for {}: {source}; end other programs, or raise the limit of tasks (ulimit -u, pids.max)",
        path.display()
    )]
    Thread { path: PathBuf, source: io::Error },
    #[error("create trace {}: expected a new name, found an existing file; remove it or name another", path.display())]
    Exists { path: PathBuf },
    #[error("name the finished trace {}: {source}; it is kept whole as {}", path.display(), kept.display())]
    NotNamed {
        path: PathBuf,
        kept: PathBuf,
        source: io::Error,
    },
    #[error("finish trace {}: an earlier write failed, so records are missing; record it again", path.display())]
    Incomplete { path: PathBuf },
    #[error("open trace {}: expected a Parquet file (first bytes `PAR1`), found {found}; if another tool recorded it, make a trace of it: q2c trace import {} --output NEW.parquet", path.display(), path.display())]
    NotParquet { path: PathBuf, found: String },
    /// The file begins as a Parquet file, but its end is missing.
    #[error("open trace {}: expected `PAR1` as last bytes, found {found}: the file is cut off; copy or record it again", path.display())]
    Truncated { path: PathBuf, found: String },
    #[error("open trace {}: column `{column}`: expected bytes between 4 and {end}, found offset {offset} and length {len}: the file is damaged; copy or record it again", path.display())]
    Damaged {
        path: PathBuf,
        column: String,
        end: u64,
        offset: i64,
        len: i64,
    },
    /// The Parquet library panicked over the content of the file.
    #[error("{doing} {}: expected whole pages, found some that break the Parquet reader: the file is damaged; copy or record it again", path.display())]
    BrokenPages { doing: &'static str, path: PathBuf },
    #[error("open trace {}: expected metadata `{key}`, found none: the Parquet file is no q2c trace; q2c trace import makes one of what other tools recorded", path.display())]
    NotATrace { path: PathBuf, key: &'static str },
    #[error("open trace {}: expected schema version {expected}, found `{found}`; use the q2c that wrote it", path.display())]
    Version {
        path: PathBuf,
        expected: u32,
        found: String,
    },
    #[error("open trace {}: expected a trace description as JSON in metadata `{key}`, found {source}", path.display())]
    Meta {
        path: PathBuf,
        key: &'static str,
        source: serde_json::Error,
    },
    #[error("open trace {}: expected column `{column}`, found no such column", path.display())]
    MissingColumn { path: PathBuf, column: Column },
    #[error("open trace {}: column `{column}`: expected {expected}, found {found}", path.display())]
    ColumnType {
        path: PathBuf,
        column: Column,
        expected: String,
        found: String,
    },
    #[error("read trace {}: column `{column}`: expected {expected}, found `{found}`", path.display())]
    Value {
        path: PathBuf,
        column: Column,
        expected: &'static str,
        found: String,
    },
    #[error("describe trace {}: {source}", path.display())]
    Describe {
        path: PathBuf,
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
