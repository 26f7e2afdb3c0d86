//! What the simulator says of a method on polled recordings.

use q2c_model::{CostModel, CpuId, Nanos};
use q2c_policy::{LaneMethod, PolicySpec};
use q2c_sim::{Drive, Outcome, Recording, Waiting, simulate};

/// Rounds of a windowed rule's period that are dropped at the start.
const SETTLE_PERIODS: u64 = 2;
/// Least time dropped: feedback rules have no period and need some thousand I/Os.
const SETTLE_LEAST: Nanos = Nanos::from_millis(250);

/// How long a rule is given before anything counts, live and simulated alike.
#[must_use]
pub fn settling(policy: &PolicySpec) -> Nanos {
    let period = policy
        .params()
        .into_iter()
        .find(|(name, _)| *name == "period");
    let periods = period.map_or(0, |(_, ns)| ns as u64 * SETTLE_PERIODS);
    Nanos(periods.max(SETTLE_LEAST.0))
}

/// Simulates a method on polled recordings of lanes on these CPUs, `measure` long after it has
/// settled.
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
