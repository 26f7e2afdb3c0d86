use super::ledger::{FIRST_TRIALS, Ledger, failure_kind};
use super::plan::CellPlan;
use crate::run_dir::RunState;
use q2c_model::stats::Interval;
use q2c_model::{Exit, Fault};
use q2c_result::Warning;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::error::Error;

/// A finished trial as the journal keeps it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry<C, O> {
    /// Key of the cell.
    pub key: String,
    /// Number of the trial within its cell, from 0.
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

impl<C, O: Serialize> Entry<C, O> {
    /// Refuses a journaled trial whose length, end or `metric` (in `unit`) is negative, or whose
    /// outcome has a number above `max_number`; an infinite `max_number` checks no outcome.
    pub(super) fn check(
        &self,
        metric: impl Fn(&O) -> f64,
        (unit, max_number): (&'static str, f64),
    ) -> Result<(), Fault> {
        let outcome = self.result.ok().filter(|_| max_number.is_finite());
        let figures = [
            (self.seconds, "s of length"),
            (self.ended_unix_s, "s as its end"),
            (outcome.map_or(0.0, metric), unit),
        ];
        let negative = figures.into_iter().find(|(value, _)| *value < 0.0);
        let too_large = || {
            let largest = largest(&serde_json::to_value(outcome).ok()?);
            (largest > max_number).then_some((largest, "as a figure"))
        };
        match negative.or_else(too_large) {
            None => Ok(()),
            Some((figure, what)) => {
                let (key, trial) = (&self.key, self.trial);
                let text = format!(
                    "resume: trial {trial} of {key} in the journal has {figure} {what}, which no trial has; take its line out of cells.jsonl, and it runs again"
                );
                Err(Fault::new(Exit::Input, text))
            }
        }
    }
}

/// The largest absolute value of all numbers in a JSON value.
fn largest(value: &Value) -> f64 {
    let max = |values: &mut dyn Iterator<Item = &Value>| values.map(largest).fold(0.0, f64::max);
    match value {
        Value::Number(number) => number.as_f64().unwrap_or(0.0).abs(),
        Value::Array(items) => max(&mut items.iter()),
        Value::Object(fields) => max(&mut fields.values()),
        _ => 0.0,
    }
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
    pub fn ok(&self) -> Option<&O> {
        match self {
            TrialResult::Ok(outcome) => Some(outcome),
            _ => None,
        }
    }

    /// Why the cell cannot run here.
    pub(super) fn impossible_reason(&self) -> Option<&str> {
        match self {
            TrialResult::Impossible(reason) => Some(reason),
            _ => None,
        }
    }
}

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

    /// The reason why further trials are useless: a trial found that the cell cannot run, or the
    /// first trials all failed for the same reason. `None` if further trials may succeed.
    pub fn hopeless_reason(&self) -> Option<&str> {
        let mut trials = self.trials.iter();
        let impossible = trials.find_map(|trial| trial.result.impossible_reason());
        let start = self.trials.get(..FIRST_TRIALS as usize).unwrap_or_default();
        let kind = |trial: &Trial<O>| failure_kind(&trial.result, |_| None);
        let first_kind = start.first().and_then(kind);
        let all_alike = first_kind.is_some() && start.iter().all(|trial| kind(trial) == first_kind);
        impossible.or_else(|| self.failures().next().filter(|_| all_alike))
    }

    /// The reasons of all failed trials, including the reason of a cell that cannot run.
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
    /// The smallest number of finished trials of any cell, without cells that cannot run or were
    /// given up; 0 if no cell is left.
    pub trials: u32,
    /// Time spent in trials over all sessions, seconds.
    pub seconds: f64,
    /// How the run ended.
    pub end: End,
    /// Warnings about rounds left out, time over the budget, failures, cells given up, and
    /// precision not reached.
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
        let end_reason = |cell| (ledger.impossible_reason(cell)).or(ledger.give_up_reason(cell));
        let active = (0..ledger.cells.len()).filter(|&cell| end_reason(cell).is_none());
        let trials = active.map(|cell| ledger.trials[cell].len() as u32).min();
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Values that no real trial can have must come from a damaged or forged journal.
    #[test]
    fn impossible_figures_are_refused() {
        let refused_figure = |seconds, iops: f64, inside: f64, max_number| {
            let entry = Entry {
                key: "a".to_owned(),
                trial: 0,
                session: 1,
                ended_unix_s: 1.0,
                seconds,
                cell: (),
                result: TrialResult::Ok((iops, vec![1.0, inside])),
            };
            let checked = entry.check(|(iops, _)| *iops, ("IOPS", max_number));
            let text = checked.err()?.to_string();
            let (_, figure) = text.split_once(" in the journal has ")?;
            figure.split(' ').next()?.parse::<f64>().ok()
        };
        assert_eq!(refused_figure(1.0, 5e6, 2.0, 1e24), None);
        assert_eq!(refused_figure(-1.0, 5e6, 2.0, 1e24), Some(-1.0));
        assert_eq!(refused_figure(1.0, -5.0, 2.0, 1e24), Some(-5.0));
        assert_eq!(refused_figure(1.0, 5e6, 1e308, 1e24), Some(1e308));
        assert_eq!(refused_figure(1.0, -5.0, 1e308, f64::INFINITY), None);
    }
}
