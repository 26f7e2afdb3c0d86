//! The goal of a recommendation: an objective, a floor of IOPS, and limits.

use crate::evidence::{TrialFigures, middle};
pub use q2c_result::tune::{FLOOR, SAVING, WORTH};
use q2c_sim::{Limits, MinIops, Objective};

/// What a recommended method should be best at, and which limits it has to keep.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Goal {
    /// The figure by which methods are compared.
    pub objective: Objective,
    /// The floor, and the bounds on latency and CPU.
    pub limits: Limits,
}

/// The most thread CPU with which a method has left it, percent: a share of polling's, which is
/// less than a CPU where the lanes think.
pub(crate) fn saving(thinks: bool, polled_pct: f64) -> f64 {
    if thinks {
        SAVING / 100.0 * polled_pct
    } else {
        SAVING
    }
}

impl Goal {
    /// The floor as a share of polling's IOPS, which are `poll_iops`.
    pub fn floor(&self, poll_iops: f64) -> f64 {
        match self.limits.min_iops {
            None => FLOOR,
            Some(MinIops::OfPolling(share)) => share,
            Some(MinIops::Iops(iops)) => iops / poll_iops,
        }
    }

    /// Whether the medians of the trials keep the bounds on p99 latency and thread CPU.
    pub(crate) fn other_limits_kept(&self, trials: &[TrialFigures]) -> bool {
        let within = |limit: Option<f64>, of: fn(&TrialFigures) -> f64| {
            limit.is_none_or(|most| middle(trials, of) <= most)
        };
        within(self.limits.max_p99_ns, |t| t.p99_ns)
            && within(self.limits.max_cpu_pct, |t| t.rates.cpu_pct)
    }
}
