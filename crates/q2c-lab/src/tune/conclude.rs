//! From evidence to the result.

use super::cells::CellSpec;
use super::kernel::{self, KernelSleeps};
use super::method::CellMethod;
use super::outcome::{QUANTILES, TrialOutcome};
use super::predict::predict;
use super::search::Searched;
use super::{Tune, TuneError, advice, fidelity, warn};
use crate::runner::{CellRuns, End, Summary};
use q2c_model::Nanos;
use q2c_result::Warning;
use q2c_result::tune::{
    Calibration, Cell, EffectiveMode, Job, Measured, Prediction, SCHEMA, Series, TuneResult,
    Unavailable,
};
use q2c_sim::Recording;
use q2c_stats::{Interval, Ratio, median, ratio_of_medians, sorted};
use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

/// Everything a run has gathered.
pub(super) struct Evidence {
    pub calibration: Vec<Calibration>,
    pub recordings: Vec<Vec<Recording>>,
    pub searched: Vec<Searched>,
    pub summary: Summary<CellSpec, TrialOutcome>,
    pub warnings: Vec<Warning>,
    pub unavailable: Vec<Unavailable>,
    pub seconds: f64,
}

pub(super) fn conclude(tune: &Tune<'_>, evidence: Evidence) -> Result<TuneResult, TuneError> {
    let Evidence {
        calibration,
        recordings,
        searched,
        summary,
        mut warnings,
        unavailable,
        seconds,
    } = evidence;
    if let End::Aborted { label, error, .. } = &summary.end {
        return Err(TuneError::Io(format!("verify {label} live: {error}")));
    }
    let first: Vec<Option<Prediction>> = summary
        .cells
        .iter()
        .map(|runs| first_prediction(tune, &runs.plan.cell, &calibration, &recordings))
        .collect();
    let cells: Vec<Cell> = summary
        .cells
        .iter()
        .zip(&first)
        .map(|(runs, first)| cell(runs, *first))
        .collect();
    warnings.extend(summary.warnings.iter().cloned());
    warnings.extend(warn::warnings(tune, &summary));
    Ok(TuneResult {
        schema: SCHEMA.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        started_unix_s: (SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0.0, |d| d.as_secs_f64())
            - seconds) as u64,
        seconds,
        complete: matches!(summary.end, End::Complete),
        job: job(tune),
        machine: tune.machine.clone(),
        target: tune.target.clone(),
        doctor: tune.doctor.clone(),
        recommendation: searched
            .iter()
            .zip(&calibration)
            .map(|(s, c)| advice::recommend(tune, s, c, &cells, &|a, b| over(&summary, a, b)))
            .collect(),
        fidelity: fidelity::fidelity(&summary.cells, &first),
        harness_floor_ns: tune.harness_floor_ns,
        harness_bare_ns: tune.harness_bare_ns,
        sweeps: searched.into_iter().map(|s| s.sweep).collect(),
        calibration,
        cells,
        unavailable,
        warnings,
    })
}

fn job(tune: &Tune<'_>) -> Job {
    let spec = tune.spec;
    Job {
        rw: spec.rw.clone(),
        block_sizes: spec.sizes.clone(),
        jobs: tune.workload.cpus.len() as u32,
        cpus: tune.workload.cpus.clone(),
        background: spec.background.clone(),
        trial_seconds: spec.seconds,
        trials: spec.trials,
        objective: spec.objective.clone(),
        limits: spec.limits().in_words(),
        seed: spec.seed,
    }
}

fn first_prediction(
    tune: &Tune<'_>,
    cell: &CellSpec,
    calibration: &[Calibration],
    recordings: &[Vec<Recording>],
) -> Option<Prediction> {
    let (calibration, lanes) = calibration
        .iter()
        .zip(recordings)
        .find(|(c, _)| c.bs == cell.bs)?;
    let measure = Nanos::from_secs_f64(tune.spec.seconds);
    predict(
        &cell.parsed(),
        lanes,
        &tune.workload.cpus,
        &calibration.cost,
        measure,
        tune.spec.seed,
    )
}

