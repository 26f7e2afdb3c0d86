//! Compares devices by the trials of a replay: which one serves the trace better, by which metric,
//! and whether the trials can tell.

use super::answer::{RunStart, busy_warning, trial_warnings};
use super::trial::median_trial;
use super::verdict::{different_work, reads_only, verdict};
use super::{ReplayTrials, TargetSet, Variant};
use indexmap::IndexMap;
use itertools::Itertools;
use q2c_host::target::never_written;
use q2c_model::stats::{Interval, Ratio, ratio_of_medians};
use q2c_result::compare::{
    CompareFinding, CompareMetric, CompareResult, Comparison, DeviceRun, NotCaptured, Overall,
    Profile, SCHEMA, Separation,
};
use q2c_result::replay::ReplayTrial;
use q2c_result::{Provenance, Warning};
use q2c_run::runner::End;
use std::cmp::Ordering;

/// The largest difference of medians, as a share, that counts as equal even with narrow intervals.
const EQUAL_SHARE: f64 = 0.01;

/// A variant of a comparison with the facts of its run.
pub struct ComparedVariant<'a> {
    /// How the trace is replayed, and where it comes from.
    pub start: RunStart,
    /// The trace in its mode on all sites. Each site has one target; the first one is the base.
    pub variant: &'a Variant<'a>,
    /// The replay that supplied the trace's missing completions; `None` if none was needed.
    pub profile: Option<Profile>,
}

