use super::entry::TrialResult;
use super::ledger::{FIRST_TRIALS, Ledger, fault};
use super::plan::CellPlan;
use crate::run_dir::RunState;
use q2c_model::stats::Interval;
use q2c_result::Warning;
use serde::Serialize;
use std::error::Error;

/// One finished trial.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial<O> {
    /// Number of the trial within its cell, from 0.
    pub trial: u32,
    /// Session in which it ran, from 1.
    pub session: u32,
    /// End of the trial, Unix time in seconds.
    pub ended_unix_s: f64,
    /// Length of the trial, seconds.
    pub seconds: f64,
    /// How the trial ended, with its outcome when it went well.
    pub result: TrialResult<O>,
}

/// A cell with its finished trials.
#[derive(Clone, Debug)]
pub struct CellRuns<C, O> {
    /// The cell with its names.
    pub plan: CellPlan<C>,
    /// Finished trials by number. A cancelled run may leave gaps between them.
    pub trials: Vec<Trial<O>>,
}

impl<C, O> CellRuns<C, O> {
    /// The outcomes of the trials that went well, by the trial's number.
    pub fn outcomes(&self) -> impl Iterator<Item = &O> {
        self.trials.iter().filter_map(|trial| trial.result.ok())
    }

    /// Median and range of `number` over the trials that went well.
    pub fn interval(&self, number: impl Fn(&O) -> f64) -> Interval {
        Interval::from_samples(&self.outcomes().map(number).collect::<Vec<f64>>())
    }

    /// Why further trials are of no use: a trial found that the cell cannot run, or the first ones
    /// all failed for the same reason. `None` where they are.
    pub fn hopeless(&self) -> Option<&str> {
        let impossible = self.trials.iter().find_map(|trial| match &trial.result {
            TrialResult::Impossible(reason) => Some(reason.as_str()),
            _ => None,
        });
        let first = self.trials.get(..FIRST_TRIALS as usize).unwrap_or_default();
        let kind = |trial: &Trial<O>| fault(&trial.result, |_| None);
        let failed = first.first().and_then(kind);
        let same = failed.is_some() && first.iter().all(|trial| kind(trial) == failed);
        impossible.or_else(|| self.failures().next().filter(|_| same))
    }

    /// The reasons of the trials that failed, and the reason of a cell that cannot run.
    pub fn failures(&self) -> impl Iterator<Item = &str> {
        self.trials.iter().filter_map(|trial| match &trial.result {
            TrialResult::Ok(_) => None,
            TrialResult::Failed(reason) | TrialResult::Impossible(reason) => Some(reason.as_str()),
        })
    }
}

/// How a run ended.
#[derive(Debug)]
pub enum End {
    /// Every trial that was due has run. Rounds that the budget left out were not due.
    Complete,
    /// The cancel flag stopped the run.
    Cancelled,
    /// A [`CellError::Abort`](super::CellError::Abort) stopped the run.
    Aborted {
        /// Name for people of the cell in which it happened.
        label: String,
        /// Number of the trial, from 0.
        trial: u32,
        /// The error that the trial returned.
        error: Box<dyn Error + Send + Sync>,
    },
}

impl End {
    /// The state to pass to [`RunDir::finish`](crate::RunDir::finish).
    pub fn state(&self) -> RunState {
        match self {
            End::Complete => RunState::Complete,
            End::Cancelled | End::Aborted { .. } => RunState::Interrupted,
        }
    }
}

/// The cells of a run with their trials, and how the run went.
#[derive(Debug)]
pub struct Summary<C, O> {
    /// The cells in the plan's order.
    pub cells: Vec<CellRuns<C, O>>,
    /// The smallest number of finished trials of a cell that can run and was not given up; 0 when
    /// there is none.
    pub trials: u32,
    /// Time in trials of all sessions, seconds.
    pub seconds: f64,
    /// How the run ended.
    pub end: End,
    /// Warnings of rounds left out, of time over the budget, of failures, of cells that were given
    /// up and of precision that was not reached.
    pub warnings: Vec<Warning>,
}

impl<C, O> Summary<C, O> {
    /// The state to pass to [`RunDir::finish`](crate::RunDir::finish).
    pub fn state(&self) -> RunState {
        self.end.state()
    }
}

impl<C: Serialize + Clone, O> Summary<C, O> {
    pub(super) fn from_ledger(ledger: Ledger<C, O>, end: End, warnings: Vec<Warning>) -> Self {
        let possible = (0..ledger.cells.len())
            .filter(|&cell| ledger.impossible(cell).or(ledger.given_up(cell)).is_none());
        let trials = possible.map(|cell| ledger.trials[cell].len() as u32).min();
        let runs = ledger.cells.into_iter().zip(ledger.trials);
        let runs = runs.map(|(plan, trials)| CellRuns {
            plan,
            trials: trials.into_values().collect(),
        });
        Summary {
            cells: runs.collect(),
            trials: trials.unwrap_or(0),
            seconds: ledger.spent_s,
            end,
            warnings,
        }
    }
}
