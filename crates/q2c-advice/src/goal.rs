//! What a recommendation has to achieve and to keep.

use crate::evidence::{Trial, middle};
pub use q2c_result::tune::{SAVING, WORTH};
use q2c_sim::{Limits, MinIops, Objective};

/// The standard floor, as a share of classic polling's IOPS. What any sleep costs is told as a
/// trade-off.
pub const FLOOR: f64 = 0.97;

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
        let within = |limit: Option<f64>, of: fn(&Trial) -> f64| {
            limit.is_none_or(|most| middle(trials, of) <= most)
        };
        within(self.limits.max_p99_ns, |t| t.p99_ns)
            && within(self.limits.max_cpu_pct, |t| t.cpu_pct)
    }
}
