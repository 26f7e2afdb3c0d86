//! The restore guard: puts back every setting that q2c changes.
//!
//! [`Guard::set`] writes a line to the owner's journal, fsyncs file and folder, and only then
//! changes the setting. The guard undoes its changes, the last first, when [`Guard::undo`] is
//! called or when it is dropped (success, error, panic). A run that a signal stopped ends in the
//! normal way (see [`crate::signals`]). [`restore_all`] undoes what an owner killed by SIGKILL left
//! changed: only where the present value is still one that the owner wrote, and never for a live
//! owner. `std::process::exit` runs no drop, so call [`Guard::undo`] before it.
//!
//! The caller chooses the journal folder (see [`default_folder`]). It holds one file
//! `PID-STARTTIME-N.jsonl` per guard, which the guard locks for as long as it lives. `locks/` has
//! one file per setting, so that no two runs change one setting at once. A setting is a file whose
//! text is a value and which a reboot resets (sysfs, procfs). Other kinds of change are a ublk
//! device ([`Guard::device`]), a kernel module, the CPUs that a task may run on ([`Guard::allow`]),
//! and the folder of a mount. After a reboot, journals are removed and nothing is touched.

mod entry;
mod guard;
mod journal;
mod made;
mod setting_file;
mod sweep;
mod task_affinity;

pub use entry::{ChangeKind, LeaderSetting, Owner, RestoreChange, RestoreError};
pub use guard::{Guard, SetOutcome};
pub use journal::DamagedLine;
pub(crate) use made::{delete_device, is_gone, retry, wait_until_gone};
pub use setting_file::UndoOutcome;
pub(crate) use setting_file::read as value_of;
pub use sweep::{Pending, RestoreItem, RestoreReport, pending, restore_all};
pub use task_affinity::TaskId;

use std::path::{Path, PathBuf};

type Result<T, E = RestoreError> = std::result::Result<T, E>;

/// The usual journal folder: `/var/lib/q2c/restore` for root, else below `$XDG_STATE_HOME` or
/// `$HOME/.local/state`. `None` when neither variable is an absolute path: then the user must name
/// one.
pub fn default_folder(
    is_root: bool,
    xdg_state_home: Option<&Path>,
    home: Option<&Path>,
) -> Option<PathBuf> {
    if is_root {
        return Some(PathBuf::from("/var/lib/q2c/restore"));
    }
    let absolute = |folder: Option<&Path>| Some(folder.filter(|p| p.is_absolute())?.to_owned());
    let below_home = || Some(absolute(home)?.join(".local/state"));
    let state = absolute(xdg_state_home).or_else(below_home)?;
    Some(state.join("q2c/restore"))
}
