//! What the simulator says of a cell.

use super::method::CellMethod;
use q2c_model::{CostModel, CpuId, Nanos};
use q2c_policy::PolicySpec;
use q2c_result::tune::Prediction;
use q2c_sim::{Drive, Method, Outcome, Recording, simulate};

/// Rounds of a windowed rule's period that are dropped at the start.
const SETTLE_PERIODS: u64 = 2;
/// Least time dropped: feedback rules have no period and need some thousand I/Os.
const SETTLE_LEAST: Nanos = Nanos::from_millis(250);

/// How long a rule is given before anything counts, live and simulated alike.
pub(crate) fn settling(policy: &PolicySpec) -> Nanos {
    let period = policy
        .params()
        .into_iter()
        .find(|(name, _)| *name == "period");
    let periods = period.map_or(0, |(_, ns)| ns as u64 * SETTLE_PERIODS);
    Nanos(periods.max(SETTLE_LEAST.0))
}

/// Simulates a cell's method on polled recordings of lanes on these CPUs. `None` for classic polling, the recording is that already,
/// and for the kernel's own sleep.
pub(super) fn predict(
    method: &CellMethod,
    lanes: &[Recording],
    cpus: &[CpuId],
    cost: &CostModel,
    measure: Nanos,
    seed: u64,
) -> Option<Prediction> {
    let (method, warm_up) = match method {
        // The costs of its calls are not calibrated.
        CellMethod::Poll | CellMethod::Kernel(_) => return None,
        CellMethod::Interrupt => (Method::Interrupt, Nanos::ZERO),
        CellMethod::Hybrid(policy) => (Method::Hybrid(policy.build_on(cpus)), settling(policy)),
    };
    Some(prediction(&simulate(
        lanes,
        cost,
        method,
        Drive {
            warm_up,
            measure,
            seed,
        },
    )))
}

/// The simulator's outcome as results have it.
pub(super) fn prediction(outcome: &Outcome) -> Prediction {
    Prediction {
        iops: outcome.iops,
        cpu_pct: outcome.cpu_pct,
        miss_rate: outcome.miss_rate,
        effective_sleep_ns: outcome.effective_sleep_ns,
        kiops_per_core: outcome.kiops_per_core,
        p99_ns: outcome.p99_ns,
    }
}
