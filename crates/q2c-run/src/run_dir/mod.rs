//! The run folder `runs/<utc time>-<name>/`. It is made at the start of the run, and no file in it
//! is ever seen half-written.
//!
//! | file | what | how |
//! |---|---|---|
//! | `state.json` | [`RunRecord`]: state, owner, identity | replaced whole |
//! | `plan.toml` | the plan as run | replaced whole, once |
//! | `cells.jsonl` | one trial per line | appended, fsynced; its `flock` locks the folder |
//! | `log.txt` | what happened, with UTC times | appended |
//! | `result.json`, `report.html`, ... | final files | replaced whole |
//!
//! *Replaced whole* means: the new file is written beside the old one as `.NAME.tmp`, fsynced and
//! renamed, and then the folder is fsynced. A reader sees the old file or the new one, and a full
//! disk leaves the old one.
//!
//! # States
//! A new folder is `running`. [`RunDir::finish`] makes it `complete` or `interrupted`. Dropping a
//! [`RunDir`] that was not finished (after an error or a panic) marks it `interrupted`. After a
//! power cut or SIGKILL `state.json` still says `running` while no process holds the lock:
//! [`RunDir::inspect`] reports that as [`Status::Crashed`].
//!
//! # Lines
//! A line of `cells.jsonl` counts when it ends in a newline and is JSON. Since every line is
//! fsynced before the next one is begun, only the last can be torn. [`RunDir::resume`] cuts that
//! line off and returns it as [`TornLine`]. A broken line anywhere else does not come from a crash
//! of q2c and is refused.

mod checked;
mod error;
mod files;
mod folder;
mod journal;
mod open;
mod record;

pub use checked::{CheckedPlan, PlanFault};
pub use error::RunDirError;
pub use files::{read_checked_plan, read_plan};
pub use folder::RunDir;
pub use journal::TornLine;
pub use record::{Difference, Identity, RunRecord, RunState, Status};
