//! `state.json`: name and times of the run, its conditions, its owner and its state.

use super::identity::Identity;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Schema of `state.json`. A folder with another schema is refused.
pub(super) const SCHEMA: &str = "q2c.run/1";

/// State of a run as its folder states it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunState {
    /// The run is started and not ended. When no process holds the folder, the run has crashed.
    Running,
    /// All trials ran and the final files are there.
    Complete,
    /// The run was stopped early. The trials in its journal are valid.
    Interrupted,
}

impl fmt::Display for RunState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RunState::Running => "running",
            RunState::Complete => "complete",
            RunState::Interrupted => "interrupted",
        })
    }
}

/// State of a run as it really is: [`RunState`] together with the folder's lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// A process works on the run now.
    Running,
    /// All trials ran and the final files are there.
    Complete,
    /// The run was stopped early, and the folder says so.
    Interrupted,
    /// The process of the run is gone, and the folder still says `running`.
    Crashed,
}

/// The content of `state.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunRecord {
    /// Always `q2c.run/1`.
    pub schema: String,
    /// State as the folder states it.
    pub state: RunState,
    /// Name of the run, as given by its caller; the folder's name contains it.
    pub name: String,
    /// Start of the first session, Unix time in seconds.
    pub started_unix_s: u64,
    /// Last change of this file, Unix time in seconds.
    pub changed_unix_s: u64,
    /// How many times the run was started or resumed.
    pub sessions: u32,
    /// Process id of the latest session.
    pub pid: u32,
    /// Conditions that are the same in every session.
    pub identity: Identity,
    /// A checksum of `plan.toml`, so that trials of another plan cannot join the run.
    pub plan: String,
}

impl RunRecord {
    /// The state as it really is. `held` says whether a process holds the folder.
    pub(super) fn status(&self, held: bool) -> Status {
        match (self.state, held) {
            (_, true) => Status::Running,
            (RunState::Complete, false) => Status::Complete,
            (RunState::Interrupted, false) => Status::Interrupted,
            (RunState::Running, false) => Status::Crashed,
        }
    }
}
