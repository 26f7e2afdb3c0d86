//! Compares devices by the trials of a replay: which one serves the trace better, by which metric,
//! and whether the trials can tell.

use super::answer::{RunStart, warnings};
use super::trial::median;
use super::verdict::{different_work, verdict};
use super::{Ran, ReplaySite};
use q2c_host::machine;
use q2c_replay::ReplayFacts;
use q2c_result::Warning;
use q2c_result::compare::{CompareMetric, CompareResult, DeviceRun, SCHEMA, Separation};
use q2c_result::replay::ReplayTrial;
use q2c_stats::{Interval, Ratio, ratio_of_medians};

/// Medians that differ by at most this share count as equal, however narrow the interval.
const SAME: f64 = 0.01;

/// Makes the result of a comparison from all sites. Each site has one target; the first site is the
/// one that the others are compared with.
#[must_use]
pub fn compare(
    start: &RunStart,
    facts: &ReplayFacts,
    sites: &[ReplaySite],
    ran: &Ran,
) -> CompareResult {
    let runs: Vec<DeviceRun> = sites.iter().map(|site| device(site, ran)).collect();
    let by_q2c = runs.iter().all(|run| run.sum_q2c_s.is_some());
    let sum = match by_q2c {
        true => CompareMetric::SumQ2c,
        false => CompareMetric::SumU2c,
    };
    let separations = separations(&runs, sum, start.job.seed);
    let verdict = verdict(&start.job, facts, &runs, &separations, sum);
    let shown = runs.iter().filter_map(|run| run.shown.as_ref());
    let mut warned: Vec<Warning> = Vec::new();
    for warning in shown.flat_map(|trial| warnings(facts, trial)) {
        if !warned.contains(&warning) {
            warned.push(warning);
        }
    }
    CompareResult {
        schema: SCHEMA.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        started_unix_s: start.started_unix_s,
        seconds: start.seconds(),
        complete: ran.partial.is_none()
            && matches!(ran.summary.end, q2c_run::runner::End::Complete),
        job: start.job.clone(),
        trace: start.trace(facts),
        machine: machine::read(&start.roots),
        devices: runs.into_iter().map(slim).collect(),
        sum,
        separations,
        verdict,
        warnings: warned,
    }
}

fn device(site: &ReplaySite, ran: &Ran) -> DeviceRun {
    let (trials, failures) = ran.of(&site.name);
    let valid: Vec<&ReplayTrial> = trials.iter().filter(|trial| trial.valid).collect();
    let interval = |number: fn(&ReplayTrial) -> f64| {
        Interval::of(
            &valid
                .iter()
                .map(|trial| number(trial))
                .collect::<Vec<f64>>(),
        )
    };
    let q2c: Option<Vec<f64>> = valid.iter().map(|trial| trial.sum_q2c_s).collect();
    let saturated = valid.iter().filter(|trial| trial.saturated).count();
    DeviceRun {
        target: site.facts.first().cloned().unwrap_or_default(),
        completion_s: interval(|trial| trial.completion_s),
        sum_u2c_s: interval(|trial| trial.sum_u2c_s),
        sum_u2c_intended_s: interval(|trial| trial.sum_u2c_intended_s),
        sum_q2c_s: q2c
            .filter(|sums| !sums.is_empty())
            .map(|sums| Interval::of(&sums)),
        saturated: 2 * saturated > valid.len(),
        shown: median(&trials, |trial| trial.sum_q2c_s.unwrap_or(trial.sum_u2c_s))
            .filter(|trial| trial.valid)
            .cloned(),
        trials,
        failures,
    }
}

/// Drops the windows and curves of all trials: in a result only the shown trial keeps them.
fn slim(mut run: DeviceRun) -> DeviceRun {
    for trial in &mut run.trials {
        trial.windows.clear();
        trial.u2c_ns.curve.clear();
        trial.u2c_intended_ns.curve.clear();
        trial
            .q2c_ns
            .iter_mut()
            .for_each(|spread| spread.curve.clear());
    }
    run
}

/// The metric's value in each valid trial.
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
            let sure = |r: Ratio| (r.low > 1.0 || r.high < 1.0) && (r.ratio - 1.0).abs() > SAME;
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
