use super::event::spoken;
use super::ledger::Ledger;
use super::plan::Plan;
use super::settings::Settings;
use q2c_model::Fault;
use serde::Serialize;
use std::fmt;

/// The expected extent of a run: its trials, and their time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Forecast {
    /// Number of cells, without those that are known not to run here.
    pub cells: u32,
    /// Trials per cell that the settings ask for.
    pub trials_asked: u32,
    /// Trials per cell that fit the budget; at least 1.
    pub trials: u32,
    /// Most trials per cell, when [`Precision`](super::Precision) may add some; else as asked.
    pub trials_max: u32,
    /// Trials that earlier sessions finished, all cells together.
    pub finished: u32,
    /// Expected time for the trials that are left with `trials` per cell, seconds.
    pub seconds: f64,
    /// The budget, seconds; `None` without one.
    pub budget_s: Option<f64>,
    /// Whether the run stays within its budget. It is false when not even one trial per cell fits.
    pub fits: bool,
}

impl Forecast {
    /// The forecast of a run that is not yet started.
    pub fn from_plan<P: Plan>(plan: &P, settings: &Settings) -> Result<Forecast, Fault> {
        settings.check()?;
        let ledger = Ledger::new(plan, settings)?;
        Ok(forecast(&ledger, settings, 0.0))
    }
}

/// One line for people. A length under a second is not told.
impl fmt::Display for Forecast {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let many = |n: u32| if n == 1 { "" } else { "s" };
        let (cells, trials) = (self.cells, self.trials);
        write!(
            f,
            "{cells} cell{} x {trials} trial{}",
            many(cells),
            many(trials)
        )?;
        if self.trials < self.trials_asked {
            write!(f, " ({} asked)", self.trials_asked)?;
        }
        if self.trials_max > self.trials_asked {
            write!(f, ", up to {} where needed", self.trials_max)?;
        }
        if self.finished > 0 {
            let trials = if self.finished == 1 {
                "trial"
            } else {
                "trials"
            };
            write!(f, ", {} {trials} done before", self.finished)?;
        }
        if self.seconds >= 1.0 || self.budget_s.is_some() {
            write!(f, ": about {}", spoken(self.seconds))?;
        }
        match self.budget_s {
            Some(budget) if self.fits => write!(f, ", budget {}", spoken(budget)),
            Some(budget) => write!(f, ", more than the budget of {}", spoken(budget)),
            None => Ok(()),
        }
    }
}

/// The forecast of the rest of a run that has spent `elapsed_s` of its budget.
pub(super) fn forecast<C: Serialize + Clone, O>(
    ledger: &Ledger<C, O>,
    settings: &Settings,
    elapsed_s: f64,
) -> Forecast {
    let cost = |trials: u32| {
        let counts = (0..ledger.cells.len()).map(|cell| (cell, ledger.missing(cell, trials)));
        cost(ledger, counts)
    };
    let budget_s = settings.budget.map(|budget| budget.as_secs_f64());
    let fits = |trials: u32| budget_s.is_none_or(|budget| elapsed_s + cost(trials) <= budget);
    let trials = (1..=settings.trials).rev().find(|&t| fits(t));
    let possible = (0..ledger.cells.len()).filter(|&cell| ledger.impossible(cell).is_none());
    Forecast {
        cells: possible.count() as u32,
        trials_asked: settings.trials,
        trials: trials.unwrap_or(1),
        trials_max: settings.max_trials(),
        finished: ledger.finished(),
        seconds: cost(trials.unwrap_or(1)),
        budget_s,
        fits: trials.is_some(),
    }
}

/// Expected seconds for the given number of trials of each cell.
pub(super) fn cost<C, O>(ledger: &Ledger<C, O>, counts: impl Iterator<Item = (usize, u32)>) -> f64 {
    let seconds = |(cell, count)| f64::from(count) * ledger.estimate.trial_seconds(cell);
    counts.map(seconds).sum()
}
