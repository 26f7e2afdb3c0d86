use super::event::{Event, Position, time_text};
use super::ledger::Ledger;
use super::plan::{Plan, Settings};
use super::session::Session;
use super::warnings;
use q2c_model::Fault;
use serde::Serialize;
use std::fmt;

/// The expected size of a run: its trials, and their time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Forecast {
    /// Number of cells, without those that are known not to run on this machine.
    pub cells: u32,
    /// Trials per cell that the settings request.
    pub trials_asked: u32,
    /// Trials per cell that fit the budget; at least 1.
    pub trials: u32,
    /// Most trials per cell, if [`Precision`](super::Precision) may add some; else as requested.
    pub trials_max: u32,
    /// Trials that earlier sessions finished, all cells together.
    pub finished: u32,
    /// Expected time for the remaining trials with `trials` per cell, seconds.
    pub seconds: f64,
    /// The budget, seconds; `None` without one.
    pub budget_s: Option<f64>,
    /// True if the run stays within its budget; false if not even one trial per cell fits.
    pub fits: bool,
}

impl Forecast {
    /// The forecast of a run before its start.
    pub fn from_plan<P: Plan>(plan: &P, settings: &Settings) -> Result<Forecast, Fault> {
        settings.check()?;
        let ledger = Ledger::new(plan, settings)?;
        Ok(forecast(&ledger, settings, 0.0))
    }
}

/// Formats the forecast as one line for people. A time of less than one second is left out.
impl fmt::Display for Forecast {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = |n: u32| if n == 1 { "" } else { "s" };
        let (cells, trials) = (self.cells, self.trials);
        let (s, each_s) = (plural(cells), plural(trials));
        write!(f, "{cells} cell{s} x {trials} trial{each_s}")?;
        if self.trials < self.trials_asked {
            write!(f, " ({} asked)", self.trials_asked)?;
        }
        if self.trials_max > self.trials_asked {
            write!(f, ", up to {} where needed", self.trials_max)?;
        }
        if self.finished > 0 {
            let (n, s) = (self.finished, plural(self.finished));
            write!(f, ", {n} trial{s} done before")?;
        }
        if self.seconds >= 1.0 || self.budget_s.is_some() {
            write!(f, ": about {}", time_text(self.seconds))?;
        }
        match self.budget_s {
            Some(budget) if self.fits => write!(f, ", budget {}", time_text(budget)),
            Some(budget) => write!(f, ", more than the budget of {}", time_text(budget)),
            None => Ok(()),
        }
    }
}

/// The forecast of the remaining trials of a run that has spent `elapsed_s` of its budget.
pub(super) fn forecast<C: Serialize + Clone, O>(
    ledger: &Ledger<C, O>,
    settings: &Settings,
    elapsed_s: f64,
) -> Forecast {
    let missing_s = |trials: u32| cost_of_missing(ledger, trials);
    let budget_s = settings.budget.map(|budget| budget.as_secs_f64());
    let fits = |trials: u32| budget_s.is_none_or(|budget| elapsed_s + missing_s(trials) <= budget);
    let trials = (1..=settings.trials).rev().find(|&t| fits(t));
    let possible = (0..ledger.cells.len()).filter(|&cell| ledger.impossible_reason(cell).is_none());
    Forecast {
        cells: possible.count() as u32,
        trials_asked: settings.trials,
        trials: trials.unwrap_or(1),
        trials_max: settings.max_trials(),
        finished: ledger.finished(),
        seconds: missing_s(trials.unwrap_or(1)),
        budget_s,
        fits: trials.is_some(),
    }
}

/// Expected seconds of the trials in `counts`, which holds pairs of a cell's index and its trials.
pub(super) fn cost<C, O>(ledger: &Ledger<C, O>, counts: impl Iterator<Item = (usize, u32)>) -> f64 {
    let seconds = |(cell, count)| f64::from(count) * ledger.estimate.trial_seconds(cell);
    counts.map(seconds).sum()
}

/// Expected seconds of the trials still missing from the first `trials` of each cell.
fn cost_of_missing<C: Serialize + Clone, O>(ledger: &Ledger<C, O>, trials: u32) -> f64 {
    let cells = 0..ledger.cells.len();
    let missing = cells.map(|cell| (cell, ledger.missing(cell, trials)));
    cost(ledger, missing)
}

