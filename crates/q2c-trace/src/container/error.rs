//! What goes wrong with a trace file.

use super::column::Column;
use parquet::errors::ParquetError;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// A trace that could not be written or read.
#[derive(Debug, Error)]
pub enum TraceError {
    /// The operating system refused.
    #[error("{doing} {}: {source}", path.display())]
    Io {
        /// What was tried.
        doing: &'static str,
        /// The trace.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The disk or the quota is full. Nothing half-written was left.
    #[error("{doing} {}: no space left on its disk; free some space and try again", path.display())]
    DiskFull {
        /// What was tried.
        doing: &'static str,
        /// The trace.
        path: PathBuf,
    },
    /// The Parquet or Arrow library refused: damaged pages.
    #[error("{doing} {}: {source}", path.display())]
    Parquet {
        /// What was tried.
        doing: &'static str,
        /// The trace.
        path: PathBuf,
        /// Why not.
        source: ParquetError,
    },
    /// The target is there already.
    #[error("create trace {}: expected a new name, found an existing file; remove it or name another", path.display())]
    Exists {
        /// The trace.
        path: PathBuf,
    },
    /// The target appeared while the trace was written; the trace was kept beside it.
    #[error("name the finished trace {}: {source}; it is kept whole as {}", path.display(), kept.display())]
    NotNamed {
        /// The wanted name.
        path: PathBuf,
        /// Where it is.
        kept: PathBuf,
        /// Why it could not be renamed.
        source: io::Error,
    },
    /// An earlier push failed, so the trace would have a hole.
    #[error("finish trace {}: an earlier write failed, so records are missing; record it again", path.display())]
    Incomplete {
        /// The trace.
        path: PathBuf,
    },
    /// No Parquet file at all.
    #[error("open trace {}: expected a Parquet file (first bytes `PAR1`), found {found}; import other formats first", path.display())]
    NotParquet {
        /// The file.
        path: PathBuf,
        /// Its first bytes.
        found: String,
    },
    /// A Parquet file without its end.
    #[error("open trace {}: expected `PAR1` as last bytes, found {found}: the file is cut off; copy or record it again", path.display())]
    Truncated {
        /// The file.
        path: PathBuf,
        /// Its last bytes.
        found: String,
    },
    /// The footer names bytes that the file does not have.
    #[error("open trace {}: column `{column}`: expected bytes between 4 and {end}, found offset {offset} and length {len}: the file is damaged; copy or record it again", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The column.
        column: String,
        /// Where the footer begins.
        end: u64,
        /// First byte by the footer.
        offset: i64,
        /// Length by the footer.
        len: i64,
    },
    /// The Parquet library broke down over the file's content.
    #[error("{doing} {}: expected whole pages, found some that break the Parquet reader: the file is damaged; copy or record it again", path.display())]
    BrokenPages {
        /// What was tried.
        doing: &'static str,
        /// The trace.
        path: PathBuf,
    },
    /// A Parquet file of something else.
    #[error("open trace {}: expected metadata `{key}`, found none: the Parquet file is no q2c trace", path.display())]
    NotATrace {
        /// The file.
        path: PathBuf,
        /// The missing key.
        key: &'static str,
    },
    /// A trace of another version.
    #[error("open trace {}: expected schema version {expected}, found `{found}`; use the q2c that wrote it", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// What this crate reads.
        expected: u32,
        /// What the file says.
        found: String,
    },
    /// The description in the file is not readable.
    #[error("open trace {}: expected a trace description as JSON in metadata `{key}`, found {source}", path.display())]
    Meta {
        /// The file.
        path: PathBuf,
        /// The metadata's key.
        key: &'static str,
        /// What is wrong in the JSON.
        source: serde_json::Error,
    },
    /// A column is not there.
    #[error("open trace {}: expected column `{column}`, found no such column", path.display())]
    MissingColumn {
        /// The file.
        path: PathBuf,
        /// The column.
        column: Column,
    },
    /// A column holds something else.
    #[error("open trace {}: column `{column}`: expected {expected}, found {found}", path.display())]
    ColumnType {
        /// The file.
        path: PathBuf,
        /// The column.
        column: Column,
        /// Its type in a trace.
        expected: String,
        /// Its type in the file.
        found: String,
    },
    /// A cell that means nothing.
    #[error("read trace {}: column `{column}`: expected {expected}, found `{found}`", path.display())]
    Value {
        /// The file.
        path: PathBuf,
        /// The column.
        column: Column,
        /// What it may be.
        expected: &'static str,
        /// What it is.
        found: String,
    },
    /// The metadata could not be written as JSON.
    #[error("describe trace {}: {source}", path.display())]
    Describe {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: serde_json::Error,
    },
}
