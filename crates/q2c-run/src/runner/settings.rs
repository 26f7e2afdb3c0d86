//! How a plan is to be run.

use super::error::RunError;
use super::precision::Precision;
use std::time::Duration;

/// How a plan is to be run.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Trials per cell, at least 1.
    pub trials: u32,
    /// Seed of the order and of the trials' own seeds.
    pub seed: u64,
    /// Trials between two runs of the sentinel; 0 for start and end only.
    pub sentinel_every: u32,
    /// Drift of the sentinel, as a share of its median, above which a warning is given.
    pub drift_limit: f64,
    /// Time for the whole run, all sessions together.
    pub budget: Option<Duration>,
    /// Add trials until medians are known this well.
    pub precision: Option<Precision>,
}

/// Five trials, no budget, a sentinel every 20 trials, drift above 10 % warned of.
impl Default for Settings {
    fn default() -> Self {
        Settings {
            trials: 5,
            seed: 1,
            sentinel_every: 20,
            drift_limit: 0.10,
            budget: None,
            precision: None,
        }
    }
}

impl Settings {
    /// The most trials a cell can get.
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
