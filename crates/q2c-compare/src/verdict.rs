//! The answer of a comparison: which device is better, and whether the trials can tell.

use q2c_model::replay::{Change, Changes, Mode};
use q2c_model::stats::{CLEAR_TRIALS, Ratio};
use q2c_replay::ReplayFacts;
use q2c_result::compare::{
    CompareFinding, CompareMetric, DeviceRun, NoValidReason, NotCaptured, Profile, Separation,
    WorkDone,
};
use q2c_result::replay::{ReplayJob, ReplayTrial};

/// The findings in order. `separations` has two per device after the first: by `sum`, then by time.
pub(super) fn verdict(
    job: &ReplayJob,
    facts: &ReplayFacts,
    runs: &[DeviceRun],
    separations: &[Separation],
    sum: CompareMetric,
    not_captured: Option<&NotCaptured>,
) -> Vec<CompareFinding> {
    let mut findings = Vec::new();
    let timed = matches!(job.mode, Mode::Timed { .. });
    for (run, pair) in runs.iter().skip(1).zip(separations.chunks(2)) {
        let [by_sum, by_time] = pair else {
            continue;
        };
        if let Some(finding) = different_work(run, &runs[0]) {
            findings.push(finding);
            continue;
        }
        findings.push(sum_finding(by_sum));
        findings.push(time_finding(by_time, by_sum, runs, timed));
        findings.extend(same_disk(run, &runs[0]));
    }
    findings.extend(few_trials(runs, separations));
    if let Mode::Outstanding { idle, .. } = job.mode {
        let share = facts.idle_share_of_devices().unwrap_or(0.0);
        findings.push(CompareFinding::TraceIdles { share, idle });
    }
    if sum == CompareMetric::SumU2c {
        let some_have_q2c = runs.iter().any(|run| run.sum_q2c_s.is_some());
        findings.push(CompareFinding::SumsOfU2c {
            some_have_q2c,
            not_captured: not_captured.filter(|_| !some_have_q2c).cloned(),
        });
    }
    findings.extend(runs.iter().filter_map(term_finding));
    let without_trials = runs.iter().filter(|run| run.completion_s.trials == 0);
    findings.extend(without_trials.map(|run| CompareFinding::NoValidTrial {
        device: run.target.path.clone(),
        why: no_valid_reason(run),
    }));
    findings
}

fn same_disk(run: &DeviceRun, first: &DeviceRun) -> Option<CompareFinding> {
    let disk = |run: &DeviceRun| Some(run.target.device.as_ref()?.name.clone());
    let disk = disk(run).filter(|name| disk(first).as_ref() == Some(name))?;
    Some(CompareFinding::OneDisk {
        device: run.target.path.clone(),
        with: first.target.path.clone(),
        disk,
    })
}

/// A finding if only few trials separate the devices.
fn few_trials(runs: &[DeviceRun], separations: &[Separation]) -> Option<CompareFinding> {
    let valid = runs.iter().map(|run| run.completion_s);
    let compared = valid.filter(|interval| interval.trials > 1);
    let fewest = compared.min_by_key(|interval| interval.trials)?;
    let few = fewest.trials < CLEAR_TRIALS && separations.iter().any(|by| by.separates);
    few.then(|| CompareFinding::FewToBeSure {
        trials: fewest.trials,
        chance: fewest.chance_above(&fewest),
    })
}

/// A finding if the number of terms in the sum of Q2C is off the number of requests by over 1 %.
fn term_finding(run: &DeviceRun) -> Option<CompareFinding> {
    let shown = run.shown.as_ref()?;
    let excess = shown.q2c_excess;
    let differs = excess.unsigned_abs() * 100 > shown.issued;
    differs.then(|| CompareFinding::TermsDiffer {
        device: run.target.path.clone(),
        requests: shown.issued,
        excess,
    })
}