fn cell(runs: &CellRuns<CellSpec, TrialOutcome>, predicted_first: Option<Prediction>) -> Cell {
    let spec = &runs.plan.cell;
    let (method, policy) = match spec.method.split_once(':') {
        Some((method, policy)) => (method.to_owned(), policy.to_owned()),
        None => (spec.method.clone(), String::new()),
    };
    Cell {
        bs: spec.bs,
        sleeping: matches!(method.as_str(), "hybrid" | kernel::METHOD),
        method,
        policy,
        role: spec.role.to_string(),
        predicted: paired(runs),
        predicted_first,
        measured: measured(runs),
        effective_mode: effective_mode(runs),
        series: median_series(runs),
        latency_quantiles: latency_quantiles(runs),
    }
}

/// Medians of the paired predictions over the trials.
fn paired(runs: &CellRuns<CellSpec, TrialOutcome>) -> Option<Prediction> {
    let predictions: Vec<Prediction> = runs.outcomes().filter_map(|o| o.predicted).collect();
    let middle = |value: fn(&Prediction) -> f64| {
        median(&sorted(&predictions.iter().map(value).collect::<Vec<_>>()))
    };
    (!predictions.is_empty()).then(|| Prediction {
        iops: middle(|p| p.iops),
        cpu_pct: middle(|p| p.cpu_pct),
        miss_rate: middle(|p| p.miss_rate),
        effective_sleep_ns: middle(|p| p.effective_sleep_ns),
        kiops_per_core: middle(|p| p.kiops_per_core),
        p99_ns: middle(|p| p.p99_ns),
    })
}

/// Trial by trial, where busy CPUs could be read.
fn kiops_per_core(runs: &CellRuns<CellSpec, TrialOutcome>) -> Vec<f64> {
    let of = |o: &TrialOutcome| {
        let busy = o.busy_cpus.filter(|&busy| busy > 0.0);
        busy.map(|busy| o.iops / 1e3 / busy)
    };
    runs.outcomes().filter_map(of).collect()
}

/// KIOPS/core of one rule over another's at one block size.
fn over(summary: &Summary<CellSpec, TrialOutcome>, policy: &str, other: &Cell) -> Option<Ratio> {
    let trials = |policy: &str| {
        let method = format!("hybrid:{policy}");
        let is = |runs: &&CellRuns<CellSpec, TrialOutcome>| {
            runs.plan.cell.bs == other.bs && runs.plan.cell.method == method
        };
        summary.cells.iter().find(is).map(kiops_per_core)
    };
    ratio_of_medians(&trials(policy)?, &trials(&other.policy)?, RATIO_SEED)
}

/// The bootstrap's: any will do, always the same.
const RATIO_SEED: u64 = 1;

/// A number of sleeps: from the threads, or for the kernel's own from what a probe saw. `None`: it is not known.
type OfSleeps = (
    fn(&TrialOutcome) -> f64,
    fn((f64, f64, Option<f64>)) -> Option<f64>,
);

fn of_sleeps(runs: &CellRuns<CellSpec, TrialOutcome>, (own, kernel): OfSleeps) -> Interval {
    if !matches!(runs.plan.cell.parsed(), CellMethod::Kernel(_)) {
        return runs.interval(own);
    }
    let seen = runs.outcomes().filter_map(|o| o.kernel_sleeps.as_ref());
    let numbers = seen.filter_map(|sleeps| kernel(sleeps.numbers()?));
    Interval::of(&numbers.collect::<Vec<_>>())
}

fn measured(runs: &CellRuns<CellSpec, TrialOutcome>) -> Measured {
    let kiops_per_core = kiops_per_core(runs);
    let busy: Vec<f64> = runs.outcomes().filter_map(|o| o.busy_cpus).collect();
    Measured {
        iops: runs.interval(|o| o.iops),
        cpu_pct: runs.interval(|o| o.cpu_pct),
        miss_rate: of_sleeps(runs, (|o| o.miss_rate, |k| Some(k.0))),
        effective_sleep_ns: of_sleeps(runs, (|o| o.effective_sleep_ns, |k| Some(k.1))),
        kiops_per_core: Interval::of(&kiops_per_core),
        p99_ns: runs.interval(|o| o.p99_ns),
        slept_ns: of_sleeps(runs, (|o| o.slept_ns, |k| k.2)),
        mean_ns: runs.interval(|o| o.mean_ns),
        p50_ns: runs.interval(|o| o.p50_ns),
        p999_ns: runs.interval(|o| o.p999_ns),
        busy_cpus: Interval::of(&busy),
        switches_per_io: runs.interval(|o| o.switches_per_io),
        errors: 0,
        ios: runs.outcomes().map(|o| o.ios).sum(),
    }
}

