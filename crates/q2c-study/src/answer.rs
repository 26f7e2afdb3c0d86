//! The answers of a sweep: the best policy of each trace and over all traces.

use super::notes::notes;
use super::source::SimTrace;
use super::sweep::{Study, nothing_counted};
use q2c_model::{CostModel, Fault, SimulatedFigures};
use q2c_policy::PolicySpec;
use q2c_result::sweep::{BestRule, Neighbour, SweepAnswer};
use q2c_sim::answers::{GridNeighbour, Stability, robust, sensitivity, stability};
use q2c_sim::{Bounds, Choice, Objective, SimOutcome};
use q2c_sim::{best_cell, choose, nearest_cell, pareto_front_of, score, scores};

pub(super) struct SweepAnswers {
    pub answers: Vec<SweepAnswer>,
    /// By trace and policy: the score over the trace's best; `None` if not eligible.
    pub shares: Vec<Vec<Option<f64>>>,
    pub best: Option<BestRule>,
    pub best_worst_case: Option<BestRule>,
    pub oracle: SimulatedFigures,
}

pub(super) fn answer_sweep(
    study: &Study<'_>,
    outcomes: &[Vec<SimOutcome>],
    bounds: &[Bounds],
) -> Result<SweepAnswers, Fault> {
    let mut answers = Vec::new();
    let mut choices = Vec::new();
    for (input, (cells, bounds)) in outcomes.iter().zip(bounds).enumerate() {
        let (answer, choice) = answer_trace(study, input, cells, bounds)?;
        answers.push(answer);
        choices.push(choice);
    }
    let eligible = eligible(study);
    let trace_scores = |(cells, choice): (&Vec<SimOutcome>, &Choice)| {
        let (objective, limits) = (study.objective, &study.limits);
        scores(cells, &eligible, objective, limits, choice.floor_iops)
    };
    let scores: Vec<_> = outcomes.iter().zip(&choices).map(trace_scores).collect();
    let (best, best_worst_case) = match choices.as_slice() {
        [only] => (only.best.map(|c| best_policy(study, c, 1.0)), None),
        _ => best_overall(study, &scores),
    };
    let oracles: Vec<SimulatedFigures> = answers.iter().map(|answer| answer.oracle).collect();
    Ok(SweepAnswers {
        oracle: SimulatedFigures::mean(&oracles),
        answers,
        shares: scores.into_iter().map(shares).collect(),
        best,
        best_worst_case,
    })
}

fn best_policy(study: &Study<'_>, configuration: usize, share: f64) -> BestRule {
    let all_cells = configuration..study.cells();
    BestRule {
        policy: study.policies[configuration].to_string(),
        cells: all_cells.step_by(study.policies.len()).collect(),
        share,
    }
}

fn shares(scores: Vec<Option<f64>>) -> Vec<Option<f64>> {
    let max = scores.iter().flatten().copied().fold(0.0, f64::max);
    let share = |score: Option<f64>| Some(score? / max);
    scores.into_iter().map(share).collect()
}

fn best_overall(
    study: &Study<'_>,
    scores: &[Vec<Option<f64>>],
) -> (Option<BestRule>, Option<BestRule>) {
    let Some(winners) = robust(scores) else {
        return (None, None);
    };
    let best = |(configuration, share)| Some(best_policy(study, configuration, share));
    (best(winners.on_average), best(winners.worst_case))
}

