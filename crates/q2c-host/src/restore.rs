//! The restore guard: every setting q2c changes is put back.
//!
//! [`Guard::set`] writes a line to the owner's journal, fsyncs file and folder, and only then changes the setting.
//! The guard undoes its changes last-in-first-out when it is dropped (success, error, panic) or told to; a run that
//! was stopped by a signal ends in the normal way (see [`crate::signals`]). What an owner killed by SIGKILL left is
//! finished by [`restore_all`]: only where the present value is still the one written, never for a live owner.
//! `std::process::exit` runs no drop: undo first.
//!
//! The journal folder (chosen by the caller, see [`default_folder`]) holds `PID-STARTTIME-N.jsonl` per guard, locked by it for its life, and `locks/`, one file per object: two runs cannot
//! change one setting at a time. Objects are files whose text is a value and which a reboot resets (sysfs, procfs);
//! journals of another boot are therefore dropped without touching anything.

mod entry;
mod error;
mod guard;
mod journal;
mod lock;
mod object;
mod owner;
mod sweep;

use std::path::{Path, PathBuf};

pub use entry::Change;
pub use error::RestoreError;
pub use guard::{Guard, Setting};
pub use journal::Fault;
pub use object::Outcome;
pub use owner::Owner;
pub use sweep::{Item, Report, pending, restore_all};

/// The usual journal folder: `/var/lib/q2c/restore` for root, else below `$XDG_STATE_HOME` or `$HOME/.local/state`.
/// `None` when neither variable is an absolute path: then the user must name one.
#[must_use]
pub fn default_folder(
    root: bool,
    xdg_state_home: Option<&Path>,
    home: Option<&Path>,
) -> Option<PathBuf> {
    if root {
        return Some(PathBuf::from("/var/lib/q2c/restore"));
    }
    let state = xdg_state_home
        .filter(|p| p.is_absolute())
        .map(Path::to_owned);
    let below_home = || {
        home.filter(|p| p.is_absolute())
            .map(|h| h.join(".local/state"))
    };
    state.or_else(below_home).map(|s| s.join("q2c/restore"))
}
