//! Medians over the trials, their ratios to classic polling, and the verdict.

use super::rig::Stretch;
use super::tune::{KernelCandidate, KernelTrial, TuneKernelSpec};
use q2c_advice::{Goal, KernelWay, best_of_kernel};
use q2c_model::stats::{Interval, percentile, sorted};
use q2c_model::{Rates, SimulatedFigures};
use q2c_policy::Method;
use q2c_result::Warning;
use q2c_result::kernel_tune::{KernelMeasured, KernelMethod, KernelPoint};
use q2c_result::kernel_watch::KernelInterval;
use q2c_result::sweep::SweepInput;
use q2c_result::tune::{PerCore, Relative, Verdict};

/// The verdict, the recommended method, and the least IOPS that it had to keep. `methods` has
/// classic polling first.
pub(super) fn verdict(spec: &TuneKernelSpec, methods: &[KernelMethod]) -> (Verdict, Method, f64) {
    let (objective, limits) = (spec.objective, spec.limits);
    let goal = Goal { objective, limits };
    let floor = goal.floor(methods[0].measured.rates.iops.median);
    let ways = methods[1..].iter().map(|m| KernelWay {
        method: &m.method,
        relative: &m.relative,
        cpu_pct: m.measured.rates.cpu_pct.median,
        p99_ns: m.measured.d2c_p99_ns.median,
    });
    let ways: Vec<KernelWay<'_>> = ways.collect();
    let (verdict, best) = best_of_kernel(&ways, floor, &goal);
    (verdict, best.cloned().unwrap_or(Method::POLL), floor)
}

fn totals(trials: &[KernelTrial]) -> impl Iterator<Item = &KernelInterval> {
    trials.iter().map(|trial| &trial.stretch.total)
}

/// The figures of a method. A trial is compared with classic polling before and after it (mean).
pub(super) fn method_figures(candidate: &KernelCandidate) -> KernelMethod {
    let trials = &candidate.trials;
    let interval_of_totals = |value: &dyn Fn(&KernelInterval) -> f64| {
        over_trials(trials, |trial| value(&trial.stretch.total))
    };
    let ratio = |value: &dyn Fn(&KernelInterval) -> f64| {
        over_trials(trials, |trial| {
            let [before, after] = &trial.beside;
            value(&trial.stretch.total) / f64::midpoint(value(before), value(after))
        })
    };
    let beside = trials.iter().flat_map(|trial| &trial.beside);
    let cores = if totals(trials).chain(beside).all(|t| t.busy_cpus.is_some()) {
        PerCore::Machine
    } else {
        PerCore::Threads
    };
    let iops = |t: &KernelInterval| t.rates.iops.unwrap_or(f64::NAN);
    let per_core = |t: &KernelInterval| iops(t) / 1e3 / busy_cpus(t, cores);
    let d2c = |q| over_trials(trials, |t| percentile(&sorted(&t.stretch.d2c_ns()), q));
    let rate = |value: fn(&Rates<Option<f64>>) -> Option<f64>| {
        interval_of_totals(&move |t: &KernelInterval| value(&t.rates).unwrap_or(f64::NAN))
    };
    let predicted: Vec<SimulatedFigures> = trials.iter().map(|t| t.predicted).collect();
    KernelMethod {
        method: candidate.method.clone(),
        role: candidate.role.into(),
        predicted: SimulatedFigures::mean(&predicted),
        predicted_first: candidate.predicted_first,
        measured: KernelMeasured {
            rates: Rates {
                iops: rate(|r| r.iops),
                cpu_pct: rate(|r| r.cpu_pct),
                miss_rate: rate(|r| r.miss_rate),
                effective_sleep_ns: rate(|r| r.effective_sleep_ns),
            },
            slept_ns: interval_of_totals(&|t| t.slept_ns.unwrap_or(f64::NAN)),
            kiops_per_core: interval_of_totals(&per_core),
            cores,
            d2c_p50_ns: d2c(0.5),
            d2c_p99_ns: d2c(0.99),
            polled: totals(trials).map(|t| t.polled).sum(),
        },
        off: prediction_errors(trials),
        relative: Relative {
            iops: ratio(&iops),
            kiops_per_core: ratio(&per_core),
            cores,
        },
        series: median_series(trials),
    }
}

/// Errors of the simulated figures: their ratios to the measured ones, or differences from them.
fn prediction_errors(trials: &[KernelTrial]) -> Rates<Interval> {
    let errors = |error: fn(&Rates<f64>, &Rates<f64>) -> f64| {
        over_trials(trials, |trial| {
            let measured = trial.stretch.total.rates.map(|r| r.unwrap_or(f64::NAN));
            error(&trial.predicted.rates, &measured)
        })
    };
    Rates {
        iops: errors(|predicted, measured| predicted.iops / measured.iops),
        cpu_pct: errors(|predicted, measured| predicted.cpu_pct - measured.cpu_pct),
        miss_rate: errors(|predicted, measured| predicted.miss_rate - measured.miss_rate),
        effective_sleep_ns: errors(|p, m| p.effective_sleep_ns / m.effective_sleep_ns),
    }
}

fn over_trials(trials: &[KernelTrial], value: impl Fn(&KernelTrial) -> f64) -> Interval {
    Interval::from_samples(&trials.iter().map(value).collect::<Vec<_>>())
}

fn busy_cpus(total: &KernelInterval, cores: PerCore) -> f64 {
    match cores {
        PerCore::Machine => total.busy_cpus.unwrap_or(f64::NAN),
        PerCore::Threads => total.rates.cpu_pct.unwrap_or(f64::NAN) / 100.0 * total.threads as f64,
    }
}

/// The intervals of the trial with the median IOPS.
fn median_series(trials: &[KernelTrial]) -> Vec<KernelInterval> {
    let mut by_iops: Vec<&Stretch> = trials.iter().map(|trial| &trial.stretch).collect();
    let iops = |stretch: &Stretch| stretch.total.rates.iops.unwrap_or(0.0);
    by_iops.sort_by(|a, b| iops(a).total_cmp(&iops(b)));
    let median = by_iops.get(by_iops.len() / 2);
    median.map_or_else(Vec::new, |stretch| stretch.series.clone())
}

pub(super) fn warnings(
    recorded: &SweepInput,
    points: &[KernelPoint],
    candidates: &[KernelCandidate],
) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if recorded.sizes.len() > 1 {
        warnings.push(Warning::new(
            "one-sleep-for-all-sizes",
            format!("{} sizes of requests", recorded.sizes.len()),
            "a steered rule has one sleep for all of them: a rule on the shortest sleeps too short for the longer ones",
            "compare with the kernel's own sleep, which has one for each size",
        ));
    }
    let totals = candidates.iter().flat_map(|c| totals(&c.trials));
    let unknown: u64 = totals.map(|total| total.unknown).sum();
    if unknown > 0 {
        warnings.push(Warning::new(
            "unknown-outcomes",
            format!(
                "{unknown} requests were slept for, and it is not known whether they were missed"
            ),
            "the measured miss rates are too low by up to that share",
            "run fewer threads on the device, or take the miss rate with that doubt",
        ));
    }
    let outlived_share = points.last().map_or(1.0, |p| p.miss_rate);
    if outlived_share < 0.85 {
        let percent = outlived_share * 100.0;
        warnings.push(Warning::new(
            "lateness-not-seen",
            format!("of the longest calibrated sleeps {percent:.0} % outlived their request"),
            "the lateness of wake-ups is known from these only, and predictions are worse",
            "run again while the device's latency is steadier",
        ));
    }
    warnings
}
