//! The sweep over the first recording, and the choice.

use super::Tune;
use super::predict::prediction;
use q2c_model::{CostModel, Nanos};
use q2c_policy::PolicySpec;
use q2c_result::tune::{Calibration, Sweep, SweepCell};
use q2c_sim::{
    Arrival, Choice, Configuration, Drive, Grid, Limits, Method, Objective, Outcome, Recording,
    choose, pareto_front, simulate, sweep,
};
use std::time::Instant;

/// Simulated time that is dropped: two of the longest periods in the grid.
const WARM_UP: Nanos = Nanos::from_millis(400);
/// Simulated time that counts.
const MEASURE: Nanos = Nanos::from_millis(2_000);

/// One block size's sweep, choice and latency levels.
pub(super) struct Searched {
    pub sweep: Sweep,
    pub choice: Choice,
    /// The chosen rule; `None` when there is no room to sleep or nothing keeps the limits.
    pub chosen: Option<PolicySpec>,
    /// Whether no rule above the standard floor would pay for its own sleeps, whatever the user's limits.
    pub no_room: bool,
    /// Quantiles of the recorded latency (submission's return to reaping), ns.
    pub wait_p10: f64,
    pub wait_p50: f64,
}

/// Rules that do not follow the device (io_uring's estimate never rises again) are shown and not chosen.
const NOT_CHOSEN: [&str; 2] = ["fixed", "uring"];

fn follows_the_device(policy: &PolicySpec) -> bool {
    // A formula that reads no statistic is a fixed sleep.
    let reads = policy.formula().map(|formula| formula.statistics());
    !NOT_CHOSEN.contains(&policy.rule().name) && reads.is_none_or(|all| !all.is_empty())
}

/// A sleep that gains less than this over polling, in KIOPS/core, is not worth it.
const WORTH: f64 = 1.02;

pub(super) fn search(tune: &Tune<'_>, calibration: &Calibration, lanes: &[Recording]) -> Searched {
    let begun = Instant::now();
    let cost = &calibration.cost;
    let drive = Drive {
        warm_up: WARM_UP,
        measure: MEASURE,
        seed: tune.spec.seed,
    };
    let waits: Vec<f64> = lanes
        .iter()
        .flat_map(|lane| lane.wait.iter().map(|&w| f64::from(w)))
        .collect();
    let waits = q2c_stats::sorted(&waits);
    let (wait_p10, wait_p50) = (
        q2c_stats::percentile(&waits, 0.1),
        q2c_stats::percentile(&waits, 0.5),
    );
    let mut grid = Grid::standard(Nanos(wait_p50 as u64));
    grid.policies.extend(tune.spec.rules());
    let cells = sweep(
        &grid,
        &Configuration {
            lanes,
            cost,
            drive,
            arrival: Arrival::Think,
        },
    );
    let outcomes: Vec<Outcome> = cells.iter().map(|cell| cell.outcome).collect();
    let poll = simulate(lanes, cost, Method::Poll, drive);
    let oracle = simulate(lanes, cost, Method::Oracle, drive);
    let eligible: Vec<bool> = cells
        .iter()
        .map(|cell| follows_the_device(&cell.policy))
        .collect();
    let choice = choose(
        &outcomes,
        &eligible,
        &poll,
        tune.spec.objective(),
        &tune.spec.limits(),
    );
    let pays = |&i: &usize| outcomes[i].kiops_per_core > poll.kiops_per_core * WORTH;
    let best = choice.best.filter(pays);
    // By the objective that asks most of a sleep: when not even its winner pays, none above the floor does.
    let unlimited = choose(
        &outcomes,
        &eligible,
        &poll,
        Objective::KiopsPerCore,
        &Limits::default(),
    );
    let points: Vec<(f64, f64)> = outcomes.iter().map(|o| (o.iops, o.cpu_pct)).collect();
    let sweep = Sweep {
        bs: calibration.bs,
        ios: waits.len() as u64,
        seconds: begun.elapsed().as_secs_f64(),
        pareto: pareto_front(&points),
        best: choice.best,
        oracle: prediction(&oracle),
        poll: prediction(&poll),
        floor: choice.floor.clone(),
        floor_iops: choice.floor_iops,
        cells: cells.iter().map(sweep_cell).collect(),
    };
    Searched {
        chosen: best.map(|i| cells[i].policy.clone()),
        no_room: unlimited.best.filter(pays).is_none(),
        sweep,
        choice,
        wait_p10,
        wait_p50,
    }
}

fn sweep_cell(cell: &q2c_sim::SweepCell) -> SweepCell {
    SweepCell {
        rule: cell.policy.rule().name.to_owned(),
        policy: cell.policy.to_string(),
        params: cell
            .policy
            .params()
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect(),
        gives: prediction(&cell.outcome),
    }
}

/// The fixed sleep whose typical wake-up comes `wake_ns` after the submission; at least 1 us.
pub(super) fn sleep_waking_at(cost: &CostModel, wake_ns: f64) -> Nanos {
    // The delay depends on the sleep, not always steadily: the longest sleep that does not overshoot is taken.
    let wake = |us: u64| (us * 1000) as f64 + cost.wake_clear.base_ns.at((us * 1000) as f64);
    let longest = (1..=(wake_ns / 1e3) as u64)
        .rev()
        .find(|&us| wake(us) <= wake_ns);
    Nanos::from_micros(longest.unwrap_or(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_formula_without_a_statistic_is_a_fixed_sleep() {
        for (policy, may) in [
            ("mean", true),
            ("fixed:20us", false),
            ("uring", false),
            ("rule:20us", false),
            ("rule:min - 20us", true),
        ] {
            let policy: PolicySpec = policy.parse().expect(policy);
            assert_eq!(follows_the_device(&policy), may, "{policy}");
        }
    }
}
