//! The outcome of a reproduced experiment, shown beside the published figures.

use super::file::Experiment;
use q2c_engine::EngineSpec;
use q2c_model::{Bytes, Nanos};
use q2c_result::reproduce::{PhaseOutcome, PhaseTrial, ReproduceCell, ReproduceResult, SCHEMA};
use q2c_run::runner::Summary;
use q2c_stats::Interval;

/// The result of all trials that went well, whose foreground ran on `engine`.
#[must_use]
pub fn result(
    experiment: &Experiment,
    engine: &EngineSpec,
    summary: &Summary<Bytes, PhaseTrial>,
) -> ReproduceResult {
    let cells = summary.cells.iter().map(|runs| ReproduceCell {
        bs: runs.plan.cell,
        trials: runs.outcomes().cloned().collect(),
    });
    ReproduceResult {
        schema: SCHEMA.to_owned(),
        name: experiment.name.clone(),
        policy: experiment.policy.clone(),
        engine: engine.to_string(),
        phases: experiment.phases.iter().map(|p| p.label.clone()).collect(),
        cells: cells.collect(),
        published: experiment.published.claims.clone(),
    }
}

/// The result as text: one line per phase, and below them the published claims.
#[must_use]
pub fn table(
    experiment: &Experiment,
    engine: &EngineSpec,
    summary: &Summary<Bytes, PhaseTrial>,
) -> String {
    let mut lines = vec![format!(
        "{}: foreground hybrid:{} on {engine}",
        experiment.name, experiment.policy
    )];
    for cell in &summary.cells {
        let trials = cell.outcomes().count();
        if trials == 0 {
            lines.push(format!("\n{}: no trial was finished", cell.plan.label));
            continue;
        }
        let what = match trials {
            1 => "1 trial".to_owned(),
            n => format!("{n} trials: median [min, max]"),
        };
        lines.push(format!("\n{}, {what}", cell.plan.label));
        let head = format!(
            "  {:<28} {:>22} {:>24} {:>10} {:>10} {:>8} {:>20}",
            "phase", "miss rate %", "IOPS", "asked", "slept", "CPU %", "p50 / p99"
        );
        lines.push(head);
        for (n, phase) in experiment.phases.iter().enumerate() {
            let over =
                |value: fn(&PhaseOutcome) -> f64| cell.interval(|trial| value(&trial.phases[n]));
            let time =
                |value: fn(&PhaseOutcome) -> f64| Nanos(over(value).median as u64).to_string();
            let miss = range(over(|p| p.rates.miss_rate * 100.0), 1);
            let tail = format!("{} / {}", time(|p| p.p50_ns), time(|p| p.p99_ns));
            lines.push(format!(
                "  {:<28} {miss:>22} {:>24} {:>10} {:>10} {:>8.1} {tail:>20}",
                phase.label,
                range(over(|p| p.rates.iops), 0),
                time(|p| p.rates.effective_sleep_ns),
                time(|p| p.slept_ns),
                over(|p| p.rates.cpu_pct).median,
            ));
        }
    }
    lines.push(format!("\npublished ({}):", experiment.published.setting));
    lines.extend(
        experiment
            .published
            .claims
            .iter()
            .map(|claim| format!("  {claim}")),
    );
    lines.push("a machine other than the published one is not scored against it".to_owned());
    lines.join("\n")
}

/// The median with `[min, max]`, or the value alone of a single trial.
fn range(value: Interval, decimals: usize) -> String {
    let Interval {
        median,
        min,
        max,
        trials,
    } = value;
    match trials {
        1 => format!("{median:.decimals$}"),
        _ => format!("{median:.decimals$} [{min:.decimals$}, {max:.decimals$}]"),
    }
}
