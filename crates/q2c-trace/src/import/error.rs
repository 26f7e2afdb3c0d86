use crate::TraceError;
use crate::blktrace::BlktraceError;
use crate::container::todo;
use q2c_model::{Exit, Fault, Nanos};
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// A source that could not be imported.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum ImportError {
    #[error("read {}: {source}{}", path.display(), todo(source))]
    Read { path: PathBuf, source: io::Error },
    #[error("read {}: it is no q2c trace, and no importer recognises it; name its format with --format; q2c trace import --help lists them", path.display())]
    Unknown { path: PathBuf },
    #[error("import {}: expected a recording of single I/Os, found {found}; {todo}", path.display())]
    Unread {
        path: PathBuf,
        found: String,
        todo: &'static str,
    },
    #[error("read {} as `{found}`: expected a format of {known}", path.display())]
    NoFormat {
        path: PathBuf,
        found: String,
        known: String,
    },
    #[error("import {}: expected a recording of another tool, found a q2c trace, which needs no import: q2c trace info {} tells what it holds", path.display(), path.display())]
    Own { path: PathBuf },
    #[error("import {}, line {line}, {field}: expected {expected}, found {found}; correct it, or skip and count bad lines with --skip-bad", path.display())]
    Line {
        path: PathBuf,
        line: u64,
        field: String,
        expected: String,
        found: String,
    },
    #[error("import {}, record at byte {offset}, {field}: expected {expected}, found {found}; correct it, or skip and count bad records with --skip-bad", path.display())]
    Record {
        path: PathBuf,
        offset: u64,
        field: String,
        expected: String,
        found: String,
    },
    /// Times fall, and the rows behind go on from there, so that leaving out bad rows would leave
    /// out all of them.
    #[error("import {}, {place}: expected times that rise, found one {} ns before those above it, from which the rows behind go on; {todo}", path.display(), fall.0)]
    Falls {
        path: PathBuf,
        place: String,
        fall: Nanos,
        todo: &'static str,
    },
    #[error("import {}, line {line}, header: expected {expected}, found {found}; say with --columns which header holds which field", path.display())]
    Header {
        path: PathBuf,
        line: u64,
        expected: String,
        found: String,
    },
    #[error("sort {} in {}: {source}; name another folder with TMPDIR", path.display(), folder.display())]
    Sort {
        path: PathBuf,
        folder: PathBuf,
        source: io::Error,
    },
    #[error("import {}: the file is empty; record it again, or name another", path.display())]
    NoBytes { path: PathBuf },
    #[error("import {}: expected at least one request, found none in {lines} lines ({skipped} skipped as bad)", path.display())]
    Empty {
        path: PathBuf,
        lines: u64,
        skipped: u64,
    },
    #[error("import {}: expected the option {option}: {why}; give it with {}", path.display(), flag(option))]
    Option {
        path: PathBuf,
        option: &'static str,
        why: &'static str,
    },
    #[error("import {}: expected options that {format} uses, found {flag}, which is for {users}; leave it out", path.display())]
    Unused {
        path: PathBuf,
        format: &'static str,
        flag: &'static str,
        users: String,
    },
    #[error(
        "read {}: expected a recording of another tool beside {flag}, found a q2c trace, which needs no such \
         option; leave it out",
        path.display()
    )]
    Needless { path: PathBuf, flag: &'static str },
    #[error("import {}: column map: expected {expected}, found {found}; say with --columns which header holds which field", path.display())]
    Map {
        path: PathBuf,
        expected: String,
        found: String,
    },
    #[error("import {}: format of lines: expected {expected}, found {found}; give the one of blkparse -f with --blkparse-format", path.display())]
    Pattern {
        path: PathBuf,
        expected: &'static str,
        found: String,
    },
    #[error("merge {}: expected {expected}, found {found}", path.display())]
    Merge {
        path: PathBuf,
        expected: String,
        found: String,
    },
    #[error("divide the requests by device into {}: expected requests that stand alone, found {carried} that were merged into others, whose numbers would no longer fit; import without --partition-by", path.display())]
    Carried { path: PathBuf, carried: u64 },
    #[error(transparent)]
    Blktrace(#[from] BlktraceError),
    #[error(transparent)]
    BadTrace(TraceError),
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
