//! What a recommendation has to achieve and to keep.

use crate::evidence::{Trial, middle};
pub use q2c_result::tune::{SAVING, WORTH};
use q2c_sim::{Limits, MinIops, Objective};

/// The standard floor, as a share of its reference: the best method that sleeps and hardly misses, and never more than classic
/// polling. What any sleep costs is then not held against one rule; what its misses cost is.
pub const FLOOR: f64 = 0.97;
/// A method with at most this miss rate is a reference for the floor.
pub const CLEAN_MISS: f64 = 0.001;
/// A clean sleep below this share of polling's IOPS lowers the floor no further: what it costs is to be told as a trade-off.
pub const LEAST_CLEAN: f64 = 0.95;

/// Objective and limits.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Goal {
    /// What "best" means.
    pub objective: Objective,
    /// What must be kept.
    pub limits: Limits,
}

impl Goal {
    /// The floor as a share of polling's IOPS, where polling gives `poll_iops` and the best clean sleep `clean` times that.
    #[must_use]
    pub fn floor(&self, poll_iops: f64, clean: Option<f64>) -> f64 {
        match self.limits.min_iops {
            None => FLOOR * clean.map_or(1.0, |share| share.clamp(LEAST_CLEAN, 1.0)),
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
