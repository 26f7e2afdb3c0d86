//! Why a setting could not be changed under the guard.

use q2c_result::Exit;
use std::io;
use std::path::PathBuf;

/// Errors of the restore guard.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// The owner could not be named, so nothing may be changed.
    #[error("read {} to name the owner of changed settings: {source}", path.display())]
    Owner {
        /// The file.
        path: PathBuf,
        /// The error found.
        source: io::Error,
    },
    /// The journal could not be written, so nothing was changed.
    #[error("write the restore journal {}: {source}; no setting was changed", path.display())]
    Journal {
        /// The journal or its folder.
        path: PathBuf,
        /// The error found.
        source: io::Error,
    },
    /// The setting could not be read or written.
    #[error("{what} the setting {}: {source}", path.display())]
    Object {
        /// `read`, or `write VALUE to`.
        what: String,
        /// The setting.
        path: PathBuf,
        /// The error found.
        source: io::Error,
    },
    /// Another run holds the setting.
    #[error("change the setting {}: process {holder} holds it; wait for that run to end", path.display())]
    Busy {
        /// The setting.
        path: PathBuf,
        /// Who holds it, as its lock file says.
        holder: String,
    },
    /// A killed run left the setting changed.
    #[error(
        "change the setting {}: a run that was killed left it changed ({}); run `q2c restore` first",
        path.display(), journal.display()
    )]
    Pending {
        /// The setting.
        path: PathBuf,
        /// The journal of that run.
        journal: PathBuf,
    },
}

impl RestoreError {
    /// The exit code of a command that ends with this error.
    #[must_use]
    pub const fn exit(&self) -> Exit {
        Exit::Environment
    }
}
