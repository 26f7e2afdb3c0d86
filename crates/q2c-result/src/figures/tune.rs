//! The figures of `q2c tune`, each method at each block size and number of jobs, and those of
//! `q2c poll tune-kernel`, each method.

use super::Better::{self, Less, More, Neither};
use super::FigureUnit::{
    self, Cpus, Nanoseconds as Ns, Number, PerSecond, Percent, Share, ThousandPerSecond as Kilo,
};
use super::{Columns, add_kinds, or_empty, word};
use crate::kernel_tune::{KernelMeasured, KernelMethod, KernelTuneResult};
use crate::tune::{Cell, Measured, Prediction, Relative, TuneResult};
use crate::tune_jobs::TuneJobsResult;
use q2c_model::SimulatedFigures;
use q2c_model::stats::Interval;

struct TuneFigureRow<'a> {
    jobs: u32,
    /// True if the result has several numbers of jobs, which names must then contain.
    over_jobs: bool,
    cell: &'a Cell,
    measured: &'a Measured,
}

const OVER_JOBS: bool = true;

measures!(TuneResult, with_figures(keys()), |r| rows(r, !OVER_JOBS));

measures!(TuneJobsResult, with_figures(keys()), |result| {
    result.runs.iter().flat_map(|run| rows(run, OVER_JOBS))
});

fn rows(run: &TuneResult, over_jobs: bool) -> impl Iterator<Item = TuneFigureRow<'_>> {
    run.cells.iter().map(move |cell| TuneFigureRow {
        jobs: run.job.jobs,
        over_jobs,
        cell,
        measured: &cell.measured,
    })
}

fn keys<'a>() -> Columns<TuneFigureRow<'a>> {
    Columns::new(|row: &TuneFigureRow| Some(name(row)))
        .key("jobs", |row| row.jobs.to_string())
        .key("bs_bytes", |row| row.cell.bs.0.to_string())
        .key("method", |row| row.cell.method.name().to_owned())
        .key("policy", |row| row.cell.method.detail())
        .key("role", |row| row.cell.role.text().to_owned())
        .key("sleeping", |row| row.cell.sleeping.to_string())
        .key("asked", |row| row.cell.effective_mode.asked.to_string())
        .key("was", |row| row.cell.effective_mode.mode.text())
        .key("cores", |r| {
            or_empty(r.cell.relative.map(|of| word(of.cores)))
        })
        .key("ios", |row| row.measured.ios.to_string())
}

fn name(row: &TuneFigureRow) -> String {
    let jobs = row.over_jobs.then(|| format!("jobs {} ", row.jobs));
    format!("{}{} {}", or_empty(jobs), row.cell.bs, row.cell.method)
}

fn with_figures<'a>(columns: Columns<TuneFigureRow<'a>>) -> Columns<TuneFigureRow<'a>> {
    let columns = columns
        .figure("iops", PerSecond, More, |row| row.measured.rates.iops)
        .figure("kiops_per_core", Kilo, More, |r| r.measured.kiops_per_core)
        .figure("cpu", Percent, Less, |row| row.measured.rates.cpu_pct)
        .figure("mean", Ns, Less, |of| of.measured.latencies.mean_ns)
        .figure("p50", Ns, Less, |of| of.measured.latencies.p50_ns)
        .figure("p99", Ns, Less, |of| of.measured.latencies.p99_ns)
        .figure("p99.9", Ns, Less, |of| of.measured.latencies.p999_ns)
        .figure("miss_rate", Share, Less, |r| {
            if_sleeps(r, r.measured.rates.miss_rate)
        })
        .figure("effective_sleep", Ns, Neither, |row| {
            if_sleeps(row, row.measured.rates.effective_sleep_ns)
        })
        .not_compared()
        .figure("slept", Ns, Neither, |r| if_sleeps(r, r.measured.slept_ns))
        .figure("busy", Cpus, Less, |row| row.measured.busy_cpus)
        .figure("switches_per_io", Number, Less, |r| {
            r.measured.switches_per_io
        })
        .figure("relative_iops", Number, More, |r| relative(r, |of| of.iops))
        .figure("relative_kiops_per_core", Number, More, |row| {
            relative(row, |of| of.kiops_per_core)
        });
    let columns = add_prediction(columns, "predicted", |cell| cell.predicted);
    let columns = add_prediction(columns, "predicted_first", |cell| cell.predicted_first);
    add_kinds(columns, |row| &row.measured.kinds)
}