fn effective_mode(runs: &CellRuns<CellSpec, TrialOutcome>) -> EffectiveMode {
    let sum =
        |value: fn(&TrialOutcome) -> Option<u64>| runs.outcomes().map(value).sum::<Option<u64>>();
    let ios: u64 = runs.outcomes().map(|o| o.ios).sum();
    let slept: u64 = runs.outcomes().map(|o| o.slept).sum();
    let switches = runs.interval(|o| o.switches_per_io).median;
    let was = match runs.plan.cell.parsed() {
        CellMethod::Interrupt => "interrupt",
        CellMethod::Poll => "poll (spinning on the ring; the device still interrupts)",
        CellMethod::Hybrid(_) if slept == 0 => "poll (the rule never slept)",
        CellMethod::Hybrid(_) if fidelity::stays_on_cpu(runs) => {
            "hybrid (most sleeps ended without leaving the CPU)"
        }
        CellMethod::Hybrid(_) => "hybrid (sleep, then spinning on the ring)",
        CellMethod::Kernel(_) => kernel::was(ios, sum(|o| o.interrupts), switches),
    };
    let told = |count: Option<u64>| count.map_or("could not be read".to_owned(), |n| n.to_string());
    let proof = [
        ("I/Os", ios.to_string()),
        ("I/Os that slept", slept_in_words(runs, slept)),
        (
            "voluntary switches per slept I/O, or per I/O",
            format!("{switches:.3}"),
        ),
        ("device interrupts", told(sum(|o| o.interrupts))),
        ("device requests", told(sum(|o| o.requests))),
        (
            "ring flags",
            runs.outcomes()
                .next()
                .map_or(String::new(), |o| o.ring_flags.clone()),
        ),
    ];
    EffectiveMode {
        asked: runs.plan.cell.method.clone(),
        was: match runs.failures().next().filter(|_| ios == 0) {
            Some(reason) => format!("not run: {reason}"),
            None => was.to_owned(),
        },
        proof: proof
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect::<BTreeMap<_, _>>(),
    }
}

/// Their number; of the kernel's own sleeps, what a probe saw of them, or why it saw none.
fn slept_in_words(runs: &CellRuns<CellSpec, TrialOutcome>, slept: u64) -> String {
    let mut seen: Option<(u64, u64)> = None;
    for sleeps in runs.outcomes().filter_map(|o| o.kernel_sleeps.as_ref()) {
        match sleeps {
            KernelSleeps::Unseen(why) => return format!("not seen: {why}"),
            KernelSleeps::Seen { polled, slept, .. } => {
                let (s, p) = seen.unwrap_or_default();
                seen = Some((s + slept, p + polled));
            }
        }
    }
    seen.map_or_else(
        || slept.to_string(),
        |(slept, polled)| format!("{slept} of {polled} seen by a probe"),
    )
}

/// The series of the trial whose IOPS are the median's neighbour.
fn median_series(runs: &CellRuns<CellSpec, TrialOutcome>) -> Series {
    let mut outcomes: Vec<&TrialOutcome> = runs.outcomes().collect();
    outcomes.sort_by(|a, b| a.iops.total_cmp(&b.iops));
    outcomes
        .get(outcomes.len() / 2)
        .map_or_else(Series::default, |o| o.series.clone())
}

fn latency_quantiles(runs: &CellRuns<CellSpec, TrialOutcome>) -> Vec<(f64, f64)> {
    let at = |n: usize| {
        median(&sorted(
            &runs
                .outcomes()
                .filter_map(|o| o.quantiles.get(n).copied())
                .collect::<Vec<_>>(),
        ))
    };
    (0..QUANTILES)
        .map(|n| ((n as f64 + 0.5) / QUANTILES as f64, at(n)))
        .collect()
}
