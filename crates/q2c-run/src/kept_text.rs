//! The text of a result that was kept: in a run's folder, or in a file of its own.

use crate::whole_file;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// A kept result whose text cannot be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum KeptTextError {
    /// The run's folder has no result.
    #[error(
        "read {}: expected the result of q2c tune, bench, analyze, replay or compare, found none: the run has not ended, or was another command's; \
         q2c runs lists the runs that are here",
        path.display()
    )]
    None {
        /// Path of the file that is missing.
        path: PathBuf,
    },
    /// The file cannot be read.
    #[error("read {}: {source}{}", path.display(), todo(source))]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// The reason that the operating system gave.
        source: io::Error,
    },
}

/// What to do about a system's error.
fn todo(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::NotFound => "; q2c runs lists the runs that are here",
        io::ErrorKind::PermissionDenied => "; run q2c as the user whose run it is",
        _ => "",
    }
}

/// Reads the result of a run: `run` is the run's folder, or a file with a result. Returns the path
/// of the file and its text.
///
/// # Errors
/// There is no such file, or it cannot be read.
pub fn kept_text(run: &Path) -> Result<(PathBuf, String), KeptTextError> {
    let (path, text) = match run.is_dir() {
        true => {
            let path = run.join("result.json");
            let text = whole_file::read_text(&path, whole_file::RESULT);
            (path, text)
        }
        false => {
            let text = whole_file::read_named_text(run, whole_file::RESULT);
            (run.to_owned(), text)
        }
    };
    match text {
        Ok(text) => Ok((path, text)),
        Err(source) if source.kind() == io::ErrorKind::NotFound && run.is_dir() => {
            Err(KeptTextError::None { path })
        }
        Err(source) => Err(KeptTextError::Read { path, source }),
    }
}
