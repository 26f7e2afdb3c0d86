//! What goes wrong with a source.

use crate::TraceError;
use crate::blktrace::BlktraceError;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// A source that could not be imported.
#[derive(Debug, Error)]
pub enum ImportError {
    /// The operating system refused.
    #[error("read {}: {source}", path.display())]
    Read {
        /// The source.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// It is of no known format.
    #[error("read {}: it is no q2c trace, and no importer recognises it; name its format with --format", path.display())]
    Unknown {
        /// The source.
        path: PathBuf,
    },
    /// There is nothing to import.
    #[error("import {}: expected a recording of another tool, found a q2c trace, which needs no import", path.display())]
    Own {
        /// The trace.
        path: PathBuf,
    },
    /// A line that cannot be used; `skip_bad` leaves such lines out.
    #[error("import {}, line {line}, {field}: expected {expected}, found {found}; correct it, or skip and count bad lines", path.display())]
    Line {
        /// The source.
        path: PathBuf,
        /// Counted from 1.
        line: u64,
        /// The field.
        field: String,
        /// What it may be.
        expected: String,
        /// What it is.
        found: String,
    },
    /// A binary record that cannot be used; `skip_bad` leaves such records out.
    #[error("import {}, record at byte {offset}, {field}: expected {expected}, found {found}; correct it, or skip and count bad records", path.display())]
    Record {
        /// The source.
        path: PathBuf,
        /// Where it begins, counted from 0.
        offset: u64,
        /// The field.
        field: String,
        /// What it may be.
        expected: String,
        /// What it is.
        found: String,
    },
    /// The header row does not fit the column map.
    #[error("import {}, line {line}, header: expected {expected}, found {found}", path.display())]
    Header {
        /// The source.
        path: PathBuf,
        /// Counted from 1.
        line: u64,
        /// What is needed.
        expected: String,
        /// What is there.
        found: String,
    },
    /// What is sorted found no room.
    #[error("sort {} in {}: {source}; name another folder with TMPDIR", path.display(), folder.display())]
    Sort {
        /// The source.
        path: PathBuf,
        /// Where its parts were to be kept.
        folder: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Nothing to import.
    #[error("import {}: expected at least one request, found none in {lines} lines ({skipped} skipped as bad)", path.display())]
    Empty {
        /// The source.
        path: PathBuf,
        /// Lines read.
        lines: u64,
        /// Lines left out.
        skipped: u64,
    },
    /// The source does not say it, so the user must.
    #[error("import {}: expected the option {option}: {why}", path.display())]
    Option {
        /// The source.
        path: PathBuf,
        /// What to state.
        option: &'static str,
        /// Why it is needed.
        why: &'static str,
    },
    /// The column map makes no sense.
    #[error("import {}: column map: expected {expected}, found {found}", path.display())]
    Map {
        /// The source.
        path: PathBuf,
        /// What it may be.
        expected: String,
        /// What it is.
        found: String,
    },
    /// The given format of lines makes no sense.
    #[error("import {}: format of lines: expected {expected}, found {found}", path.display())]
    Pattern {
        /// The source.
        path: PathBuf,
        /// What it may be.
        expected: &'static str,
        /// What it is.
        found: String,
    },
    /// Recordings that do not go together.
    #[error("merge {}: expected {expected}, found {found}", path.display())]
    Merge {
        /// One of them.
        path: PathBuf,
        /// What it may be.
        expected: String,
        /// What it is.
        found: String,
    },
    /// Binary records that cannot be used.
    #[error(transparent)]
    Blktrace(#[from] BlktraceError),
    /// The trace could not be written.
    #[error(transparent)]
    Trace(#[from] TraceError),
}

/// Why a line cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BadLine {
    /// A short name of the reason, under which skipped lines are counted.
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

    /// The same, with what was found in words instead of a quotation.
    pub(super) fn found(mut self, words: &str) -> Self {
        words.clone_into(&mut self.found);
        self
    }
}

/// A text as it may stand in a message: at most 60 characters, control characters escaped.
pub(super) fn shown(text: &str) -> String {
    const LONGEST: usize = 60;
    let short: String = text.chars().take(LONGEST).collect();
    let more = if short.len() < text.len() { "..." } else { "" };
    format!("`{}`{more}", short.escape_debug())
}
