//! Makes the result of a run from its calibration, recordings and trials.

use super::late::LateCell;
use super::mode::effective_mode;
use super::outcome::QUANTILES;
use super::{fidelity, simulated, warn};
use crate::{CellSpec, Runs, SizeSearch, TrialOutcome, TrialRounds, Tune};
use q2c_advice::{Goal, KernelWay, best_of_kernel, per_core_divisor, predict, relative};
use q2c_model::stats::{Interval, median, sorted};
use q2c_model::{Exit, Fault, Latencies, Nanos, Rates};
use q2c_policy::{LaneMethod, Method};
use q2c_result::tune::{
    Calibration, Cell, Lesson, Measured, MethodName, PerCore, Prediction, Recommendation, Relative,
    SCHEMA, Series, TuneResult, Unavailable,
};
use q2c_result::{Provenance, Warning};
use q2c_run::runner::End;
use q2c_watch::kernel::SleepFigures;
use q2c_workbench::kinds::kind_figures;

pub(super) struct TuneData {
    pub calibration: Vec<Calibration>,
    pub rounds: TrialRounds,
    pub late: Vec<LateCell>,
    pub warnings: Vec<Warning>,
    pub unavailable: Vec<Unavailable>,
    pub provenance: Provenance,
}

pub(super) fn conclude(tune: &Tune<'_>, mut data: TuneData) -> Result<TuneResult, Fault> {
    let (searches, cells) = (&data.rounds.searches, &data.rounds.cells);
    if let End::Aborted { label, error, .. } = &data.rounds.end {
        let text = format!("verify {label} live: {error}");
        return Err(Fault::new(Exit::Device, text));
    }
    let calibration = data.calibration;
    let predict = |runs: &Runs| first_prediction(tune, &runs.plan.cell, &calibration, searches);
    let first_predictions: Vec<Option<Prediction>> = cells.iter().map(predict).collect();
    let warnings = &mut data.warnings;
    warnings.extend(data.rounds.warnings.iter().cloned());
    warnings.extend(warn::warnings(tune, cells));
    let corrections = searches.iter().map(|search| search.referee.correction());
    warnings.extend(warn::contradicted(calibration.iter().zip(corrections)));
    let floor_asked = tune.spec.floor();
    let has_background = !tune.workload.background.is_empty();
    let to_cell = |(runs, first): (&Runs, &Option<Prediction>)| {
        let search = searches.iter().find(|s| s.bs == runs.plan.cell.bs);
        let cores = search.map_or_else(PerCore::default, |search| search.referee.cores());
        cell(runs, *first, has_background, (&data.late, cores))
    };
    let all_cells: Vec<Cell> = cells.iter().zip(&first_predictions).map(to_cell).collect();
    let answer = |search: &SizeSearch| {
        let answer = search.referee.recommendation(search.bs, &floor_asked);
        with_best_of_kernel(answer, &all_cells, &tune.spec.goal())
    };
    let sweep = |search: &SizeSearch| simulated::sweep_of_first_recording(tune, search);
    Ok(TuneResult {
        schema: SCHEMA.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        provenance: data.provenance,
        complete: matches!(data.rounds.end, End::Complete),
        job: tune.spec.job(tune.workload),
        machine: tune.machine.clone(),
        target: tune.target.clone(),
        doctor: tune.doctor.clone(),
        recommendation: searches.iter().map(answer).collect(),
        fidelity: fidelity::fidelity(cells, &first_predictions),
        harness_floor_ns: tune.harness_floor_ns,
        harness_bare_ns: tune.harness_bare_ns,
        sweeps: searches.iter().map(sweep).collect(),
        lessons: searches.iter().zip(&calibration).map(lesson).collect(),
        cells: all_cells,
        calibration,
        unavailable: data.unavailable,
        program: None,
        warnings: data.warnings,
    })
}

fn with_best_of_kernel(answer: Recommendation, cells: &[Cell], goal: &Goal) -> Recommendation {
    let is_by_kernel = |method: &Method| matches!(method, Method::HybridKernel(_));
    let cells = cells.iter().filter(|cell| cell.bs == answer.bs);
    let kernel_ways = cells.filter(|cell| is_by_kernel(&cell.method));
    let kernel_ways = kernel_ways.filter_map(|cell| {
        Some(KernelWay {
            method: &cell.method,
            relative: cell.relative.as_ref()?,
            cpu_pct: cell.measured.rates.cpu_pct.median,
            p99_ns: cell.measured.latencies.p99_ns.median,
        })
    });
    let kernel_ways: Vec<KernelWay<'_>> = kernel_ways.collect();
    let (_, best) = best_of_kernel(&kernel_ways, answer.floor, goal);
    Recommendation {
        kernel: best.map(|method| MethodName(method.clone())),
        ..answer
    }
}

fn lesson((search, calibration): (&SizeSearch, &Calibration)) -> Lesson {
    let correction = search.referee.correction();
    let wait_ns = simulated::median_wait_ns(&search.first_recordings);
    let delay_ns = calibration.cost.wake_clear.base_ns.value_at(wait_ns / 2.0);
    let tried = search.referee.tried_methods();
    let sleeping = tried.filter(|(m, ..)| m.policy().is_some());
    Lesson {
        bs: search.bs,
        rounds: search.referee.round() + 1,
        trials: sleeping.map(|(.., trials)| trials.len() as u32).sum(),
        latency_ns: correction.latency * wait_ns,
        latency_per_sleep: correction.relief,
        wake_ns: correction.wake * delay_ns,
        sleep_cpu: 1.0 + correction.sleep_cpu,
    }
}

