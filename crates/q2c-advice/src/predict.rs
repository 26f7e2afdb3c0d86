//! Predicts the figures of a method: simulates it on polled recordings.

use q2c_model::{CostModel, CpuId, Nanos};
use q2c_policy::{LaneMethod, PolicySpec};
use q2c_sim::{Drive, Outcome, Recording, Waiting, simulate};

/// Periods of a windowed rule that are dropped at the start.
const SETTLE_PERIODS: u64 = 2;
/// Least time dropped. Feedback rules have no period and need some thousand I/Os.
const SETTLE_LEAST: Nanos = Nanos::from_millis(250);

/// Returns how long a rule runs before its figures count. Live trials and simulations use the same
/// time.
#[must_use]
pub fn settling(policy: &PolicySpec) -> Nanos {
    let period = policy
        .params()
        .into_iter()
        .find(|(name, _)| *name == "period");
    let periods = period.map_or(0, |(_, ns)| ns as u64 * SETTLE_PERIODS);
    Nanos(periods.max(SETTLE_LEAST.0))
}

/// Simulates a method on polled recordings, one per lane, with the lanes on `cpus`. The figures are
/// those of a time `measure` that begins after the rule has settled.
#[must_use]
pub fn predict(
    method: &LaneMethod,
    lanes: &[Recording],
    cpus: &[CpuId],
    cost: &CostModel,
    measure: Nanos,
    seed: u64,
) -> Outcome {
    let warm_up = method.policy().map_or(Nanos::ZERO, settling);
    let drive = Drive {
        warm_up,
        measure,
        seed,
    };
    simulate(lanes, cost, Waiting::Lanes(method.build_on(cpus)), drive)
}
