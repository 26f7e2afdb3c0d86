use super::checked::PlanFault;
use super::record::Difference;
use q2c_model::{Exit, Fault};
use std::io;
use std::path::{Path, PathBuf};

/// A step on a run folder failed. The text continues a sentence that begins with "failed to".
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum RunDirError {
    /// The disk or the quota is full. No final file is left half-written.
    #[error(
        "{} {}: no space left on its disk; free some space: finished trials are kept, and q2c runs says how to go on",
        .0, .1.display()
    )]
    DiskFull(&'static str, PathBuf, #[source] io::Error),
    #[error("{} {}: {}{}", .0, .1.display(), .2, advice(.2))]
    Io(&'static str, PathBuf, #[source] io::Error),
    #[error("make the folder {}: {}; name another place with --out", .0.display(), .1)]
    NotMade(PathBuf, #[source] io::Error),
    #[error(
        "open run folder {}: it is in use by process {}; wait for it to end, or start a new run",
        path.display(), owner.map_or_else(|| "(unknown)".to_owned(), |p| p.to_string())
    )]
    Busy {
        path: PathBuf,
        /// Process id of the latest session by `state.json`; `None` if the file is unreadable.
        owner: Option<u32>,
    },
    #[error(
        "open run folder {}: expected a file {} in it, found none; name a folder that q2c made under runs/",
        .0.display(), .1
    )]
    NotARun(PathBuf, &'static str),
    #[error("resume {}: the run is complete; start a new run", .0.display())]
    AlreadyComplete(PathBuf),
    #[error(
        "resume {}: conditions differ from the run's start ({}); restore them, or start a new run",
        .0.display(), join_differences(.1)
    )]
    OtherConditions(PathBuf, Vec<Difference>),
    #[error(
        "read {}, line {line}: {reason}; the file was changed by other hands, or the disk lost data",
        path.display()
    )]
    Corrupt {
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        reason: String,
    },
    #[error(
        "use {}: {}; the file was changed by other hands: restore it, or start a new run",
        .0.display(), .1
    )]
    BadPlan(PathBuf, PlanFault),
    #[error(
        "append to {}: an earlier line failed and could not be cut off; resume the run, which cuts it",
        .0.display()
    )]
    Broken(PathBuf),
    #[error(
        "use the name \"{name}\": expected 1 to 100 of the characters a-z A-Z 0-9 . _ - with no leading dot{}",
        if *reserved { ", and this one is the run folder's own" } else { "" }
    )]
    BadName {
        name: String,
        /// True if the name is well-formed but belongs to a file that the folder itself writes.
        reserved: bool,
    },
    #[error("encode {}: {}", .0.display(), .1)]
    Encode(PathBuf, String),
}

impl RunDirError {
    fn exit(&self) -> Exit {
        match self {
            RunDirError::NotMade(_, source) => Exit::from_output_error(source),
            RunDirError::Io(.., source) if is_refused(source) => Exit::Environment,
            RunDirError::NotARun { .. }
            | RunDirError::Busy { .. }
            | RunDirError::AlreadyComplete { .. }
            | RunDirError::OtherConditions { .. }
            | RunDirError::Corrupt { .. }
            | RunDirError::BadPlan { .. } => Exit::Input,
            _ => Exit::Device,
        }
    }

    /// Converts the error for a resume. There, a folder that cannot be read is bad input by the
    /// user.
    #[must_use]
    pub fn on_resume(self) -> Fault {
        let exit = match &self {
            RunDirError::Io(.., source) if !Exit::is_limit(source) => Exit::Input,
            _ => self.exit(),
        };
        Fault::from_error(exit, self)
    }

    pub(super) fn not_made(path: &Path, source: io::Error) -> Self {
        match RunDirError::io("make the folder", path, source) {
            RunDirError::Io(_, path, source) => RunDirError::NotMade(path, source),
            disk_full => disk_full,
        }
    }

    /// Makes an error of a failed system call. A full disk or quota gets an error of its own, since
    /// the user can free space and resume.
    pub(super) fn io(doing: &'static str, path: &Path, source: io::Error) -> Self {
        let path = path.to_path_buf();
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                RunDirError::DiskFull(doing, path, source)
            }
            _ => RunDirError::Io(doing, path, source),
        }
    }
}

/// Converts the error with its exit status. A limit on open files and missing permissions are
/// faults of the machine; a folder without a run that can go on is bad input.
impl From<RunDirError> for Fault {
    fn from(error: RunDirError) -> Fault {
        Fault::from_error(error.exit(), error)
    }
}

/// True if the machine refuses the file because of a limit or permissions.
fn is_refused(source: &io::Error) -> bool {
    Exit::is_limit(source) || source.kind() == io::ErrorKind::PermissionDenied
}

fn advice(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::PermissionDenied => {
            "; change its permissions, or name another place for runs with --out"
        }
        _ => "",
    }
}

fn join_differences(differences: &[Difference]) -> String {
    let items: Vec<String> = differences.iter().map(ToString::to_string).collect();
    items.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// EMFILE (24) is the machine's, EIO (5) the device's, and EACCES (13) the user's on a resume.
    #[test]
    fn a_limit_on_open_files_is_the_machines() {
        let path = Path::new("runs/one/plan.toml");
        let with_errno = |errno| RunDirError::io("read", path, io::Error::from_raw_os_error(errno));
        let (limit, unread) = (with_errno(24), with_errno(5));
        assert_eq!(limit.exit(), Exit::Environment);
        assert_eq!(with_errno(24).on_resume().exit(), Exit::Environment);
        let denied = with_errno(13);
        assert_eq!(denied.exit(), Exit::Environment);
        assert_eq!(with_errno(13).on_resume().exit(), Exit::Input);
        assert!(denied.to_string().contains("--out"), "{denied}");
        assert_eq!(unread.exit(), Exit::Device);
        assert_eq!(unread.on_resume().exit(), Exit::Input);
        let limit = io::Error::from_raw_os_error(24);
        assert_eq!(RunDirError::not_made(path, limit).exit(), Exit::Environment);
        let full = io::Error::from_raw_os_error(28);
        assert_eq!(RunDirError::not_made(path, full).exit(), Exit::Device);
    }
}
