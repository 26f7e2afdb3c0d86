//! The run folder `runs/<utc time>-<name>/`: made at the start, never half-written.
//!
//! | file | what | how |
//! |---|---|---|
//! | `state.json` | [`RunRecord`]: state, owner, identity | replaced whole |
//! | `plan.toml` | the plan as run | replaced whole, once |
//! | `cells.jsonl` | one finished trial per line | appended and fsynced; its `flock` is the folder's lock |
//! | `log.txt` | what happened, with UTC times | appended |
//! | `result.json`, `report.html`, ... | final files | replaced whole |
//!
//! *Replaced whole* means: written beside as `.NAME.tmp`, fsynced, renamed, folder fsynced. A reader sees the old
//! file or the new one, and a full disk leaves the old one.
//!
//! # States
//! A folder is born `running`. [`RunDir::finish`] makes it `complete` or `interrupted`; dropping a [`RunDir`] that
//! was not finished (an error, a panic) marks it `interrupted`. After a power cut or SIGKILL `state.json` still
//! says `running` while nobody holds the lock: [`RunDir::inspect`] reports that as [`Status::Crashed`].
//!
//! # Lines
//! A line of `cells.jsonl` counts when its newline is there and it is JSON. Since every line is fsynced before the
//! next is begun, only the last can be torn; [`RunDir::resume`] cuts it off and says so ([`Torn`]). A broken line
//! anywhere else was not our crash and is refused.

mod error;
mod files;
mod folder;
mod identity;
mod journal;
mod lock;
mod log;
mod open;
mod publish;
mod record;
mod utc;

pub use error::RunDirError;
pub use files::read_plan;
pub use folder::RunDir;
pub use identity::{Difference, Identity};
pub use journal::Torn;
pub use record::{RunRecord, RunState, Status};
