//! The figures of all trials.

use super::plan::RunTrial;
use super::polls::PollTrial;
use super::spec::{PlaceRunSettings, RunCell};
use crate::speed::SCATTER_OVER_BUNCH_PCT;
use crate::study::{COLOCATE_OVER_SPREAD_PCT, PROPOSED_OVER_FREE_PCT, PROPOSED_OVER_WORST_PCT};
use q2c_model::stats::{Interval, mean};
use q2c_model::{Bytes, Latencies};
use q2c_result::place::{Gain, PolicyName};
use q2c_result::place_run::{ClassRun, ComputeTask, PlacementGain, PlacementRun, PollFigures};
use q2c_run::runner::{CellRuns, Summary};
use std::collections::BTreeMap;

type Trials = Summary<RunCell, RunTrial>;

/// The placement that should be faster, the one that should be slower, and the published gain in %.
/// Bunch is the worst placement (`q2c place sim --published`).
const GAINS: [(PolicyName, PolicyName, Option<f64>); 5] = {
    use PolicyName::{Bunch, Colocate, Free, Proposed, Scatter, Spread};
    [
        (Scatter, Bunch, Some(SCATTER_OVER_BUNCH_PCT)),
        (Colocate, Spread, Some(COLOCATE_OVER_SPREAD_PCT)),
        (Scatter, Free, None),
        (Proposed, Free, Some(PROPOSED_OVER_FREE_PCT)),
        (Proposed, Bunch, Some(PROPOSED_OVER_WORST_PCT)),
    ]
};

/// The figures of each kind of C task.
pub fn classes(
    spec: &PlaceRunSettings,
    policies: &[PolicyName],
    bs: Option<Bytes>,
    trials: &Trials,
) -> Vec<ClassRun> {
    let class = |task: &ComputeTask| {
        let policy_slowdowns = |policy: &PolicyName| (*policy, slowdowns(trials, *policy, task));
        let slowdowns: Vec<_> = policies.iter().map(policy_slowdowns).collect();
        let figures = |(policy, slowdown): &(PolicyName, BTreeMap<u32, f64>)| {
            placement(trials, *policy, task, slowdown, bs)
        };
        ClassRun {
            task: task.clone(),
            placements: slowdowns.iter().map(figures).collect(),
            gains: gains(&slowdowns),
        }
    };
    spec.tasks().iter().map(class).collect()
}

/// The P task alone; `None` where that was not measured.
pub fn polling_alone(bs: Option<Bytes>, trials: &Trials) -> Option<PollFigures> {
    poll_figures(find_cell(trials, &RunCell::PollingAlone)?, bs?)
}

fn find_cell<'a>(trials: &'a Trials, wanted: &RunCell) -> Option<&'a CellRuns<RunCell, RunTrial>> {
    trials.cells.iter().find(|runs| runs.plan.cell == *wanted)
}

fn outcomes<'a>(trials: &'a Trials, wanted: &RunCell) -> BTreeMap<u32, &'a RunTrial> {
    let runs = find_cell(trials, wanted).into_iter();
    let trials = runs.flat_map(|runs| &runs.trials);
    let outcomes = trials.filter_map(|trial| Some((trial.trial, trial.result.ok()?)));
    outcomes.collect()
}

fn slowdowns(trials: &Trials, policy: PolicyName, task: &ComputeTask) -> BTreeMap<u32, f64> {
    let alone = outcomes(trials, &RunCell::ComputeAlone(task.clone()));
    let placed = outcomes(trials, &RunCell::Placed(policy, task.clone()));
    let ratio = |(round, trial): (u32, &RunTrial)| {
        let alone = mean(&alone.get(&round)?.compute_s);
        Some((round, mean(&trial.compute_s) / alone))
    };
    placed.into_iter().filter_map(ratio).collect()
}

fn placement(
    trials: &Trials,
    policy: PolicyName,
    task: &ComputeTask,
    slowdown: &BTreeMap<u32, f64>,
    bs: Option<Bytes>,
) -> PlacementRun {
    let runs = find_cell(trials, &RunCell::Placed(policy, task.clone()));
    let outcomes = runs.into_iter().flat_map(CellRuns::outcomes);
    let moves = outcomes.filter_map(|trial| trial.moves.map(f64::from));
    let moves: Vec<f64> = moves.collect();
    let failures = runs.into_iter().flat_map(CellRuns::failures);
    PlacementRun {
        policy,
        c_slowdown: interval(slowdown.values().copied()),
        polls: runs.and_then(|runs| poll_figures(runs, bs?)),
        moves: (!moves.is_empty()).then(|| Interval::from_samples(&moves)),
        failures: failures.map(str::to_owned).collect(),
    }
}

fn poll_figures(runs: &CellRuns<RunCell, RunTrial>, bs: Bytes) -> Option<PollFigures> {
    let trials: Vec<PollTrial> = runs.outcomes().filter_map(|trial| trial.polls).collect();
    if trials.is_empty() {
        return None;
    }
    let interval_of = |get: fn(&PollTrial) -> f64| interval(trials.iter().map(get));
    Some(PollFigures {
        iops: interval_of(|trial| trial.iops),
        bytes_per_s: interval(trials.iter().map(|trial| trial.iops * bs.0 as f64)),
        latency: Latencies {
            mean_ns: interval_of(|trial| trial.latency.mean_ns),
            p50_ns: interval_of(|trial| trial.latency.p50_ns),
            p99_ns: interval_of(|trial| trial.latency.p99_ns),
            p999_ns: interval_of(|trial| trial.latency.p999_ns),
        },
    })
}

fn gains(slowdowns: &[(PolicyName, BTreeMap<u32, f64>)]) -> Vec<PlacementGain> {
    let slowdowns_of = |policy| Some(&slowdowns.iter().find(|(name, _)| *name == policy)?.1);
    let gain = |(faster, slower, published_pct): (PolicyName, PolicyName, Option<f64>)| {
        let (fast, slow) = (slowdowns_of(faster)?, slowdowns_of(slower)?);
        let gain = |(round, time): (&u32, &f64)| Some(Gain::from_times(*slow.get(round)?, *time));
        let paired: Vec<Gain> = fast.iter().filter_map(gain).collect();
        (!paired.is_empty()).then(|| PlacementGain {
            of: faster,
            over: slower,
            t_over_t_minus_1_pct: interval(paired.iter().map(|gain| gain.t_over_t_minus_1)),
            one_minus_pct: interval(paired.iter().map(|gain| gain.one_minus)),
            published_pct,
        })
    };
    GAINS.into_iter().filter_map(gain).collect()
}

fn interval(values: impl Iterator<Item = f64>) -> Interval {
    Interval::from_samples(&values.collect::<Vec<f64>>())
}
