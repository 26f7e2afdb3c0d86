//! What a recommendation has to achieve and to keep.

use crate::evidence::Trial;
use q2c_sim::{Limits, MinIops, Objective};
use q2c_stats::{median, sorted};

/// The standard floor: IOPS over those of classic polling beside it. Polling is the reference because every trial has it on
/// either side, so that the floor can be checked on a device that drifts.
pub const FLOOR: f64 = 0.97;
/// A sleep that gains less than this over polling, in KIOPS/core, is not worth it.
pub const WORTH: f64 = 1.02;

/// Objective and limits.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Goal {
    /// What "best" means.
    pub objective: Objective,
    /// What must be kept.
    pub limits: Limits,
}

impl Goal {
    /// The floor as a share of polling's IOPS, where polling gives `poll_iops`.
    #[must_use]
    pub fn floor(&self, poll_iops: f64) -> f64 {
        match self.limits.min_iops {
            None => FLOOR,
            Some(MinIops::OfPolling(share)) => share,
            Some(MinIops::Iops(iops)) => iops / poll_iops,
        }
    }

    /// Whether trials kept the limits other than the floor, by their medians.
    #[must_use]
    pub fn other_limits_kept(&self, trials: &[Trial]) -> bool {
        let middle = |of: fn(&Trial) -> f64| {
            median(&sorted(&trials.iter().map(of).collect::<Vec<f64>>()))
        };
        let within = |limit: Option<f64>, of| limit.is_none_or(|most| middle(of) <= most);
        within(self.limits.max_p99_ns, |t| t.p99_ns)
            && within(self.limits.max_cpu_pct, |t| t.cpu_pct)
    }
}
