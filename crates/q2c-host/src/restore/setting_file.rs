use super::entry::LeaderSetting;
use super::{RestoreError, Result};
use crate::attr;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;

/// How the undoing of one change ended.
#[derive(Clone, Debug, PartialEq, Eq, strum::Display)]
pub enum UndoOutcome {
    /// The old value was written back and read back.
    #[strum(to_string = "restored")]
    Restored,
    /// The device that was made is deleted.
    #[strum(to_string = "deleted; its data are lost")]
    Deleted,
    /// The process with this id now serves the device, so it was left as it is.
    #[strum(to_string = "left alone: process {0} serves it now")]
    Served(u32),
    /// The setting had its old value already.
    #[strum(to_string = "has its old value already")]
    AlreadyOld,
    /// The setting has this value, which its owner did not write: somebody else set it since, so it
    /// was left as it is.
    #[strum(to_string = "left alone: somebody else set {0:?} since")]
    Foreign(String),
    /// The setting's file is gone, with its device or module.
    #[strum(to_string = "gone with its device or module")]
    Gone,
    /// The task has ended.
    #[strum(to_string = "the task has ended")]
    Ended,
    /// Another run holds the setting; it can be restored when that run has ended. The text is the
    /// holder's process id, or `unknown`.
    #[strum(to_string = "in use by {0}: try again when it has ended")]
    Busy(String),
    /// The owner still runs and will undo the change itself.
    #[strum(to_string = "its run still goes on and will restore it")]
    OwnerAlive,
    /// Another restore is at work on the owner's journal.
    #[strum(to_string = "left to another q2c restore, which is at work on it")]
    AtWork,
    /// The change was made in an earlier boot; the reboot has reset the setting.
    #[strum(to_string = "reset by the reboot since")]
    OtherBoot,
    /// The old value could not be written back, for this reason.
    #[strum(to_string = "could not be restored: {0}")]
    Failed(String),
}

impl UndoOutcome {
    /// True if nothing is left to do for this change.
    pub const fn is_final(&self) -> bool {
        use UndoOutcome::{AtWork, Busy, Failed, OwnerAlive};
        !matches!(self, Busy(_) | OwnerAlive | AtWork | Failed(_))
    }

    pub(super) fn failed(reason: &(impl ToString + ?Sized)) -> UndoOutcome {
        UndoOutcome::Failed(reason.to_string())
    }
}

/// The setting's value: the chosen word where the kernel lists all choices (`[none] mq-deadline`).
pub(crate) fn read(path: &Path) -> Result<String> {
    let text = fs::read_to_string(path).map_err(RestoreError::setting("read", path))?;
    let is_choice = text.contains('[');
    let value = if is_choice {
        attr::selected_choice(&text)
    } else {
        text.trim()
    };
    Ok(value.to_owned())
}

/// Writes `value` in one call. The file must exist.
pub(super) fn write(path: &Path, value: &str) -> Result<()> {
    let file = OpenOptions::new().write(true).truncate(true).open(path);
    let written = file.and_then(|mut file| file.write_all(value.as_bytes()));
    written.map_err(RestoreError::setting(format!("write {value:?} to"), path))
}

/// Writes `old` back to a setting that the kernel changed together with its leader `followed`. If
/// the leader no longer has its old value, somebody else set it, and this setting is left alone.
pub(super) fn put_back_after(followed: &LeaderSetting, path: &Path, old: &str) -> UndoOutcome {
    match (read(&followed.file), read(path)) {
        (_, Err(_)) => UndoOutcome::Gone,
        (Ok(leader), _) if leader != followed.old => UndoOutcome::Foreign(leader),
        (_, Ok(present)) => put_back(path, old, &[&present]),
    }
}

/// Writes `old` back if the present value is one of `own_values`, which the owner of the change
/// wrote.
pub(super) fn put_back(path: &Path, old: &str, own_values: &[&str]) -> UndoOutcome {
    let present = match read(path) {
        Err(_) if !path.exists() => return UndoOutcome::Gone,
        Err(e) => return UndoOutcome::failed(&e),
        Ok(present) => present,
    };
    if present == old {
        return UndoOutcome::AlreadyOld;
    }
    if !own_values.contains(&present.as_str()) {
        return UndoOutcome::Foreign(present);
    }
    match write(path, old).and_then(|()| read(path)) {
        Ok(now) if now == old => UndoOutcome::Restored,
        Ok(now) => UndoOutcome::Failed(format!("wrote {old:?} back, and read {now:?}")),
        Err(e) => UndoOutcome::failed(&e),
    }
}
