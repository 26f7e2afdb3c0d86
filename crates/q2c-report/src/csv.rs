//! Results as CSV: one row per cell, stage or trial, with the unit in the column's name.

mod corun;
mod fs;
mod kernel_tune;
mod place;
mod place_run;
mod poll_search;
mod poll_study;
mod replay;
mod reproduce;
mod scale;
mod stages;

pub use corun::place_calibrate;
pub use fs::fs;
pub use kernel_tune::kernel_tune;
pub use place::{place_sim, place_watch};
pub use place_run::place_run;
pub use poll_search::poll_search;
pub use poll_study::poll_study;
pub use replay::{compare, replay};
pub use reproduce::{reproduce, reproduce_all};
pub use scale::scale;

use crate::columns::{self, Column as Whole};
use crate::mode;
use q2c_result::analyze::AnalyzeResult;
use q2c_result::bench::{BackgroundJobs, BenchCell, BenchResult};
use q2c_result::sweep::SweepResult;
use q2c_result::tune::{Cell, Measured, Prediction, Relative, TuneResult};
use q2c_result::tune_jobs::TuneJobsResult;
use q2c_stats::Interval;

/// A quantity: the name of its column, and the function that reads it.
type Column<T, V> = (&'static str, fn(&T) -> V);

const MEASURED: [Column<Measured, Interval>; 12] = [
    ("iops", |m| m.rates.iops),
    ("cpu_pct", |m| m.rates.cpu_pct),
    ("kiops_per_core", |m| m.kiops_per_core),
    ("miss_rate", |m| m.rates.miss_rate),
    ("effective_sleep_ns", |m| m.rates.effective_sleep_ns),
    ("slept_ns", |m| m.slept_ns),
    ("mean_ns", |m| m.latencies.mean_ns),
    ("p50_ns", |m| m.latencies.p50_ns),
    ("p99_ns", |m| m.latencies.p99_ns),
    ("p999_ns", |m| m.latencies.p999_ns),
    ("busy_cpus", |m| m.busy_cpus),
    ("switches_per_io", |m| m.switches_per_io),
];

/// Quantities relative to polling beside the trials.
const PAIRED: [Column<Relative, Interval>; 2] = [
    ("relative_iops", |r| r.iops),
    ("relative_kiops_per_core", |r| r.kiops_per_core),
];

const PREDICTED: [Column<Prediction, f64>; 6] = [
    ("iops", |p| p.rates.iops),
    ("cpu_pct", |p| p.rates.cpu_pct),
    ("kiops_per_core", |p| p.kiops_per_core),
    ("miss_rate", |p| p.rates.miss_rate),
    ("effective_sleep_ns", |p| p.rates.effective_sleep_ns),
    ("p99_ns", |p| p.p99_ns),
];

/// The cells of `q2c tune`, one row each. A quantity that was not measured or not predicted is an
/// empty field, never a zero.
///
/// # Errors
/// The CSV writer refused a row; the types of the rows leave no way for that.
pub fn cells(result: &TuneResult) -> Result<String, ::csv::Error> {
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    writer.write_record(head())?;
    for cell in &result.cells {
        writer.write_record(row(cell))?;
    }
    text(writer)
}

/// The cells of `q2c tune` over several numbers of jobs: the columns of [`cells`] behind one with
/// the number of jobs.
///
/// # Errors
/// The CSV writer refused a row; the types of the rows leave no way for that.
pub fn tune_jobs(result: &TuneJobsResult) -> Result<String, ::csv::Error> {
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    let with = |jobs: String, row: Vec<String>| std::iter::once(jobs).chain(row);
    writer.write_record(with("jobs".to_owned(), head()))?;
    for run in &result.runs {
        for cell in &run.cells {
            writer.write_record(with(run.job.jobs.to_string(), row(cell)))?;
        }
    }
    text(writer)
}

const BENCH: [Column<BenchCell, Interval>; 14] = [
    ("iops", |c| c.iops),
    ("kiops_per_core", |c| c.kiops_per_core),
    ("cpu_job_s", |c| c.cpu.job_s),
    ("cpu_helper_s", |c| c.cpu.helper_s),
    ("cpu_softirq_s", |c| c.cpu.softirq_s),
    ("cpu_busy_s", |c| c.cpu.busy_s),
    ("cpu_ns_per_io", |c| c.cpu.ns_per_io),
    ("miss_rate", |c| c.miss_rate.unwrap_or_default()),
    ("slept_share", |c| c.slept_share.unwrap_or_default()),
    ("effective_sleep_ns", |c| {
        c.effective_sleep_ns.unwrap_or_default()
    }),
    ("slept_ns", |c| c.slept_ns.unwrap_or_default()),
    ("background_iops", |c| beside(c, |b| b.iops)),
    ("background_alone_iops", |c| beside(c, |b| b.alone_iops)),
    ("rest_busy_cpus", |c| beside(c, |b| b.rest_busy_cpus)),
];

fn beside(cell: &BenchCell, of: fn(&BackgroundJobs) -> Interval) -> Interval {
    cell.background_jobs.as_ref().map(of).unwrap_or_default()
}

/// The points of `q2c bench`, one row each. A quantity that was not measured is an empty field.
///
/// # Errors
/// The CSV writer refused a row; the types of the rows leave no way for that.
pub fn bench(result: &BenchResult) -> Result<String, ::csv::Error> {
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    let point = [
        "engine",
        "method",
        "effective_mode",
        "jobs",
        "depth",
        "bs_bytes",
        "rw",
        "background",
        "hw_queues_asked",
        "nr_requests_asked",
        "device_kind",
        "hw_queues",
        "nr_requests",
        "scheduler",
        "io_poll",
        "trials",
    ];
    let latency = ["lat_mean_ns", "lat_p50_ns", "lat_p99_ns", "lat_p999_ns"];
    let intervals = BENCH
        .iter()
        .flat_map(|(name, _)| ["", "_min", "_max"].map(|end| format!("{name}{end}")));
    let head = point.iter().chain(&latency).map(|&name| name.to_owned());
    writer.write_record(head.chain(intervals).chain(stages::head()))?;
    for cell in &result.cells {
        writer.write_record(bench_row(cell).into_iter().chain(stages::fields(cell)))?;
    }
    text(writer)
}

fn bench_row(cell: &BenchCell) -> Vec<String> {
    let (point, device) = (&cell.point, cell.device.as_ref());
    let mut row = vec![
        point.engine.clone(),
        point.method.to_string(),
        mode::words(&cell.effective_mode.was),
        point.jobs.to_string(),
        point.depth.to_string(),
        point.bs.0.to_string(),
        point.rw.clone(),
        point.background.clone(),
        or_empty(point.hw_queues),
        or_empty(point.nr_requests),
        or_empty(device.map(|d| d.kind.text())),
        or_empty(device.and_then(|d| d.hw_queues)),
        or_empty(device.and_then(|d| d.nr_requests)),
        or_empty(device.and_then(|d| d.scheduler.as_deref())),
        or_empty(device.and_then(|d| d.io_poll).map(u8::from)),
        cell.iops.trials.to_string(),
    ];
    let lat = &cell.lat_ns;
    let measured = |number: f64, of: u32| {
        if of == 0 {
            String::new()
        } else {
            number.to_string()
        }
    };
    row.extend([lat.mean, lat.p50, lat.p99, lat.p999].map(|ns| measured(ns, cell.iops.trials)));
    row.extend(BENCH.iter().flat_map(|(_, of)| interval(&of(cell))));
    row
}

/// The stages of `q2c analyze`: a row for each stage of all I/Os (`by` is `all`), then for each
/// stage of each group.
///
/// # Errors
/// The CSV writer refused a row; the types of the rows leave no way for that.
pub fn analyze(result: &AnalyzeResult) -> Result<String, ::csv::Error> {
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    writer.write_record([
        "by", "key", "stage", "n", "min_ns", "mean_ns", "p50_ns", "p90_ns", "p99_ns", "p999_ns",
        "p9999_ns", "max_ns",
    ])?;
    let groups = result.groups.iter();
    let groups = groups.flat_map(|(by, groups)| {
        groups
            .iter()
            .map(move |group| (by.as_str(), group.key.as_str(), &group.stages))
    });
    for (by, key, stages) in [("all", "", &result.stages)].into_iter().chain(groups) {
        for (stage, of) in stages {
            let percentiles = [
                of.mean_ns,
                of.p50_ns,
                of.p90_ns,
                of.p99_ns,
                of.p999_ns,
                of.p9999_ns,
            ];
            let own = [by, key, stage].map(str::to_owned).into_iter();
            let counts = [of.n.to_string(), of.min_ns.to_string()].into_iter();
            let percentiles = percentiles.map(|ns| ns.to_string()).into_iter();
            writer.write_record(
                own.chain(counts)
                    .chain(percentiles)
                    .chain([of.max_ns.to_string()]),
            )?;
        }
    }
    text(writer)
}

/// The cells of `q2c poll sweep`, one row each. A parameter that a rule does not have is an empty
/// field.
///
/// # Errors
/// The CSV writer refused a row; the types of the rows leave no way for that.
pub fn sweep(result: &SweepResult) -> Result<String, ::csv::Error> {
    let columns = columns::sweep(result);
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    let name = |column: &Whole| match column {
        Whole::Text(name, _) | Whole::Number(name, _) => name.clone(),
    };
    writer.write_record(columns.iter().map(name))?;
    for row in 0..result.cells.len() {
        let one = |column: &Whole| match column {
            Whole::Text(_, texts) => texts[row].clone(),
            Whole::Number(_, numbers) => field(numbers[row]),
        };
        writer.write_record(columns.iter().map(one))?;
    }
    text(writer)
}

/// The text that was written.
fn text(writer: ::csv::Writer<Vec<u8>>) -> Result<String, ::csv::Error> {
    let bytes = writer.into_inner().map_err(|e| e.into_error())?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn head() -> Vec<String> {
    const FACTS: [&str; 8] = [
        "bs_bytes", "method", "policy", "role", "sleeping", "asked", "was", "ios",
    ];
    let mut head: Vec<String> = FACTS.map(str::to_owned).to_vec();
    for (name, _) in MEASURED {
        head.extend(["median", "min", "max"].map(|what| format!("{name}_{what}")));
    }
    for (name, _) in PAIRED {
        head.extend(["median", "min", "max"].map(|what| format!("{name}_{what}")));
    }
    head.push("trials".into());
    for when in ["predicted", "predicted_first"] {
        head.extend(PREDICTED.map(|(name, _)| format!("{when}_{name}")));
    }
    head
}

fn row(cell: &Cell) -> Vec<String> {
    let mut row = vec![
        cell.bs.0.to_string(),
        cell.method.name().to_owned(),
        cell.method.detail(),
        cell.role.text().to_owned(),
        cell.sleeping.to_string(),
        cell.effective_mode.asked.to_string(),
        mode::words(&cell.effective_mode.was),
        cell.measured.ios.to_string(),
    ];
    for (_, of) in MEASURED {
        row.extend(interval(&of(&cell.measured)));
    }
    for (_, of) in PAIRED {
        row.extend(interval(
            &cell.relative.as_ref().map(of).unwrap_or_default(),
        ));
    }
    row.push(cell.measured.rates.iops.trials.to_string());
    for prediction in [cell.predicted, cell.predicted_first] {
        row.extend(PREDICTED.map(|(_, of)| prediction.map_or_else(String::new, |p| field(of(&p)))));
    }
    row
}

fn or_empty<T: ToString>(value: Option<T>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}

fn interval(interval: &Interval) -> [String; 3] {
    match interval.trials {
        0 => Default::default(),
        _ => [interval.median, interval.min, interval.max].map(field),
    }
}

fn field(value: f64) -> String {
    match value.is_finite() {
        true => value.to_string(),
        false => String::new(),
    }
}
