//! `cells.jsonl`: one JSON value per line. Each line is on the disk before the next one is begun.

use super::error::RunDirError;
use super::files::{LockedFile, corrupt};
use serde::de::IgnoredAny;
use std::path::{Path, PathBuf};
use std::{fmt, io};

/// The last line of the journal, which a crash had cut short and a resume has removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TornLine {
    /// Number of the line, counted from 1.
    pub line: usize,
    /// Length of the line in bytes.
    pub bytes: u64,
}

impl fmt::Display for TornLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a crash had torn line {} of the journal: its {} bytes were cut off",
            self.line, self.bytes
        )
    }
}

/// The storage of a journal: a file, or in tests a disk that fills up or fails.
pub(super) trait JournalStorage {
    /// Appends `bytes` at the end. A failed call may have written a part of them.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Waits until everything that was appended is on the disk.
    fn sync(&mut self) -> io::Result<()>;
    /// Cuts the content to its first `len` bytes.
    fn cut(&mut self, len: u64) -> io::Result<()>;
}

/// The open journal. `len` is the length of its complete lines in bytes. `broken` is set when a
/// failed line could not be cut off. Every later append is then refused, since its line would
/// continue the incomplete one.
pub(super) struct RunJournal<T = LockedFile> {
    storage: T,
    path: PathBuf,
    len: u64,
    broken: bool,
}

impl<T: JournalStorage> RunJournal<T> {
    /// Opens the journal on `storage`, whose content is `text`. An incomplete last line is cut off.
    pub(super) fn open(
        mut storage: T,
        path: &Path,
        text: &[u8],
    ) -> Result<(Self, Option<TornLine>), RunDirError> {
        let (complete, torn) = split_lines(path, text)?;
        let len = complete.iter().map(|line| line.len() as u64 + 1).sum();
        if torn.is_some() {
            let cut = storage.cut(len).and_then(|()| storage.sync());
            cut.map_err(|e| RunDirError::io("cut the torn last line off", path, e))?;
        }
        let journal = RunJournal {
            storage,
            path: path.to_path_buf(),
            len,
            broken: false,
        };
        Ok((journal, torn))
    }

    /// Appends one line and returns when it is on the disk. After an error the journal has its
    /// former content, or it is broken.
    pub(super) fn append(&mut self, json: &str) -> Result<(), RunDirError> {
        if self.broken {
            return Err(RunDirError::Broken(self.path.clone()));
        }
        let line = format!("{json}\n");
        let written = self.storage.append(line.as_bytes());
        match written.and_then(|()| self.storage.sync()) {
            Ok(()) => {
                self.len += line.len() as u64;
                Ok(())
            }
            Err(error) => Err(self.undo_append(error)),
        }
    }

    /// Cuts off what a failed append may have written, so that the next line does not continue an
    /// incomplete one.
    fn undo_append(&mut self, error: io::Error) -> RunDirError {
        let cut = self.storage.cut(self.len);
        let cut = cut.and_then(|()| self.storage.sync());
        self.broken = cut.is_err();
        RunDirError::io("append to", &self.path, error)
    }
}

/// Splits `text` into its complete lines, without their newlines, and the incomplete last line if
/// there is one.
pub(super) fn split_lines<'a>(
    path: &Path,
    text: &'a [u8],
) -> Result<(Vec<&'a str>, Option<TornLine>), RunDirError> {
    let mut complete = Vec::new();
    let mut pieces = text.split_inclusive(|&b| b == b'\n').peekable();
    while let Some(piece) = pieces.next() {
        let number = complete.len() + 1;
        match (check_line(piece), pieces.peek()) {
            (Ok(line), _) => complete.push(line),
            (Err(_), None) => {
                let (line, bytes) = (number, piece.len() as u64);
                return Ok((complete, Some(TornLine { line, bytes })));
            }
            (Err(reason), Some(_)) => return Err(corrupt(path, number, &reason)),
        }
    }
    Ok((complete, None))
}

/// Checks that `piece` is a complete line: it ends in a newline, and it is UTF-8 and JSON. After a
/// crash some file systems show zeros in place of data; JSON refuses them.
fn check_line(piece: &[u8]) -> Result<&str, String> {
    let piece = piece.strip_suffix(b"\n").ok_or("no newline at its end")?;
    let text = std::str::from_utf8(piece).map_err(|e| e.to_string())?;
    serde_json::from_str::<IgnoredAny>(text).map_err(|e| format!("not JSON: {e}"))?;
    Ok(text)
}

#[cfg(test)]
#[path = "journal_tests.rs"]
mod tests;
