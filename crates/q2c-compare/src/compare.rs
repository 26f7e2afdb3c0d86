//! Compares devices by the trials of a replay: which one serves the trace better, by which metric,
//! and whether the trials can tell.

use super::answer::{RunStart, busy_at_rest, of_trial};
use super::trial::median;
use super::verdict::{different_work, reads_only, verdict};
use super::{ReplaySite, ReplayTrials, Variant};
use indexmap::IndexMap;
use itertools::Itertools;
use q2c_host::machine;
use q2c_host::target::never_written;
use q2c_model::stats::{Interval, Ratio, ratio_of_medians};
use q2c_result::Warning;
use q2c_result::compare::{
    CompareFinding, CompareMetric, CompareResult, Comparison, DeviceRun, NotCaptured, Overall,
    Profile, SCHEMA, Separation,
};
use q2c_result::replay::ReplayTrial;
use q2c_run::runner::End;
use std::cmp::Ordering;

/// The largest difference of medians, as a share, that counts as equal even with narrow intervals.
const SAME: f64 = 0.01;

/// A variant of a comparison with the facts of its run.
pub struct Compared<'a> {
    /// How the trace is replayed, and where it comes from.
    pub start: RunStart,
    /// The trace in its mode on all sites. Each site has one target; the first one is the base.
    pub variant: &'a Variant<'a>,
    /// The replay that supplied the trace's missing completions; `None` if none was needed.
    pub profile: Option<Profile>,
}

/// The result of all variants. `not_captured` is the reason why nothing was captured, if so.
pub fn compare(
    all: &[Compared<'_>],
    ran: &ReplayTrials,
    not_captured: Option<&NotCaptured>,
) -> CompareResult {
    let comparisons = all.iter().map(|one| comparison(one, ran, not_captured));
    let comparisons: Vec<Comparison> = comparisons.collect();
    let start = all.first().map(|compared| &compared.start);
    let busy = start.and_then(|start| busy_at_rest(&start.begin));
    let mut warned: Vec<Warning> = busy.into_iter().collect();
    let sites = all.iter().take(1).flat_map(|one| &one.variant.sites);
    warned.extend(sites.flat_map(|site| &site.facts).filter_map(never_written));
    warned.extend(merge_warnings(of_shown(all, &comparisons)));
    warned.extend(ran.left_out());
    CompareResult {
        schema: SCHEMA.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        started_unix_s: start.map_or(0, RunStart::started_unix_s),
        seconds: start.map_or(0.0, RunStart::seconds),
        complete: ran.partial.is_none() && matches!(ran.summary.end, End::Complete),
        machine: start.map_or_else(Default::default, |start| machine::read(&start.roots)),
        overall: overall(&comparisons),
        comparisons,
        warnings: warned,
    }
}

fn of_shown(all: &[Compared<'_>], comparisons: &[Comparison]) -> Vec<(String, Vec<Warning>)> {
    let mut warnings = Vec::new();
    for (Compared { variant, .. }, comparison) in all.iter().zip(comparisons) {
        for (site, run) in variant.sites.iter().zip(&comparison.devices) {
            let of_trial = run.shown.as_ref().map(|of| of_trial(variant.facts, of));
            warnings.extend(of_trial.map(|warnings| (variant.key(site), warnings)));
        }
    }
    warnings
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
    let worded = |([id, means, todo], findings): ([String; 3], IndexMap<_, _>)| Warning {
        id,
        found: findings.into_iter().map(text).join("; "),
        means,
        todo,
    };
    kinds.into_iter().map(worded).collect()
}

fn comparison(
    compared: &Compared<'_>,
    ran: &ReplayTrials,
    not_captured: Option<&NotCaptured>,
) -> Comparison {
    let (start, variant) = (&compared.start, compared.variant);
    let sites = variant.sites.iter();
    let runs: Vec<DeviceRun> = sites.map(|site| device(variant, site, ran)).collect();
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
        devices: runs.into_iter().map(slim).collect(),
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
    let Some((with, others)) = first.devices.split_first() else {
        return Vec::new();
    };
    let count = |(at, run): (usize, &DeviceRun)| {
        let mut over = Overall {
            device: run.target.path.clone(),
            with: with.target.path.clone(),
            ..Overall::default()
        };
        for comparison in comparisons {
            let reads = |f: &CompareFinding| matches!(f, CompareFinding::ReadsOnly { .. });
            over.by_u2c += u32::from(comparison.sum == CompareMetric::SumU2c);
            over.reads_only += u32::from(comparison.verdict.iter().any(reads));
            match answer(comparison, at + 1) {
                Some(Ordering::Less) => over.better += 1,
                Some(Ordering::Greater) => over.worse += 1,
                Some(Ordering::Equal) => over.alike += 1,
                None => over.unknown += 1,
            }
        }
        over
    };
    others.iter().enumerate().map(count).collect()
}

/// How the sum of device number `at` compares with the first device's; `None` without an answer.
fn answer(comparison: &Comparison, at: usize) -> Option<Ordering> {
    let (run, first) = (comparison.devices.get(at)?, comparison.devices.first()?);
    // Each device after the first has two entries: by its sum, then by its time.
    let by_sum = comparison.separations.get(2 * (at - 1))?;
    let ratio = by_sum.ratio?.ratio;
    let same_work = different_work(run, first).is_none();
    let sure = by_sum.separates.then(|| ratio.total_cmp(&1.0));
    same_work.then_some(sure.unwrap_or(Ordering::Equal))
}

fn device(variant: &Variant<'_>, site: &ReplaySite, ran: &ReplayTrials) -> DeviceRun {
    let (trials, failures) = ran.cell_outcomes(&variant.key(site));
    let valid: Vec<&ReplayTrial> = trials.iter().filter(|trial| trial.valid).collect();
    let interval = |number: fn(&ReplayTrial) -> f64| {
        let numbers: Vec<f64> = valid.iter().map(|trial| number(trial)).collect();
        Interval::from_samples(&numbers)
    };
    let q2c: Option<Vec<f64>> = valid.iter().map(|trial| trial.sum_q2c_s).collect();
    let q2c = q2c.filter(|sums| !sums.is_empty());
    let saturated = valid.iter().filter(|trial| trial.saturated).count();
    let shown = median(&trials, |trial| trial.sum_q2c_s.unwrap_or(trial.sum_u2c_s));
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
fn slim(mut run: DeviceRun) -> DeviceRun {
    for trial in &mut run.trials {
        trial.windows.clear();
        let spreads = [&mut trial.u2c_ns, &mut trial.u2c_intended_ns];
        for spread in spreads.into_iter().chain(&mut trial.q2c_ns) {
            spread.curve.clear();
        }
    }
    run
}

fn values(run: &DeviceRun, metric: CompareMetric) -> Vec<f64> {
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
            let (a, b) = (values(run, metric), values(first, metric));
            let enough = a.len() > 1 && b.len() > 1;
            let ratio = ratio_of_medians(&a, &b, seed).filter(|_| enough);
            let sure = |r: Ratio| r.low > 1.0 + SAME || r.high < 1.0 - SAME;
            let separates = ratio.is_some_and(sure) && different_work(run, first).is_none();
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
