//! The runs that lie in a folder.

use serde::{Deserialize, Serialize};

/// This version's schema name.
pub const SCHEMA: &str = "q2c.runs/1";

/// The runs of a folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunsResult {
    /// [`SCHEMA`].
    pub schema: String,
    /// The folder.
    pub folder: String,
    /// The runs, the latest first.
    pub runs: Vec<ListedRun>,
}

/// How far a run came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunEnd {
    /// A process works on it now.
    Running,
    /// It has all of its trials, and its result.
    Complete,
    /// It was stopped early, and can be gone on with.
    Interrupted,
    /// Its process was killed, and it can be gone on with.
    Crashed,
    /// Its folder cannot be read.
    Unreadable,
}

/// A run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedRun {
    /// Its folder.
    pub path: String,
    /// Its name: the command, as `tune`; `None` where the folder cannot be read.
    pub name: Option<String>,
    /// What it ran on, where it was on something.
    pub target: Option<String>,
    /// Start, Unix time in seconds.
    pub started_unix_s: Option<u64>,
    /// How far it came.
    pub end: RunEnd,
    /// Why the folder cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unreadable: Option<String>,
}
