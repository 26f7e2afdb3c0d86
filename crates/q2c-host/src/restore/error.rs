//! The errors of changing a setting under the restore guard.

use q2c_model::{Exit, Fault};
use std::io;
use std::path::PathBuf;

/// Errors of the restore guard: why a setting was not changed, or could not be undone.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// procfs does not identify this process, so no setting may be changed.
    #[error("read {} to name the owner of changed settings: {source}", path.display())]
    Owner {
        /// The file that was read.
        path: PathBuf,
        /// Why it could not be read or used.
        source: io::Error,
    },
    /// The journal could not be written, so nothing was changed.
    #[error("write the restore journal {}: {source}; no setting was changed", path.display())]
    Journal {
        /// The journal, its folder, or a lock file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The folder of the journals could not be listed, so nobody knows what waits there.
    #[error(
        "look for restore journals in {}: {source}; run as the user whose runs it belongs to, or name another folder with --journal",
        path.display()
    )]
    Unlisted {
        /// The folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Another user could have written what is in the folder of journals, or led it elsewhere.
    #[error(
        "use the folder of restore journals {}: {source}; name a folder of your own, or mend its owner and mode",
        path.display()
    )]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Which part of it belongs to whom.
        source: io::Error,
    },
    /// The setting could not be read or written.
    #[error("{what} the setting {}: {source}", path.display())]
    Setting {
        /// What was tried: `find`, `read`, or `write VALUE to`.
        what: String,
        /// The setting's file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The kernel took a value and did not keep it.
    #[error("set {}: expected {wanted}, found {found} after the write; the kernel or the device does not obey it", path.display())]
    NotKept {
        /// The setting's file.
        path: PathBuf,
        /// The value that was written.
        wanted: String,
        /// The value that was read back.
        found: String,
    },
    /// Another run holds the setting.
    #[error("change the setting {}: process {holder} holds it; wait for that run to end", path.display())]
    Busy {
        /// The setting's file.
        path: PathBuf,
        /// The holder's process id from the lock file, or `unknown`.
        holder: String,
    },
    /// `doctor --fix` or a killed run left the setting changed.
    #[error(
        "change the setting {}: `doctor --fix` or a run that was killed left it changed ({}); run `q2c restore` first",
        path.display(), journal.display()
    )]
    Pending {
        /// The setting's file.
        path: PathBuf,
        /// The journal of the killed run.
        journal: PathBuf,
    },
}

impl From<RestoreError> for Fault {
    fn from(error: RestoreError) -> Fault {
        Fault::from_error(Exit::Environment, error)
    }
}