/// The result of all variants. `not_captured` is the reason why nothing was captured, if so.
pub fn compare(
    variants: &[ComparedVariant<'_>],
    run: &ReplayTrials,
    not_captured: Option<&NotCaptured>,
    provenance: Provenance,
) -> CompareResult {
    let comparisons = variants.iter().map(|v| comparison(v, run, not_captured));
    let comparisons: Vec<Comparison> = comparisons.collect();
    let start = variants.first().map(|compared| &compared.start);
    let busy = start.and_then(|start| busy_warning(&start.command));
    let mut warnings: Vec<Warning> = busy.into_iter().collect();
    let sites = variants.iter().take(1).flat_map(|one| &one.variant.sites);
    warnings.extend(sites.flat_map(|site| &site.facts).filter_map(never_written));
    warnings.extend(merge_warnings(shown_warnings(variants, &comparisons)));
    warnings.extend(run.left_out_warnings());
    CompareResult {
        schema: SCHEMA.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        provenance,
        complete: run.partial.is_none() && matches!(run.summary.end, End::Complete),
        machine: start.map_or_else(Default::default, |start| start.machine.clone()),
        overall: overall(&comparisons),
        comparisons,
        warnings,
    }
}

fn shown_warnings(
    variants: &[ComparedVariant<'_>],
    comparisons: &[Comparison],
) -> Vec<(String, Vec<Warning>)> {
    let mut by_cell = Vec::new();
    for (ComparedVariant { variant, .. }, comparison) in variants.iter().zip(comparisons) {
        for (site, run) in variant.sites.iter().zip(&comparison.devices) {
            let warnings = |trial| (variant.key(site), trial_warnings(variant.facts, trial));
            by_cell.extend(run.shown.as_ref().map(warnings));
        }
    }
    by_cell
}

/// Merges warnings of one kind. A finding that not all trials share gets their names.
fn merge_warnings(trials: Vec<(String, Vec<Warning>)>) -> Vec<Warning> {
    let trial_count = trials.len();
    // Each kind of warning with its findings, and each finding with its trials.
    let mut kinds: IndexMap<[String; 3], IndexMap<String, Vec<String>>> = IndexMap::new();
    for (key, warnings) in trials {
        for Warning {
            id,
            found,
            means,
            todo,
        } in warnings
        {
            let findings = kinds.entry([id, means, todo]).or_default();
            findings.entry(found).or_default().push(key.clone());
        }
    }
    let text = |(found, keys): (String, Vec<String>)| {
        if keys.len() == trial_count {
            return found;
        }
        format!("{}: {found}", keys.join(" and "))
    };
    let merged = |([id, means, todo], findings): ([String; 3], IndexMap<_, _>)| Warning {
        id,
        found: findings.into_iter().map(text).join("; "),
        means,
        todo,
    };
    kinds.into_iter().map(merged).collect()
}

fn comparison(
    compared: &ComparedVariant<'_>,
    run: &ReplayTrials,
    not_captured: Option<&NotCaptured>,
) -> Comparison {
    let (start, variant) = (&compared.start, compared.variant);
    let sites = variant.sites.iter();
    let runs: Vec<DeviceRun> = sites.map(|site| device_run(variant, site, run)).collect();
    let all_have_q2c = runs.iter().all(|run| run.sum_q2c_s.is_some());
    let sum = if all_have_q2c {
        CompareMetric::SumQ2c
    } else {
        CompareMetric::SumU2c
    };
    let separations = separations(&runs, sum, start.job.seed);
    let facts = variant.facts;
    let findings = verdict(&start.job, facts, &runs, &separations, sum, not_captured);
    let reads_only = reads_only(&start.job, &runs, compared.profile.as_ref());
    Comparison {
        job: start.job.clone(),
        trace: start.trace(facts),
        profile: compared.profile.clone(),
        devices: runs.into_iter().map(without_curves).collect(),
        sum,
        separations,
        verdict: reads_only.into_iter().chain(findings).collect(),
    }
}

/// Counts for each device how it compared with the first; empty for a single comparison.
fn overall(comparisons: &[Comparison]) -> Vec<Overall> {
    let [first, _, ..] = comparisons else {
        return Vec::new();
    };
    let Some((base, others)) = first.devices.split_first() else {
        return Vec::new();
    };
    let overall_of = |(n, run): (usize, &DeviceRun)| {
        let mut overall = Overall {
            device: run.target.path.clone(),
            with: base.target.path.clone(),
            ..Overall::default()
        };
        for comparison in comparisons {
            let reads = |f: &CompareFinding| matches!(f, CompareFinding::ReadsOnly { .. });
            overall.by_u2c += u32::from(comparison.sum == CompareMetric::SumU2c);
            overall.reads_only += u32::from(comparison.verdict.iter().any(reads));
            match sum_order(comparison, n + 1) {
                Some(Ordering::Less) => overall.better += 1,
                Some(Ordering::Greater) => overall.worse += 1,
                Some(Ordering::Equal) => overall.alike += 1,
                None => overall.unknown += 1,
            }
        }
        overall
    };
    others.iter().enumerate().map(overall_of).collect()
}

/// How the sum of device number `n` compares with the first device's; `None` without an answer.
fn sum_order(comparison: &Comparison, n: usize) -> Option<Ordering> {
    let (run, first) = (comparison.devices.get(n)?, comparison.devices.first()?);
    // Each device after the first has two entries: by its sum, then by its time.
    let by_sum = comparison.separations.get(2 * (n - 1))?;
    let ratio = by_sum.ratio?.ratio;
    let same_work = different_work(run, first).is_none();
    let order = by_sum.separates.then(|| ratio.total_cmp(&1.0));
    same_work.then_some(order.unwrap_or(Ordering::Equal))
}

fn device_run(variant: &Variant<'_>, site: &TargetSet, run: &ReplayTrials) -> DeviceRun {
    let (trials, failures) = run.cell_outcomes(&variant.key(site));
    let valid: Vec<&ReplayTrial> = trials.iter().filter(|trial| trial.valid).collect();
    let interval = |number: fn(&ReplayTrial) -> f64| {
        let numbers: Vec<f64> = valid.iter().map(|trial| number(trial)).collect();
        Interval::from_samples(&numbers)
    };
    let q2c: Option<Vec<f64>> = valid.iter().map(|trial| trial.sum_q2c_s).collect();
    let q2c = q2c.filter(|sums| !sums.is_empty());
    let saturated = valid.iter().filter(|trial| trial.saturated).count();
    let shown = median_trial(&trials, |trial| trial.sum_q2c_s.unwrap_or(trial.sum_u2c_s));
    DeviceRun {
        target: site.facts.first().cloned().unwrap_or_default(),
        completion_s: interval(|trial| trial.completion_s),
        sum_u2c_s: interval(|trial| trial.sum_u2c_s),
        sum_u2c_intended_s: interval(|trial| trial.sum_u2c_intended_s),
        sum_q2c_s: q2c.map(|sums| Interval::from_samples(&sums)),
        saturated: 2 * saturated > valid.len(),
        shown: shown.filter(|trial| trial.valid).cloned(),
        trials,
        failures,
    }
}

/// Drops the windows and curves of all trials, because only the shown trial keeps them.
fn without_curves(mut run: DeviceRun) -> DeviceRun {
    for trial in &mut run.trials {
        trial.windows.clear();
        let spreads = [&mut trial.u2c_ns, &mut trial.u2c_intended_ns];
        for spread in spreads.into_iter().chain(&mut trial.q2c_ns) {
            spread.curve.clear();
        }
    }
    run
}

fn metric_values(run: &DeviceRun, metric: CompareMetric) -> Vec<f64> {
    let valid = run.trials.iter().filter(|trial| trial.valid);
    let value = |trial: &ReplayTrial| match metric {
        CompareMetric::CompletionTime => Some(trial.completion_s),
        CompareMetric::SumQ2c => trial.sum_q2c_s,
        CompareMetric::SumU2c => Some(trial.sum_u2c_s),
    };
    valid.filter_map(value).collect()
}

fn separations(runs: &[DeviceRun], sum: CompareMetric, seed: u64) -> Vec<Separation> {
    let Some((first, others)) = runs.split_first() else {
        return Vec::new();
    };
    let mut separations = Vec::new();
    for run in others {
        for metric in [sum, CompareMetric::CompletionTime] {
            let (a, b) = (metric_values(run, metric), metric_values(first, metric));
            let enough_trials = a.len() > 1 && b.len() > 1;
            let ratio = ratio_of_medians(&a, &b, seed).filter(|_| enough_trials);
            let differs = |r: Ratio| r.low > 1.0 + EQUAL_SHARE || r.high < 1.0 - EQUAL_SHARE;
            let separates = ratio.is_some_and(differs) && different_work(run, first).is_none();
            separations.push(Separation {
                device: run.target.path.clone(),
                with: first.target.path.clone(),
                metric,
                ratio,
                separates,
            });
        }
    }
    separations
}

#[cfg(test)]
mod tests;