fn answer_trace(
    study: &Study<'_>,
    input: usize,
    cells: &[SimOutcome],
    bounds: &Bounds,
) -> Result<(SweepAnswer, Choice), Fault> {
    let trace = &study.traces[input];
    let Bounds { poll, oracle } = *bounds;
    if poll.ios == 0 {
        return Err(nothing_counted(&trace.input.path));
    }
    let linux = study.simulate_linux(trace);
    let eligible = eligible(study);
    let choice = choose(cells, &eligible, &poll, study.objective, &study.limits);
    let offset = input * study.policies.len();
    let best = choice.best;
    // A rule that never slept is classic polling under another name.
    let linux_slept = linux.gives.rates.effective_sleep_ns > 0.0;
    let best_by = |objective| best_cell(cells, &eligible, objective).map(|i| offset + i);
    let near = nearest_cell(cells, &eligible, &study.limits, choice.floor_iops).map(|i| offset + i);
    let note = best.map(|b| stability_note(study, trace, &study.policies[b]));
    let over_linux = |b: usize| cells[b].gives.kiops_per_core / linux.gives.kiops_per_core;
    let saved = |method: &SimOutcome| poll.gives.cpu_ns_per_io - method.gives.cpu_ns_per_io;
    let oracle_saved = saved(&oracle);
    let best_over_linux = best.filter(|_| linux_slept).map(over_linux);
    let pareto = pareto_front_of(cells).into_iter();
    let interrupts = study.configuration_on(trace).interrupts();
    let answer = SweepAnswer {
        input,
        poll: poll.gives,
        linux: linux.gives,
        oracle: oracle.gives,
        interrupt: interrupts.map(|outcome| outcome.gives),
        best: best.map(|b| offset + b),
        most_kiops_per_core: best_by(Objective::KiopsPerCore),
        most_iops: best_by(Objective::Iops),
        nearest: near.filter(|_| best.is_none()),
        floor: choice.floor.clone(),
        floor_iops: choice.floor_iops,
        of_oracle: best
            .filter(|_| oracle_saved > 0.0)
            .map(|b| saved(&cells[b]) / oracle_saved),
        of_linux: best_over_linux.filter(|over| over.is_finite()),
        pareto: pareto.map(|i| offset + i).collect(),
        neighbours: best.map_or_else(Vec::new, |b| neighbours(study, cells, b, &choice)),
        stability: note.unwrap_or_default(),
        notes: notes(study, trace, cells),
    };
    Ok((answer, choice))
}

pub(super) fn takes_free_interrupts(cost: &CostModel, policy: &PolicySpec) -> bool {
    cost.interrupt_cpu_ns <= 0.0 && policy.rule().interrupts
}

pub(super) fn eligible(study: &Study<'_>) -> Vec<bool> {
    eligible_policies(study.policies, study.cost)
}

/// Policies that do not follow the device may be chosen only if no policy follows it.
pub(super) fn eligible_policies(policies: &[PolicySpec], cost: &CostModel) -> Vec<bool> {
    let any = policies.iter().any(PolicySpec::follows_the_device);
    let may = |p: &PolicySpec| (!any || p.follows_the_device()) && !takes_free_interrupts(cost, p);
    policies.iter().map(may).collect()
}

fn neighbours(
    study: &Study<'_>,
    cells: &[SimOutcome],
    best: usize,
    choice: &Choice,
) -> Vec<Neighbour> {
    let score = |i: usize| score(&cells[i], study.objective);
    let neighbour = |n: GridNeighbour| Neighbour {
        param: n.param.to_owned(),
        policy: study.policies[n.cell].to_string(),
        share: n.share,
        keeps_limits: study.limits.allow(&cells[n.cell], choice.floor_iops),
    };
    let neighbours = sensitivity(study.policies, best, score);
    neighbours.into_iter().map(neighbour).collect()
}

pub(super) fn param_value(policy: &PolicySpec, name: &str) -> Option<f64> {
    let mut params = policy.params().into_iter();
    params.find(|(key, _)| *key == name).map(|(_, value)| value)
}

/// A remark if a rule that sleeps a share (`ratio`) may not recover after a window in which every
/// I/O overslept, judged by the 10th percentile of the latencies; else empty.
pub(super) fn stability_note(study: &Study<'_>, trace: &SimTrace, policy: &PolicySpec) -> String {
    let Some(ratio) = param_value(policy, "ratio") else {
        return String::new();
    };
    let [_, p10, ..] = trace.input.latency_ns;
    let delay = study.cost.wake_clear.base_ns.value_at(p10 * ratio);
    let bound = "the wake-up delay / (1 - ratio) is";
    match stability(ratio, delay, p10) {
        Stability::Safe => String::new(),
        Stability::Near { share } => format!(
            "{policy} is near its bound: {bound} {:.0} % of the latency's 10th percentile; a device a little faster and \
             oversleep lasts",
            share * 100.0
        ),
        Stability::Permanent { share } if share.is_finite() => format!(
            "{policy} does not come back once every I/O of a window overslept: {bound} {share:.1} times the latency's 10th \
             percentile"
        ),
        Stability::Permanent { .. } => {
            format!(
                "{policy} never comes back: a ratio of 100 % or more feeds on its own oversleep and grows with every window"
            )
        }
    }
}
