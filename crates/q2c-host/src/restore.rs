//! The restore guard: every setting q2c changes is put back.
//!
//! [`Guard::set`] writes a line to the owner's journal, fsyncs file and folder, and only then changes the setting.
//! The guard undoes its changes last-in-first-out when it is dropped (success, error, panic) or told to; a run that
//! was stopped by a signal ends in the normal way (see [`crate::signals`]). What an owner killed by SIGKILL left is
//! finished by [`restore_all`]: only where the present value is still the one written, never for a live owner.
//! `std::process::exit` runs no drop: undo first.
//!
//! The journal folder (chosen by the caller: `$XDG_STATE_HOME/q2c/restore`, as root `/var/lib/q2c/restore`) holds
//! `PID-STARTTIME.jsonl` per owner, locked by it for its life, and `locks/`, one file per object: two runs cannot
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

pub use entry::Change;
pub use error::RestoreError;
pub use guard::{Guard, Setting};
pub use journal::Fault;
pub use object::Outcome;
pub use owner::Owner;
pub use sweep::{Item, Report, pending, restore_all};