/// A figure of sleeps; `None` for a method that never sleeps.
fn if_sleeps(row: &TuneFigureRow, value: Interval) -> Option<Interval> {
    row.cell.sleeping.then_some(value)
}

fn relative(row: &TuneFigureRow, value: fn(&Relative) -> Interval) -> Option<Interval> {
    row.cell.relative.as_ref().map(value)
}

/// A predicted figure: its name, unit and direction, and the function that reads it.
type PredictedFigure = (&'static str, FigureUnit, Better, fn(&Prediction) -> f64);

const PREDICTED: [PredictedFigure; 6] = [
    ("iops", PerSecond, More, |of| of.rates.iops),
    ("cpu", Percent, Less, |of| of.rates.cpu_pct),
    ("kiops_per_core", Kilo, More, |of| of.kiops_per_core),
    ("miss_rate", Share, Less, |of| of.rates.miss_rate),
    ("effective_sleep", Ns, Neither, |p| {
        p.rates.effective_sleep_ns
    }),
    ("p99", Ns, Less, |of| of.p99_ns),
];

fn add_prediction<'a>(
    columns: Columns<TuneFigureRow<'a>>,
    when: &str,
    prediction: fn(&Cell) -> Option<Prediction>,
) -> Columns<TuneFigureRow<'a>> {
    let figures = PREDICTED.into_iter();
    figures.fold(columns, |columns, (name, unit, better, value)| {
        let value = move |row: &TuneFigureRow| prediction(row.cell).as_ref().map(value);
        columns.figure(format!("{when}_{name}"), unit, better, value)
    })
}

type KernelFigureRow<'a> = (&'a KernelMethod, &'a KernelMeasured, &'a SimulatedFigures);

measures!(KernelTuneResult, columns(), |result| {
    let methods = result.methods.iter();
    methods.map(|of| (of, &of.measured, &of.predicted))
});

fn columns<'a>() -> Columns<KernelFigureRow<'a>> {
    Columns::new(|(of, ..): &KernelFigureRow| Some(of.method.to_string()))
        .key("method", |(of, ..)| of.method.name().to_owned())
        .key("policy", |(of, ..)| of.method.detail())
        .key("role", |(of, ..)| of.role.text().to_owned())
        .figure("iops", PerSecond, More, |(_, m, _)| m.rates.iops)
        .figure("kiops_per_core", Kilo, More, |(_, m, _)| m.kiops_per_core)
        .figure("cpu", Percent, Less, |(_, m, _)| m.rates.cpu_pct)
        .figure("miss_rate", Share, Less, |(_, m, _)| m.rates.miss_rate)
        .figure("effective_sleep", Ns, Neither, |(_, m, _)| {
            m.rates.effective_sleep_ns
        })
        .figure("d2c_p99", Ns, Less, |(_, m, _)| m.d2c_p99_ns)
        .not_compared()
        .figure("relative_iops", Number, More, |(of, ..)| of.relative.iops)
        .figure("relative_kiops_per_core", Number, More, |(of, ..)| {
            of.relative.kiops_per_core
        })
        .figure("predicted_iops", PerSecond, More, |(.., p)| p.rates.iops)
        .figure("predicted_kiops_per_core", Kilo, More, |(.., p)| {
            p.kiops_per_core
        })
        .figure("predicted_cpu", Percent, Less, |(.., p)| p.rates.cpu_pct)
        .figure("predicted_miss_rate", Share, Less, |(.., p)| {
            p.rates.miss_rate
        })
        .figure("predicted_effective_sleep", Ns, Neither, |(.., p)| {
            p.rates.effective_sleep_ns
        })
}
