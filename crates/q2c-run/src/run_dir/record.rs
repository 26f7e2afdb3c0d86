//! `state.json`: who made the folder, when, under what conditions, and how far it got.

use super::identity::Identity;
use serde::{Deserialize, Serialize};

/// Schema of `state.json`.
pub(super) const SCHEMA: &str = "q2c.run/1";

/// State of a run as its folder says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunState {
    /// Started and not ended; without an owner that means it crashed.
    Running,
    /// All trials ran and the final files are there.
    Complete,
    /// Stopped early; what is in the journal is valid.
    Interrupted,
}

/// State of a run as it really is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// A process works on it now.
    Running,
    /// Ended well.
    Complete,
    /// Stopped early, in order.
    Interrupted,
    /// Its process is gone without having said how it ended.
    Crashed,
}

/// The content of `state.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunRecord {
    /// `q2c.run/1`.
    pub schema: String,
    /// State.
    pub state: RunState,
    /// The run's name, as in the folder's.
    pub name: String,
    /// Start of the first session, Unix time in seconds.
    pub started_unix_s: u64,
    /// Last change of this file, Unix time in seconds.
    pub changed_unix_s: u64,
    /// How many times the run was started or resumed.
    pub sessions: u32,
    /// Process id of the latest session.
    pub pid: u32,
    /// Conditions that every session must share.
    pub identity: Identity,
}

impl RunRecord {
    /// What the state means, given whether a process holds the folder.
    pub(super) fn status(&self, held: bool) -> Status {
        match (self.state, held) {
            (_, true) => Status::Running,
            (RunState::Complete, false) => Status::Complete,
            (RunState::Interrupted, false) => Status::Interrupted,
            (RunState::Running, false) => Status::Crashed,
        }
    }
}