impl<P: Plan> Session<'_, P> {
    /// True if the next round, of which no trial has run yet, fits the budget. The first round
    /// always does. If a requested round is left out, this is logged and warned of. A round that
    /// only precision wants is left out silently.
    pub(super) fn affords_round(&mut self) -> Result<bool, Fault> {
        let Some(budget) = self.runner.settings.budget else {
            return Ok(true);
        };
        let counts = self.due.iter().map(|&cell| (cell, 1));
        let cost_s = cost(&self.ledger, counts);
        let over_s = self.elapsed_s() + cost_s - budget.as_secs_f64();
        if over_s <= 0.0 || self.round == 0 {
            return Ok(true);
        }
        if self.round < self.runner.settings.trials {
            let left_s = cost_of_missing(&self.ledger, self.runner.settings.trials);
            let short_by_s = self.elapsed_s() + left_s - budget.as_secs_f64();
            let warning = warnings::trials_cut(self.round, self.runner.settings, short_by_s);
            self.log_and_show(&Event::Note(warning.found.clone()))?;
            self.warnings.push(warning);
        }
        Ok(false)
    }

    /// Time that counts against the budget so far, seconds: the trials of earlier sessions and the
    /// whole of this session.
    pub(super) fn elapsed_s(&self) -> f64 {
        self.spent_before_s + self.session_s()
    }

    fn session_s(&self) -> f64 {
        self.runner.clock.monotonic().as_secs_f64() - self.start_s
    }

    /// Progress of the run, and the expected time to its end.
    pub(super) fn position(&self) -> Position {
        let planned = forecast(&self.ledger, self.runner.settings, self.elapsed_s()).trials;
        let count = |cell: usize| {
            let precision_only = self.round >= planned && self.due.contains(&cell);
            self.ledger.missing(cell, planned)
                + u32::from(precision_only && !self.ledger.is_done(cell, self.round))
        };
        let cells = 0..self.ledger.cells.len();
        let counts: Vec<(usize, u32)> = cells.map(|cell| (cell, count(cell))).collect();
        let missing: u32 = counts.iter().map(|(_, count)| count).sum();
        Position {
            finished: self.ledger.finished(),
            total: self.ledger.finished() + missing,
            elapsed_s: self.session_s(),
            remaining_s: cost(&self.ledger, counts.into_iter()),
        }
    }
}

#[derive(Default)]
struct CellSeconds {
    guess_s: f64,
    sum_s: f64,
    trials: u32,
}

impl CellSeconds {
    fn mean(&self) -> Option<f64> {
        (self.trials > 0).then(|| self.sum_s / f64::from(self.trials))
    }
}

/// Expected seconds per trial of each cell, by the cell's index in the plan.
pub(super) struct TrialEstimate {
    cells: Vec<CellSeconds>,
    /// Sums over the cells that have run: the plan's guesses, and the mean lengths of their trials,
    /// both in seconds. They are kept because a plan may have very many cells and each needs them.
    guessed_s: f64,
    measured_s: f64,
}

impl TrialEstimate {
    pub(super) fn new(cells: impl Iterator<Item = f64>) -> Self {
        let untried = |guess_s| CellSeconds {
            guess_s,
            ..CellSeconds::default()
        };
        TrialEstimate {
            cells: cells.map(untried).collect(),
            guessed_s: 0.0,
            measured_s: 0.0,
        }
    }

    /// Adds the length of a successful trial, seconds.
    pub(super) fn learn(&mut self, cell: usize, seconds: f64) {
        let cell_seconds = &mut self.cells[cell];
        match cell_seconds.mean() {
            Some(old_mean) => self.measured_s -= old_mean,
            None => self.guessed_s += cell_seconds.guess_s,
        }
        cell_seconds.sum_s += seconds;
        cell_seconds.trials += 1;
        self.measured_s += cell_seconds.mean().unwrap_or(0.0);
    }

    /// Expected seconds of a trial: the mean of the cell's trials so far. Before the first trial it
    /// is the plan's guess, scaled by the error of the guesses of the other cells.
    pub(super) fn trial_seconds(&self, cell: usize) -> f64 {
        let cell = &self.cells[cell];
        cell.mean()
            .unwrap_or_else(|| cell.guess_s * self.correction())
    }

    fn correction(&self) -> f64 {
        if self.guessed_s > 0.0 {
            self.measured_s / self.guessed_s
        } else {
            1.0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_seen_corrects_what_was_not() {
        let mut estimate = TrialEstimate::new([10.0, 20.0, 4.0].into_iter());
        assert_eq!(estimate.trial_seconds(1), 20.0);
        estimate.learn(0, 14.0);
        estimate.learn(0, 16.0);
        assert_eq!(estimate.trial_seconds(0), 15.0);
        // Cell 0 took 1.5 times as long as its guess.
        assert_eq!(estimate.trial_seconds(1), 30.0);
        assert_eq!(estimate.trial_seconds(2), 6.0);
        // 15 + 3 seconds were seen for 10 + 4 planned.
        estimate.learn(2, 3.0);
        assert_eq!(estimate.trial_seconds(1), 20.0 * 18.0 / 14.0);
    }
}
