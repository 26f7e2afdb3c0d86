use super::precision::Precision;
use q2c_model::{Exit, Fault};
use std::time::Duration;

/// The settings of a run: number and order of trials, budget and precision.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Trials per cell, at least 1.
    pub trials: u32,
    /// Seed of the order of cells and of the seeds of the trials.
    pub seed: u64,
    /// Time for the whole run, all sessions together; `None` sets no limit.
    pub budget: Option<Duration>,
    /// Adds trials until medians are known this well; `None` adds none.
    pub precision: Option<Precision>,
    /// Whether a cell gets all its trials although its first ones are invalid for one reason.
    pub all_trials: bool,
}

/// Five trials, no budget, no precision, and no further trials of what is invalid from the start.
impl Default for Settings {
    fn default() -> Self {
        Settings {
            trials: 5,
            seed: 1,
            budget: None,
            precision: None,
            all_trials: false,
        }
    }
}

impl Settings {
    /// The largest number of trials that a cell can get.
    pub(crate) fn max_trials(&self) -> u32 {
        let more = self.precision.map_or(0, |p| p.max_trials);
        self.trials.max(more)
    }

    pub(super) fn check(&self) -> Result<(), Fault> {
        let bad = |what: &str| Err(Fault::new(Exit::Device, format!("run the plan: {what}")));
        if self.trials == 0 {
            return bad("expected at least 1 trial per cell, found 0");
        }
        match self.precision {
            Some(p) if p.relative_width.is_nan() || p.relative_width <= 0.0 => {
                bad("expected a relative width above 0")
            }
            _ => Ok(()),
        }
    }
}