/// A finding if a device got no writes, so that the answer covers only reads.
pub(super) fn reads_only(
    job: &ReplayJob,
    runs: &[DeviceRun],
    profile: Option<&Profile>,
) -> Option<CompareFinding> {
    let shown = runs.iter().filter_map(|run| run.shown.as_ref());
    let changed = shown.map(|trial| &trial.changed);
    let changed = changed.chain(profile.map(|profile| &profile.changed));
    let unwritten = [Change::WriteRead, Change::WriteLeftOut];
    let count = |changes: &Changes| unwritten.iter().filter_map(|kind| changes.get(kind)).sum();
    let writes: u64 = changed.map(count).max().filter(|writes| *writes > 0)?;
    Some(CompareFinding::ReadsOnly {
        writes,
        treatment: job.writes,
    })
}

/// Returns `None` if both did the same work within 1 %, a difference that alignment can cause.
pub(super) fn different_work(run: &DeviceRun, first: &DeviceRun) -> Option<CompareFinding> {
    let work = |trial: &ReplayTrial| WorkDone {
        requests: trial.issued,
        bytes: trial.bytes,
    };
    let did = work(run.shown.as_ref()?);
    let with_did = work(first.shown.as_ref()?);
    let near = |a: u64, b: u64| a.abs_diff(b) * 100 <= a.max(b);
    let same = near(did.requests, with_did.requests) && near(did.bytes, with_did.bytes);
    (!same).then(|| CompareFinding::WorkDiffers {
        device: run.target.path.clone(),
        with: first.target.path.clone(),
        did,
        with_did,
    })
}

fn sum_finding(by_sum: &Separation) -> CompareFinding {
    let Some(ratio) = by_sum.ratio.filter(|_| by_sum.separates) else {
        return unseparated_finding(by_sum);
    };
    let (mut better, mut worse, mut ratio) = (&by_sum.device, &by_sum.with, ratio);
    let is_better = ratio.ratio < 1.0;
    if !is_better {
        (better, worse) = (worse, better);
        ratio = Ratio {
            ratio: 1.0 / ratio.ratio,
            low: 1.0 / ratio.high,
            high: 1.0 / ratio.low,
        };
    }
    CompareFinding::Better {
        device: better.clone(),
        than: worse.clone(),
        metric: by_sum.metric,
        ratio,
    }
}

fn unseparated_finding(result: &Separation) -> CompareFinding {
    let (device, with, metric) = (result.device.clone(), result.with.clone(), result.metric);
    match result.ratio {
        Some(ratio) => CompareFinding::Alike {
            device,
            with,
            metric,
            ratio,
        },
        None => CompareFinding::FewTrials {
            device,
            with,
            metric,
        },
    }
}

fn time_finding(
    by_time: &Separation,
    by_sum: &Separation,
    runs: &[DeviceRun],
    timed: bool,
) -> CompareFinding {
    let (device, with) = (by_time.device.clone(), by_time.with.clone());
    let idle = |path: &str| {
        let run = runs.iter().find(|run| run.target.path == path);
        let shown = run.and_then(|run| run.shown.as_ref());
        shown.map_or(0.0, |trial| trial.idle_share)
    };
    let overloaded = runs.iter().filter(|run| run.saturated);
    match by_time.ratio {
        Some(ratio) if by_time.separates => CompareFinding::TimeSeparates {
            device,
            with,
            ratio,
            sum_separates: by_sum.separates,
            overloaded: overloaded.map(|run| run.target.path.clone()).collect(),
        },
        Some(ratio) if timed => CompareFinding::TimeCannotTell {
            device_idle: idle(&device),
            with_idle: idle(&with),
            device,
            with,
            ratio,
        },
        _ => unseparated_finding(by_time),
    }
}

fn no_valid_reason(run: &DeviceRun) -> NoValidReason {
    let mut invalid = run.trials.iter().flat_map(|trial| &trial.invalid);
    match (invalid.next(), run.failures.first()) {
        (Some(reason), _) => NoValidReason::Invalid(reason.clone()),
        (None, Some(reason)) => NoValidReason::Failed(reason.clone()),
        (None, None) => NoValidReason::NotRun,
    }
}

#[cfg(test)]
pub(crate) mod tests;
