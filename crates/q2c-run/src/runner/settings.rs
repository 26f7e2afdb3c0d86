//! The settings of a run.

use super::error::RunError;
use super::precision::Precision;
use std::time::Duration;

/// The settings of a run: number and order of trials, sentinel, budget and precision.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Trials per cell, at least 1.
    pub trials: u32,
    /// Seed of the order of cells and of the seeds of the trials.
    pub seed: u64,
    /// Trials of cells between two runs of the sentinel; 0 runs it at the start and the end of a
    /// session only.
    pub sentinel_every: u32,
    /// Drift of the sentinel, as a share of its median, above which a warning is given.
    pub drift_limit: f64,
    /// Time for the whole run, all sessions together; `None` sets no limit.
    pub budget: Option<Duration>,
    /// Adds trials until medians are known this well; `None` adds none.
    pub precision: Option<Precision>,
    /// Whether a cell gets all its trials although its first ones are invalid for one reason.
    pub all_trials: bool,
}

/// Five trials, no budget, no precision, a sentinel every 20 trials, a warning of drift above 10 %,
/// and no further trials of what is invalid from the start.
impl Default for Settings {
    fn default() -> Self {
        Settings {
            trials: 5,
            seed: 1,
            sentinel_every: 20,
            drift_limit: 0.10,
            budget: None,
            precision: None,
            all_trials: false,
        }
    }
}

impl Settings {
    /// The largest number of trials that a cell can get.
    #[must_use]
    pub fn max_trials(&self) -> u32 {
        let more = self.precision.map_or(0, |p| p.max_trials);
        self.trials.max(more)
    }

    pub(super) fn check(&self) -> Result<(), RunError> {
        let bad = |what: &str| Err(RunError::Settings(what.to_owned()));
        if self.trials == 0 {
            return bad("expected at least 1 trial per cell, found 0");
        }
        if self.drift_limit.is_nan() || self.drift_limit < 0.0 {
            return bad("expected a drift limit of 0 or more");
        }
        match self.precision {
            Some(p) if p.relative_width.is_nan() || p.relative_width <= 0.0 => {
                bad("expected a relative width above 0")
            }
            _ => Ok(()),
        }
    }
}
