//! The result of `q2c runs`: the runs in a folder.

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

/// The state of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunEnd {
    /// A process works on the run at this moment.
    Running,
    /// The run has all of its trials and its result.
    Complete,
    /// The run was stopped early and can be continued.
    Interrupted,
    /// The run's process was killed; the run can be continued.
    Crashed,
    /// The run's folder cannot be read.
    Unreadable,
}

/// A run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedRun {
    /// Path of the run's folder.
    pub path: String,
    /// Name of the command, such as `tune`; `None` if the folder cannot be read.
    pub name: Option<String>,
    /// The target; `None` if the run has none.
    pub target: Option<String>,
    /// Start, Unix time in seconds.
    pub started_unix_s: Option<u64>,
    /// State of the run.
    pub end: RunEnd,
    /// Why the folder cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unreadable: Option<String>,
}
