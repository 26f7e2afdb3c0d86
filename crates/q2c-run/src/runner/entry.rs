//! A line of `cells.jsonl`.

use serde::{Deserialize, Serialize};

/// A finished trial as journaled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry<C, O> {
    /// A cell's trial or the sentinel's.
    pub kind: Kind,
    /// The cell's key.
    pub key: String,
    /// Number of the trial of this cell (or of the sentinel), from 0.
    pub trial: u32,
    /// Session in which it ran, from 1.
    pub session: u32,
    /// Its end, Unix time in seconds.
    pub ended_unix_s: f64,
    /// Its length, seconds.
    pub seconds: f64,
    /// The cell.
    pub cell: C,
    /// What it gave.
    pub result: TrialResult<O>,
}

/// Whose trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A cell's.
    Cell,
    /// The sentinel's.
    Sentinel,
}

/// How a finished trial ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrialResult<O> {
    /// Well.
    Ok(O),
    /// Failed, with the reason.
    Failed(String),
    /// The cell cannot run here, with the reason.
    Impossible(String),
}

impl<O> TrialResult<O> {
    /// The outcome of a trial that went well.
    #[must_use]
    pub fn ok(&self) -> Option<&O> {
        match self {
            TrialResult::Ok(outcome) => Some(outcome),
            _ => None,
        }
    }
}
