//! What can go wrong with a run folder.

use super::identity::Difference;
use std::io;
use std::path::{Path, PathBuf};

/// A failed step on a run folder; reads well after "failed to".
#[derive(Debug, thiserror::Error)]
pub enum RunDirError {
    /// The disk or the quota is full. Nothing half-written was left in a final file.
    #[error(
        "{doing} {}: no space left on its disk; finished trials are kept, free some space and resume the run",
        path.display()
    )]
    DiskFull {
        /// What was tried, as a verb.
        doing: &'static str,
        /// On what.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// Any other input or output error.
    #[error("{doing} {}: {source}", path.display())]
    Io {
        /// What was tried, as a verb.
        doing: &'static str,
        /// On what.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// Another process has the folder open.
    #[error(
        "open run folder {}: it is in use by process {}; wait for it to end, or start a new run",
        path.display(), owner.map_or_else(|| "(unknown)".to_owned(), |p| p.to_string())
    )]
    Busy {
        /// The folder.
        path: PathBuf,
        /// Process id of the owner as the folder names it.
        owner: Option<u32>,
    },
    /// The folder lacks a file that every run folder has.
    #[error(
        "open run folder {}: expected a file {missing} in it, found none; name a folder that q2c made under runs/",
        path.display()
    )]
    NotARun {
        /// The folder.
        path: PathBuf,
        /// The missing file.
        missing: &'static str,
    },
    /// The folder belongs to a run that has ended well.
    #[error("resume {}: the run is complete; start a new run", path.display())]
    AlreadyComplete {
        /// The folder.
        path: PathBuf,
    },
    /// The run was started under other conditions than today's.
    #[error(
        "resume {}: conditions differ from the run's start ({}); restore them, or start a new run",
        path.display(), list(differences)
    )]
    OtherConditions {
        /// The folder.
        path: PathBuf,
        /// Every key that differs.
        differences: Vec<Difference>,
    },
    /// A file's content is not what q2c writes.
    #[error(
        "read {}, line {line}: {reason}; the file was changed by other hands, or the disk lost data",
        path.display()
    )]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// The journal could not be brought back to a whole line and takes no more.
    #[error(
        "append to {}: an earlier line failed and could not be cut off; resume the run, which cuts it",
        path.display()
    )]
    Broken {
        /// The journal.
        path: PathBuf,
    },
    /// A name that cannot be used.
    #[error(
        "use the name \"{name}\": expected 1 to 100 of the characters a-z A-Z 0-9 . _ - with no leading dot{}",
        if *reserved { ", and this one is the run folder's own" } else { "" }
    )]
    BadName {
        /// The name.
        name: String,
        /// Whether it is well-formed but taken by the folder itself.
        reserved: bool,
    },
    /// A value that cannot be written in its format.
    #[error("encode {}: {reason}", path.display())]
    Encode {
        /// The file it was for.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
}

impl RunDirError {
    /// Tells a full disk from every other error.
    pub(super) fn io(doing: &'static str, path: &Path, source: io::Error) -> Self {
        let path = path.to_path_buf();
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => RunDirError::DiskFull {
                doing,
                path,
                source,
            },
            _ => RunDirError::Io {
                doing,
                path,
                source,
            },
        }
    }
}

fn list(differences: &[Difference]) -> String {
    let items: Vec<String> = differences.iter().map(ToString::to_string).collect();
    items.join("; ")
}
