//! A line of `cells.jsonl`.

use serde::{Deserialize, Serialize};

/// A finished trial as the journal keeps it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry<C, O> {
    /// Whether the trial is of a cell or of the sentinel.
    pub kind: Kind,
    /// Key of the cell, or of the sentinel's cell.
    pub key: String,
    /// Number of the trial within its cell, or among the sentinel's runs, from 0.
    pub trial: u32,
    /// Session in which it ran, from 1.
    pub session: u32,
    /// End of the trial, Unix time in seconds.
    pub ended_unix_s: f64,
    /// Length of the trial, seconds.
    pub seconds: f64,
    /// The cell itself. A resume compares it with the plan's cell of the same key.
    pub cell: C,
    /// How the trial ended, with its outcome when it went well.
    pub result: TrialResult<O>,
}

/// Whether a trial is of a cell or of the sentinel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A trial of one of the plan's cells.
    Cell,
    /// A run of the sentinel.
    Sentinel,
}

/// How a finished trial ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrialResult<O> {
    /// The trial went well and gave this outcome.
    Ok(O),
    /// The trial failed, for this reason.
    Failed(String),
    /// The cell cannot run here, for this reason.
    Impossible(String),
}

impl<O> TrialResult<O> {
    /// The outcome, when the trial went well.
    #[must_use]
    pub fn ok(&self) -> Option<&O> {
        match self {
            TrialResult::Ok(outcome) => Some(outcome),
            _ => None,
        }
    }
}
