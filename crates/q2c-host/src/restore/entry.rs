use super::Result;
use crate::{Roots, attr};
use q2c_model::{Exit, Fault};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::{fmt, io};

/// The kind of object that a change is made to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeKind {
    /// A setting: a file whose text is a value.
    #[default]
    Setting,
    /// A ublk device, by its character device. The value written is the device's token; undoing the
    /// change deletes the device.
    UblkDevice,
    /// The CPUs that a task may run on, by the task's folder in procfs. The values are CPU lists.
    TaskAffinity,
    /// A kernel module that was loaded for its devices, by its folder in sysfs. The further value
    /// identifies the loaded module; undoing the change unloads it.
    Module,
    /// A folder that was made for a mount which only its owner sees. Undoing the change removes the
    /// folder, which is empty for everybody else.
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
    /// The kind of the changed object. Journals leave it out for a setting.
    #[serde(default, skip_serializing_if = "ChangeKind::is_setting")]
    pub kind: ChangeKind,
    /// The setting's file, with links resolved. Journals name it `object`.
    #[serde(rename = "object")]
    pub file: PathBuf,
    /// The value before the change.
    pub old: String,
    /// The value that the owner writes.
    pub written: String,
    /// Start of the task in clock ticks since boot; `None` for other kinds of change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<u64>,
    /// The setting whose change makes the kernel reset this one; `None` where the owner itself
    /// changes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follows: Option<LeaderSetting>,
}

/// A setting whose change may make the kernel reset others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaderSetting {
    /// The setting's file, with links resolved.
    pub file: PathBuf,
    /// The setting's value before the change.
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
        let (old, new) = (&self.old, &self.written);
        let (file, owner) = (self.file.display(), self.owner.pid);
        match (self.kind, &self.follows) {
            (ChangeKind::UblkDevice, _) => {
                write!(f, "{file}, a ublk device made by process {owner}")
            }
            (ChangeKind::Folder, _) => write!(f, "{file}, a folder made for a mount"),
            (ChangeKind::TaskAffinity, _) => {
                write!(f, "CPUs of the task {file} from {old}, changed to {new}")
            }
            (_, Some(followed)) => {
                let leader = followed.file.display();
                write!(f, "{file} from {old:?}, which may change with {leader}")
            }
            (_, None) => write!(f, "{file} from {old:?}, changed to {new:?}"),
        }
    }
}

/// Errors of the restore guard: why a setting was not changed, or could not be undone.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum RestoreError {
    #[error("read {} to name the owner of changed settings: {}", .0.display(), .1)]
    Owner(PathBuf, #[source] io::Error),
    /// A journal, its folder, or a lock file could not be used.
    #[error("write the restore journal {}: {}; no setting was changed", .0.display(), .1)]
    Journal(PathBuf, #[source] io::Error),
    #[error(
        "look for restore journals in {}: {}; run as the user whose runs it belongs to, or name another folder with --journal",
        .0.display(), .1
    )]
    Unlisted(PathBuf, #[source] io::Error),
    #[error(
        "use the folder of restore journals {}: {}; name a folder of your own, or mend its owner and mode",
        .0.display(), .1
    )]
    Folder(PathBuf, #[source] io::Error),
    /// The action that failed (`find`, `read`, or `write VALUE to`), and the path.
    #[error("{} the setting {}: {}", .0, .1.display(), .2)]
    Setting(String, PathBuf, #[source] io::Error),
    /// The path, the value that was wanted, and the one that was found.
    #[error("set {}: expected {}, found {} after the write; the kernel or the device does not obey it", .0.display(), .1, .2)]
    NotKept(PathBuf, String, String),
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

impl RestoreError {
    /// Returns a closure that turns an I/O error on `path` into a [`RestoreError::Setting`].
    pub(super) fn setting(verb: impl Into<String>, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let (verb, path) = (verb.into(), path.to_owned());
        move |source| RestoreError::Setting(verb, path, source)
    }
}

impl From<RestoreError> for Fault {
    fn from(error: RestoreError) -> Fault {
        Fault::from_error(Exit::Environment, error)
    }
}

/// A process, identified for all time: by boot, id and start.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Owner {
    /// The boot's id, from `/proc/sys/kernel/random/boot_id`.
    pub boot_id: String,
    /// Process id.
    pub pid: u32,
    /// Start of the process in clock ticks since boot: field 22 of `/proc/PID/stat`.
    pub start_time: u64,
}

impl Owner {
    /// The running process itself.
    pub fn current(roots: &Roots) -> Result<Owner> {
        Owner::from_process(roots, std::process::id())
    }

    /// The running process `pid`.
    pub(crate) fn from_process(roots: &Roots, pid: u32) -> Result<Owner> {
        let fail = |path, what: &str| {
            RestoreError::Owner(path, io::Error::new(io::ErrorKind::InvalidData, what))
        };
        let boot = roots.proc("sys/kernel/random/boot_id");
        let stat = roots.proc(&format!("{pid}/stat"));
        Ok(Owner {
            boot_id: attr::text(&boot).ok_or_else(|| fail(boot, "no boot id"))?,
            pid,
            start_time: start_time(roots, pid).ok_or_else(|| fail(stat, "no start time"))?,
        })
    }

    pub(crate) fn is_of_this_boot(&self, roots: &Roots) -> bool {
        attr::text(&roots.proc("sys/kernel/random/boot_id")).as_ref() == Some(&self.boot_id)
    }

    /// True if the process still runs: a process of the present boot has its id and its start time.
    pub fn is_alive(&self, roots: &Roots) -> bool {
        self.is_of_this_boot(roots) && start_time(roots, self.pid) == Some(self.start_time)
    }
}

/// Field 22 of `/proc/PID/stat`. `None` for a process that is gone, or is a zombie and has ended.
/// The name in field 2 may hold spaces and brackets.
fn start_time(roots: &Roots, pid: u32) -> Option<u64> {
    let text = attr::text(&roots.proc(&format!("{pid}/stat")))?;
    let (_, after_name) = text.rsplit_once(") ")?;
    let fields: Vec<&str> = after_name.split(' ').collect();
    let ended = matches!(*fields.first()?, "Z" | "X");
    // The state is field 3, the first here, so field 22 has index 19.
    let start = fields.get(19)?.parse().ok()?;
    (!ended).then_some(start)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::SysProcTree;

    #[test]
    fn this_process_lives_and_a_later_namesake_does_not_count() {
        let roots = Roots::live();
        let me = Owner::current(&roots).unwrap();
        assert!(me.is_alive(&roots));
        let earlier = Owner {
            start_time: me.start_time - 1,
            ..me.clone()
        };
        let other_boot = Owner {
            boot_id: "x".into(),
            ..me
        };
        assert!(!earlier.is_alive(&roots) && !other_boot.is_alive(&roots));
    }

    #[test]
    fn names_with_brackets_and_zombies() {
        let tree = SysProcTree::new("");
        let start = |state| {
            tree.add(&format!(
                "proc/7/stat = 7 (a) b (c) {state} 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20"
            ));
            start_time(&tree.roots(), 7)
        };
        assert_eq!(start("S"), Some(4711));
        assert_eq!(start("Z"), None);
    }
}
