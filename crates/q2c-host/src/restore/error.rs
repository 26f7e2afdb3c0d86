use q2c_model::{Exit, Fault};
use std::io;
use std::path::PathBuf;

/// Errors of the restore guard: why a setting was not changed, or could not be undone.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum RestoreError {
    #[error("read {} to name the owner of changed settings: {source}", path.display())]
    Owner { path: PathBuf, source: io::Error },
    #[error("write the restore journal {}: {source}; no setting was changed", path.display())]
    Journal {
        /// The journal, its folder, or a lock file.
        path: PathBuf,
        source: io::Error,
    },
    #[error(
        "look for restore journals in {}: {source}; run as the user whose runs it belongs to, or name another folder with --journal",
        path.display()
    )]
    Unlisted { path: PathBuf, source: io::Error },
    #[error(
        "use the folder of restore journals {}: {source}; name a folder of your own, or mend its owner and mode",
        path.display()
    )]
    Folder { path: PathBuf, source: io::Error },
    #[error("{what} the setting {}: {source}", path.display())]
    Setting {
        /// What was tried: `find`, `read`, or `write VALUE to`.
        what: String,
        path: PathBuf,
        source: io::Error,
    },
    #[error("set {}: expected {wanted}, found {found} after the write; the kernel or the device does not obey it", path.display())]
    NotKept {
        path: PathBuf,
        wanted: String,
        found: String,
    },
    #[error("change the setting {}: process {holder} holds it; wait for that run to end", path.display())]
    Busy {
        path: PathBuf,
        /// The holder's process id from the lock file, or `unknown`.
        holder: String,
    },
    #[error(
        "change the setting {}: `doctor --fix` or a run that was killed left it changed ({}); run `q2c restore` first",
        path.display(), journal.display()
    )]
    Pending { path: PathBuf, journal: PathBuf },
}

impl From<RestoreError> for Fault {
    fn from(error: RestoreError) -> Fault {
        Fault::from_error(Exit::Environment, error)
    }
}
