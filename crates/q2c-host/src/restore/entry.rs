use super::Owner;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;

/// What a change is made to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeKind {
    /// A setting: a file whose text is a value.
    #[default]
    Setting,
    /// A ublk device, by its character device. The value written is the token by which it is known
    /// again; to undo the change is to delete it.
    UblkDevice,
    /// The CPUs that a task may run on, by its folder in procfs. The values are lists of CPUs.
    TaskAffinity,
    /// A kernel module that was loaded for its devices, by its folder in sysfs. The further value
    /// is the word by which the loaded one is known again; to undo the change is to unload it.
    Module,
    /// A folder that was made for a mount which only its owner sees. To undo the change is to
    /// remove the folder, which is empty for everybody else.
    Folder,
}

impl ChangeKind {
    fn is_setting(&self) -> bool {
        *self == ChangeKind::Setting
    }
}

/// A change of a setting, as the journal announces it before it is made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RestoreChange {
    /// Number of the change within the journal, from 0.
    pub seq: u64,
    /// The process that makes the change.
    #[serde(flatten)]
    pub owner: Owner,
    /// What is changed. Journals leave it out for a setting.
    #[serde(default, skip_serializing_if = "ChangeKind::is_setting")]
    pub kind: ChangeKind,
    /// The setting's file, with links resolved. Journals name it `object`.
    #[serde(rename = "object")]
    pub file: PathBuf,
    /// The value before the change.
    pub old: String,
    /// The value that the owner writes.
    pub written: String,
    /// Start of the task in clock ticks since boot; journals leave it out for all else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<u64>,
    /// Set where the kernel, and not the owner, changes the setting, namely together with another
    /// one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follows: Option<Followed>,
}

/// A setting whose change lets the kernel reset others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Followed {
    /// The setting's file, with links resolved.
    pub file: PathBuf,
    /// Its value before the change.
    pub old: String,
}

/// One line of a journal. A line is on the disk before the write that it announces.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub(super) enum RestoreLine {
    /// The owner is about to change a setting.
    Change(RestoreChange),
    /// Change `seq` has a further value that belongs to its owner: the kernel took `value` instead
    /// of the one written (rounding), or the owner writes it next.
    Settled { seq: u64, value: String },
    /// Change `seq` was undone, or the kernel refused it.
    Undone { seq: u64 },
}

impl fmt::Display for RestoreChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RestoreChange {
            file, old, written, ..
        } = self;
        if self.kind == ChangeKind::UblkDevice {
            let pid = self.owner.pid;
            return write!(f, "{}, a ublk device made by process {pid}", file.display());
        }
        if self.kind == ChangeKind::Folder {
            return write!(f, "{}, a folder made for a mount", file.display());
        }
        if self.kind == ChangeKind::TaskAffinity {
            let task = file.display();
            return write!(
                f,
                "CPUs of the task {task} from {old}, changed to {written}"
            );
        }
        if let Some(followed) = &self.follows {
            let leader = followed.file.display();
            let file = file.display();
            return write!(f, "{file} from {old:?}, which may change with {leader}");
        }
        write!(f, "{} from {old:?}, changed to {written:?}", file.display())
    }
}
