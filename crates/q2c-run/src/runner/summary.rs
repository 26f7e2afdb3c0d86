//! What a run leaves: every cell's trials, drift, warnings.

use super::entry::TrialResult;
use super::ledger::Ledger;
use super::plan::CellPlan;
use super::sentinel::Drift;
use crate::run_dir::RunState;
use q2c_result::Warning;
use q2c_stats::Interval;
use serde::Serialize;
use std::error::Error;

/// One finished trial.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial<O> {
    /// Its number within the cell, from 0.
    pub trial: u32,
    /// Session in which it ran, from 1.
    pub session: u32,
    /// Its end, Unix time in seconds.
    pub ended_unix_s: f64,
    /// Its length, seconds.
    pub seconds: f64,
    /// What it gave.
    pub result: TrialResult<O>,
}

/// A cell with its finished trials.
#[derive(Clone, Debug)]
pub struct CellRuns<C, O> {
    /// The cell.
    pub plan: CellPlan<C>,
    /// Its trials by number; those of a cancelled run may have gaps.
    pub trials: Vec<Trial<O>>,
}

impl<C, O> CellRuns<C, O> {
    /// The outcomes of trials that went well, by number.
    pub fn outcomes(&self) -> impl Iterator<Item = &O> {
        self.trials.iter().filter_map(|trial| trial.result.ok())
    }

    /// Median and range of a number over the trials that went well.
    #[must_use]
    pub fn interval(&self, number: impl Fn(&O) -> f64) -> Interval {
        Interval::of(&self.outcomes().map(number).collect::<Vec<f64>>())
    }

    /// Reasons of trials that failed, and of a cell that cannot run.
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
    /// Every trial that was due has run.
    Complete,
    /// Stopped by the cancel flag.
    Cancelled,
    /// Stopped by [`CellError::Abort`](super::CellError::Abort).
    Aborted {
        /// The cell's name for people.
        label: String,
        /// The trial, from 0.
        trial: u32,
        /// Why.
        error: Box<dyn Error + Send + Sync>,
    },
}

/// A run's cells and how it went.
#[derive(Debug)]
pub struct Summary<C, O> {
    /// The cells in the plan's order.
    pub cells: Vec<CellRuns<C, O>>,
    /// The sentinel's runs, oldest first.
    pub sentinel: Vec<Trial<O>>,
    /// The sentinel's drift; `None` without a sentinel.
    pub drift: Option<Drift>,
    /// Trials that every cell which can run has at least.
    pub trials: u32,
    /// Time in trials, all sessions, seconds.
    pub seconds: f64,
    /// How it ended.
    pub end: End,
    /// Trials cut, drift, failures, precision missed.
    pub warnings: Vec<Warning>,
}

impl<C, O> Summary<C, O> {
    /// The state for [`RunDir::finish`](crate::RunDir::finish).
    #[must_use]
    pub fn state(&self) -> RunState {
        match self.end {
            End::Complete => RunState::Complete,
            End::Cancelled | End::Aborted { .. } => RunState::Interrupted,
        }
    }
}

impl<C: Serialize + Clone, O> Summary<C, O> {
    pub(super) fn of(
        ledger: Ledger<C, O>,
        end: End,
        drift: Option<Drift>,
        warnings: Vec<Warning>,
    ) -> Self {
        let possible = (0..ledger.cells.len()).filter(|&cell| ledger.impossible(cell).is_none());
        let trials = possible.map(|cell| ledger.trials[cell].len() as u32).min();
        let runs = ledger.cells.into_iter().zip(ledger.trials);
        let runs = runs.map(|(plan, trials)| CellRuns {
            plan,
            trials: trials.into_values().collect(),
        });
        Summary {
            cells: runs.collect(),
            sentinel: ledger.sentinel,
            drift,
            trials: trials.unwrap_or(0),
            seconds: ledger.spent_s,
            end,
            warnings,
        }
    }
}
