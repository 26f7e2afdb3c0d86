//! Errors of importing a source.

use crate::TraceError;
use crate::blktrace::BlktraceError;
use crate::container::todo;
use q2c_model::{Exit, Fault, Nanos};
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// A source that could not be imported.
#[derive(Debug, Error)]
pub enum ImportError {
    /// The operating system refused to open or read the source.
    #[error("read {}: {source}{}", path.display(), todo(source))]
    Read {
        /// Path of the source.
        path: PathBuf,
        /// The reason that the operating system gave.
        source: io::Error,
    },
    /// No importer recognises the source.
    #[error("read {}: it is no q2c trace, and no importer recognises it; name its format with --format; q2c trace import --help lists them", path.display())]
    Unknown {
        /// Path of the source.
        path: PathBuf,
    },
    /// The source is of a known kind that is not read.
    #[error("import {}: expected a recording of single I/Os, found {found}; {todo}", path.display())]
    Unread {
        /// Path of the source.
        path: PathBuf,
        /// What the source is.
        found: String,
        /// What to do instead.
        todo: &'static str,
    },
    /// There is no format of the name that was given.
    #[error("read {} as `{found}`: expected a format of {known}", path.display())]
    NoFormat {
        /// Path of the source.
        path: PathBuf,
        /// The name that was given.
        found: String,
        /// Names of the formats.
        known: String,
    },
    /// The source is a q2c trace, which needs no import.
    #[error("import {}: expected a recording of another tool, found a q2c trace, which needs no import: q2c trace info {} tells what it holds", path.display(), path.display())]
    Own {
        /// Path of the trace.
        path: PathBuf,
    },
    /// A line cannot be used. With `skip_bad` the import leaves bad lines out instead.
    #[error("import {}, line {line}, {field}: expected {expected}, found {found}; correct it, or skip and count bad lines with --skip-bad", path.display())]
    Line {
        /// Path of the source.
        path: PathBuf,
        /// Number of the line, counted from 1.
        line: u64,
        /// Name of the field in the line.
        field: String,
        /// The values that are allowed.
        expected: String,
        /// The value in the line.
        found: String,
    },
    /// A binary record cannot be used. With `skip_bad` the import leaves bad records out instead.
    #[error("import {}, record at byte {offset}, {field}: expected {expected}, found {found}; correct it, or skip and count bad records with --skip-bad", path.display())]
    Record {
        /// Path of the source.
        path: PathBuf,
        /// Offset of the record in bytes, counted from 0.
        offset: u64,
        /// Name of the field in the record.
        field: String,
        /// The values that are allowed.
        expected: String,
        /// The value in the record.
        found: String,
    },
    /// Times fall, and the rows behind go on from there, so that leaving out bad rows would leave
    /// out all of them.
    #[error("import {}, {place}: expected times that rise, found one {} ns before those above it, from which the rows behind go on; {todo}", path.display(), fall.0)]
    Falls {
        /// Path of the source.
        path: PathBuf,
        /// The line or record.
        place: String,
        /// By how much the time falls.
        fall: Nanos,
        /// What to do.
        todo: &'static str,
    },
    /// The header row does not fit the column map.
    #[error("import {}, line {line}, header: expected {expected}, found {found}; say with --columns which header holds which field", path.display())]
    Header {
        /// Path of the source.
        path: PathBuf,
        /// Number of the line, counted from 1.
        line: u64,
        /// What the header row must hold.
        expected: String,
        /// What the header row holds.
        found: String,
    },
    /// The file for rows that memory does not hold while sorting could not be written or read.
    #[error("sort {} in {}: {source}; name another folder with TMPDIR", path.display(), folder.display())]
    Sort {
        /// Path of the source.
        path: PathBuf,
        /// The folder of the file.
        folder: PathBuf,
        /// The reason that the operating system gave.
        source: io::Error,
    },
    /// The source holds nothing at all.
    #[error("import {}: the file is empty; record it again, or name another", path.display())]
    NoBytes {
        /// Path of the source.
        path: PathBuf,
    },
    /// The source holds no request.
    #[error("import {}: expected at least one request, found none in {lines} lines ({skipped} skipped as bad)", path.display())]
    Empty {
        /// Path of the source.
        path: PathBuf,
        /// Lines read.
        lines: u64,
        /// Lines left out as bad.
        skipped: u64,
    },
    /// The source does not tell a property, so the user must state it.
    #[error("import {}: expected the option {option}: {why}; give it with {}", path.display(), flag(option))]
    Option {
        /// Path of the source.
        path: PathBuf,
        /// The option that states it.
        option: &'static str,
        /// The reason why the option is needed.
        why: &'static str,
    },
    /// An option was given that the format does not use.
    #[error("import {}: expected options that {format} uses, found {flag}, which is for {users}; leave it out", path.display())]
    Unused {
        /// Path of the source.
        path: PathBuf,
        /// Name of the format.
        format: &'static str,
        /// The option as it is typed.
        flag: &'static str,
        /// The formats that use it.
        users: String,
    },
    /// An option was given for a q2c trace.
    #[error(
        "read {}: expected a recording of another tool beside {flag}, found a q2c trace, which needs no such \
         option; leave it out",
        path.display()
    )]
    Needless {
        /// Path of the trace.
        path: PathBuf,
        /// The option as it is typed.
        flag: &'static str,
    },
    /// The column map does not fit the importer's fields.
    #[error("import {}: column map: expected {expected}, found {found}; say with --columns which header holds which field", path.display())]
    Map {
        /// Path of the source.
        path: PathBuf,
        /// What the column map may hold.
        expected: String,
        /// What the column map holds.
        found: String,
    },
    /// The format of lines that the user gave cannot be understood or lacks a field.
    #[error("import {}: format of lines: expected {expected}, found {found}; give the one of blkparse -f with --blkparse-format", path.display())]
    Pattern {
        /// Path of the source.
        path: PathBuf,
        /// What the format may hold, or lacks.
        expected: &'static str,
        /// What the format holds.
        found: String,
    },
    /// The recordings cannot be merged into one trace.
    #[error("merge {}: expected {expected}, found {found}", path.display())]
    Merge {
        /// The recording that does not fit.
        path: PathBuf,
        /// What the recordings must have in common.
        expected: String,
        /// What this recording has.
        found: String,
    },
    /// Requests were merged into others, so that the devices cannot be numbered by themselves.
    #[error("divide the requests by device into {}: expected requests that stand alone, found {carried} that were merged into others, whose numbers would no longer fit; import without --partition-by", path.display())]
    Carried {
        /// The folder.
        path: PathBuf,
        /// Requests that others carried.
        carried: u64,
    },
    /// Binary blktrace records could not be read or used.
    #[error(transparent)]
    Blktrace(#[from] BlktraceError),
    /// The source is a q2c trace that cannot be read.
    #[error(transparent)]
    BadTrace(TraceError),
    /// The trace could not be written, or the sink refused the records.
    #[error(transparent)]
    Trace(#[from] TraceError),
}

impl From<ImportError> for Fault {
    fn from(error: ImportError) -> Fault {
        if let ImportError::Trace(error) = error {
            return error.into();
        }
        let exit = match &error {
            error if Exit::is_limit(error) => Exit::Environment,
            ImportError::Option { .. }
            | ImportError::Map { .. }
            | ImportError::Pattern { .. }
            | ImportError::Unused { .. }
            | ImportError::Needless { .. }
            | ImportError::Merge { .. }
            | ImportError::Carried { .. }
            | ImportError::NoFormat { .. } => Exit::Usage,
            ImportError::Sort { source, .. } => Exit::of_spill(source),
            _ => Exit::Input,
        };
        Fault::from_error(exit, error)
    }
}

/// The flag of the command line that states an option.
fn flag(option: &str) -> String {
    match option {
        "unit" => "--unit ns, us, ms or s".to_owned(),
        "block size" => "--bs".to_owned(),
        other => format!("--{}", other.replace(' ', "-")),
    }
}

/// The reason why a line or a binary record cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BadLine {
    /// Short name of the reason, under which bad lines are counted.
    pub(super) reason: &'static str,
    pub(super) field: &'static str,
    pub(super) expected: &'static str,
    pub(super) found: String,
}

impl BadLine {
    pub(super) fn new(
        reason: &'static str,
        field: &'static str,
        expected: &'static str,
        found: &str,
    ) -> Self {
        BadLine {
            reason,
            field,
            expected,
            found: shown(found),
        }
    }

    /// Replaces the quotation of what was found by other words.
    pub(super) fn found(mut self, words: &str) -> Self {
        words.clone_into(&mut self.found);
        self
    }
}

/// Quotes a text for a message: at most 60 characters, control characters escaped.
pub(super) fn shown(text: &str) -> String {
    const LONGEST: usize = 60;
    let short: String = text.chars().take(LONGEST).collect();
    let more = if short.len() < text.len() { "..." } else { "" };
    format!("`{}`{more}", short.escape_debug())
}
