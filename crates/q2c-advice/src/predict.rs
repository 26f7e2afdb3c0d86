//! Predicts the figures of a method: simulates it on polled recordings.

use q2c_model::{CostModel, CpuId, Nanos};
use q2c_policy::{LaneMethod, PolicySpec};
use q2c_sim::{Drive, LaneRecording, SimOutcome, Waiting, simulate};

const SETTLE_PERIODS: u64 = 2;
const SETTLE_LEAST: Nanos = Nanos::from_millis(250);

pub(crate) fn period_ns(policy: &PolicySpec) -> Option<f64> {
    let mut params = policy.params().into_iter();
    params.find(|(name, _)| *name == "period").map(|(_, ns)| ns)
}

/// How long a rule runs before its figures count, in live trials and in simulations alike.
#[must_use]
pub fn settling(policy: &PolicySpec) -> Nanos {
    let periods = period_ns(policy).map_or(0, |ns| ns as u64 * SETTLE_PERIODS);
    Nanos(periods.max(SETTLE_LEAST.0))
}

/// Simulates a method on polled recordings, one per lane, with the lanes on `cpus`, for the time
/// `measure` after the rule has settled.
#[must_use]
pub fn predict(
    method: &LaneMethod,
    lanes: &[LaneRecording],
    cpus: &[CpuId],
    cost: &CostModel,
    measure: Nanos,
    seed: u64,
) -> SimOutcome {
    let warm_up = method.policy().map_or(Nanos::ZERO, settling);
    let drive = Drive {
        warm_up,
        measure,
        seed,
    };
    simulate(lanes, cost, Waiting::Lanes(method.build_on(cpus)), drive)
}