/// The prediction from the first recording with the calibrated costs. `None` for classic polling,
/// which is the recording, and for the kernel's own polling, whose calls are not calibrated.
fn first_prediction(
    tune: &Tune<'_>,
    cell: &CellSpec,
    calibration: &[Calibration],
    searches: &[SizeSearch],
) -> Option<Prediction> {
    let method = cell.method.lane()?;
    if *method == LaneMethod::Poll {
        return None;
    }
    let calibration = calibration.iter().find(|c| c.bs == cell.bs)?;
    let search = searches.iter().find(|search| search.bs == cell.bs)?;
    let measure = Nanos::from_secs_f64(tune.spec.seconds);
    let (cpus, cost) = (&tune.workload.cpus, &calibration.cost);
    let seed = tune.spec.workload.run.seed;
    let outcome = predict(method, &search.first_recordings, cpus, cost, measure, seed);
    Some(outcome.gives.into())
}

/// `has_background`: background jobs used the device, too. The whole block size has these `cores`.
fn cell(
    runs: &Runs,
    predicted_first: Option<Prediction>,
    has_background: bool,
    (late, cores): (&[LateCell], PerCore),
) -> Cell {
    let spec = &runs.plan.cell;
    let late = late.iter().find(|late| late.is_for(spec));
    Cell {
        bs: spec.bs,
        sleeping: spec.method.sleeps(),
        method: spec.method.clone(),
        role: spec.role.into(),
        predicted: paired_prediction(runs),
        predicted_first,
        measured: measured_figures(runs),
        relative: relative_to_polling(runs, cores),
        effective_mode: effective_mode(runs, has_background),
        series: median_series(runs),
        latency_quantiles: latency_quantiles(runs),
        late: late.map(|late| late.late.clone()),
    }
}

/// `cores` is decided without the kernel's polling. If its trials lack busy CPUs, threads count.
fn relative_to_polling(runs: &Runs, cores: PerCore) -> Option<Relative> {
    let trials: Vec<_> = runs.outcomes().map(TrialOutcome::evidence).collect();
    let cores = match cores {
        PerCore::Machine => per_core_divisor([trials.as_slice()].into_iter()),
        PerCore::Threads => PerCore::Threads,
    };
    relative(&trials, cores)
}

fn paired_prediction(runs: &Runs) -> Option<Prediction> {
    let predictions: Vec<Prediction> = runs.outcomes().filter_map(|o| o.predicted).collect();
    let rates: Rates<Vec<f64>> = predictions.iter().map(|p| p.rates).collect();
    let middle = |values: Vec<f64>| median(&sorted(&values));
    (!predictions.is_empty()).then(|| Prediction {
        rates: rates.map(middle),
        kiops_per_core: middle(predictions.iter().map(|p| p.kiops_per_core).collect()),
        p99_ns: middle(predictions.iter().map(|p| p.p99_ns).collect()),
    })
}

/// The sleeps of one trial, measured by its threads or, for the kernel's polling, by the probe. The
/// probe may miss the end of a sleep.
fn trial_sleeps(runs: &Runs, outcome: &TrialOutcome) -> Option<SleepFigures> {
    if runs.plan.cell.method.lane().is_none() {
        return outcome.kernel_sleeps.as_ref()?.figures();
    }
    Some(SleepFigures {
        miss_rate: outcome.rates.miss_rate,
        effective_sleep_ns: outcome.rates.effective_sleep_ns,
        slept_ns: Some(outcome.slept_ns),
    })
}

fn measured_figures(runs: &Runs) -> Measured {
    let over_trials = |values: Vec<f64>| Interval::from_samples(&values);
    let interval_of = |figure: &dyn Fn(&TrialOutcome) -> Option<f64>| {
        over_trials(runs.outcomes().filter_map(figure).collect())
    };
    let sleeps = |figure: fn(&SleepFigures) -> Option<f64>| {
        interval_of(&|outcome| figure(&trial_sleeps(runs, outcome)?))
    };
    let rates: Rates<Vec<f64>> = runs.outcomes().map(|o| o.rates).collect();
    let latencies: Latencies<Vec<f64>> = runs.outcomes().map(|o| o.latencies).collect();
    Measured {
        rates: Rates {
            miss_rate: sleeps(|seen| Some(seen.miss_rate)),
            effective_sleep_ns: sleeps(|seen| Some(seen.effective_sleep_ns)),
            ..rates.map(over_trials)
        },
        kiops_per_core: interval_of(&|outcome| {
            let busy = outcome.busy_cpus.filter(|&busy| busy > 0.0)?;
            Some(outcome.rates.iops / 1e3 / busy)
        }),
        slept_ns: sleeps(|seen| seen.slept_ns),
        latencies: latencies.map(over_trials),
        busy_cpus: interval_of(&|outcome| outcome.busy_cpus),
        switches_per_io: runs.interval(|o| o.switches_per_io),
        ios: runs.outcomes().map(|o| o.ios).sum(),
        kinds: kind_figures(runs.outcomes().map(|o| o.kinds.as_slice())),
    }
}

/// The time series of the trial with the median IOPS; the upper of two medians.
fn median_series(runs: &Runs) -> Series {
    let mut outcomes: Vec<&TrialOutcome> = runs.outcomes().collect();
    outcomes.sort_by(|a, b| a.rates.iops.total_cmp(&b.rates.iops));
    let middle = outcomes.get(outcomes.len() / 2);
    middle.map_or_else(Series::default, |o| o.series.clone())
}

fn latency_quantiles(runs: &Runs) -> Vec<(f64, f64)> {
    let at = |n: usize| {
        let values = runs.outcomes().filter_map(|o| o.quantiles.get(n).copied());
        let share = (n as f64 + 0.5) / QUANTILES as f64;
        (share, median(&sorted(&values.collect::<Vec<_>>())))
    };
    (0..QUANTILES).map(at).collect()
}
