use crate::TraceError;
use crate::container::advice;
use q2c_model::{Exit, Fault, TraceMeta};
use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// A source that could not be imported.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum ImportError {
    #[error("read {}: {source}{}", path.display(), advice(source))]
    Read { path: PathBuf, source: io::Error },
    #[error("read {}: it is no q2c trace, and no importer recognises it; name its format with --format; q2c trace import --help lists them", .0.display())]
    Unknown(PathBuf),
    #[error("import {}, line {line}, {field}: expected {expected}, found {found}; correct it, or skip and count bad lines with --skip-bad", path.display())]
    Line {
        path: PathBuf,
        line: u64,
        field: &'static str,
        expected: &'static str,
        found: String,
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
    #[error(transparent)]
    BadTrace(TraceError),
    #[error(transparent)]
    Trace(#[from] TraceError),
    #[error(transparent)]
    Other(#[from] Fault),
}

/// The description of an imported trace, or why there is none.
pub(super) type ImportResult = Result<TraceMeta, ImportError>;

impl From<ImportError> for Fault {
    fn from(error: ImportError) -> Fault {
        let exit = match error {
            ImportError::Trace(error) => return error.into(),
            ImportError::Other(fault) => return fault,
            ref error if Exit::is_limit(error) => Exit::Environment,
            ImportError::Option { .. } | ImportError::Unused { .. } => Exit::Usage,
            _ => Exit::Input,
        };
        Fault::from_error(exit, error)
    }
}

/// The error for a source whose content cannot be imported.
pub(super) fn input_error(path: &Path, message: impl Display) -> ImportError {
    Fault::input(format_args!("import {}{message}", path.display())).into()
}

/// The error for a command line that does not fit the source.
pub(super) fn usage_error(message: impl Display) -> ImportError {
    Fault::usage(message).into()
}

/// The error for a file that the system cannot read.
pub(crate) fn unreadable(path: &Path) -> impl Fn(io::Error) -> Fault {
    move |source| {
        let fault = Fault::input(format_args!("read {}: {source}", path.display()));
        let is_limit = Exit::is_limit(&source);
        let fault = fault.with_source(source);
        if is_limit {
            fault.with_exit(Exit::Environment)
        } else {
            fault
        }
    }
}

/// The error for times that fall and go on from the earlier time. Skipping bad rows would skip all
/// rows that follow.
pub(super) fn fall_error(path: &Path, place: impl Display, ns: u64, advice: &str) -> ImportError {
    let message = format!(
        ", {place}: expected times that rise, found one {ns} ns before those above it, from which the rows behind go on; {advice}"
    );
    input_error(path, message)
}

pub(super) fn no_request(path: &Path, lines: u64, skipped: u64) -> ImportError {
    let message = format!(
        ": expected at least one request, found none in {lines} lines ({skipped} skipped as bad)"
    );
    input_error(path, message)
}

/// The command-line flag that sets an option.
fn flag(option: &str) -> String {
    match option {
        "unit" => "--unit ns, us, ms or s".to_owned(),
        "block size" => "--bs".to_owned(),
        other => format!("--{}", other.replace(' ', "-")),
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BadLine {
    /// Short name of the reason, by which bad lines are counted.
    pub(super) reason: &'static str,
    pub(super) field: &'static str,
    pub(super) expected: &'static str,
    pub(super) found: String,
}

impl BadLine {
    #[cold]
    pub(super) fn new(
        reason: &'static str,
        field: &'static str,
        expected: &'static str,
        found: &(impl AsRef<[u8]> + ?Sized),
    ) -> Self {
        BadLine {
            reason,
            field,
            expected,
            found: quote(&String::from_utf8_lossy(found.as_ref())),
        }
    }

    /// Replaces `found`, which is a quoted text, with `words`.
    pub(super) fn found(self, words: impl Into<String>) -> Self {
        BadLine {
            found: words.into(),
            ..self
        }
    }

    pub(super) fn wrong_cells(expected: &'static str, line: &[u8]) -> Self {
        BadLine::new("wrong number of cells", "line", expected, line)
    }

    pub(super) fn zero_length(field: &'static str) -> Self {
        BadLine::new("zero length", field, "a length above zero", "0")
    }

    pub(super) fn not_utf8(line: &[u8]) -> Self {
        BadLine::new("not UTF-8", "line", "text in UTF-8", line)
    }

    pub(super) fn too_long() -> Self {
        let expected = "at most 65536 bytes and a line break";
        BadLine::new("line too long", "line", expected, "").found("a longer line")
    }
}

/// The error for a cell that holds no value of its field.
#[cold]
pub(super) fn bad(field: &'static str, expected: &'static str, cell: impl AsRef<[u8]>) -> BadLine {
    BadLine::new("not a value of the field", field, expected, &cell)
}

/// Quotes a text for a message: at most 60 characters, control characters escaped.
pub(super) fn quote(text: &str) -> String {
    const MAX_CHARS: usize = 60;
    let short: String = text.chars().take(MAX_CHARS).collect();
    let more = if short.len() < text.len() { "..." } else { "" };
    format!("`{}`{more}", short.escape_debug())
}
