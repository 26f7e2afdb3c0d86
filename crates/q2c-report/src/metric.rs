//! The columns of the results tables of `q2c tune`, in one list, so that terminal and page cannot
//! differ.

use crate::quantity;
use q2c_result::tune::{Cell, Measured, Prediction, Relative};
use q2c_stats::Interval;

/// Where a column's numbers are in a cell.
enum Figure {
    /// Figures of the cell alone.
    Own(fn(&Measured) -> &Interval),
    /// Figures of the cell relative to polling beside it.
    Paired(fn(&Relative) -> &Interval),
}

/// A column of the results table.
pub(crate) struct Metric {
    /// Head of the column.
    pub name: &'static str,
    /// Unit of the numbers below, after `scale`.
    pub unit: &'static str,
    /// Factor from the result's unit to `unit`.
    scale: f64,
    measured: Figure,
    predicted: Option<fn(&Prediction) -> f64>,
    /// Whether the column is empty for a cell that never sleeps.
    of_sleep: bool,
    /// Whether the interval is shown beside the median.
    pub with_range: bool,
    /// Whether it is a column of the table over numbers of jobs.
    over_jobs: bool,
}

const KILO: f64 = 1e-3;
const PERCENT: f64 = 100.0;
const NS_TO_US: f64 = 1e-3;

/// The columns in reading order: figures relative to polling, IOPS, cost in CPU, sleeps and misses,
/// latencies.
pub(crate) static METRICS: [Metric; 11] = [
    paired("IOPS", "% poll", PERCENT, |r| &r.iops),
    paired("per core", "x poll", 1.0, |r| &r.kiops_per_core),
    plain("IOPS", "K", KILO, |m| &m.rates.iops, Some(|p| p.rates.iops)),
    plain(
        "CPU",
        "%",
        1.0,
        |m| &m.rates.cpu_pct,
        Some(|p| p.rates.cpu_pct),
    ),
    plain(
        "per core",
        "KIOPS",
        1.0,
        |m| &m.kiops_per_core,
        Some(|p| p.kiops_per_core),
    ),
    sleep(
        "miss",
        "%",
        PERCENT,
        |m| &m.rates.miss_rate,
        Some(|p| p.rates.miss_rate),
    ),
    sleep(
        "sleep",
        "us",
        NS_TO_US,
        |m| &m.rates.effective_sleep_ns,
        Some(|p| p.rates.effective_sleep_ns),
    ),
    of_one_number(sleep("slept", "us", NS_TO_US, |m| &m.slept_ns, None)),
    of_one_number(plain("p50", "us", NS_TO_US, |m| &m.latencies.p50_ns, None)),
    plain(
        "p99",
        "us",
        NS_TO_US,
        |m| &m.latencies.p99_ns,
        Some(|p| p.p99_ns),
    ),
    of_one_number(plain(
        "p99.9",
        "us",
        NS_TO_US,
        |m| &m.latencies.p999_ns,
        None,
    )),
];

const fn paired(
    name: &'static str,
    unit: &'static str,
    scale: f64,
    measured: fn(&Relative) -> &Interval,
) -> Metric {
    Metric {
        with_range: true,
        ..column(name, unit, scale, Figure::Paired(measured))
    }
}

const fn plain(
    name: &'static str,
    unit: &'static str,
    scale: f64,
    measured: fn(&Measured) -> &Interval,
    predicted: Option<fn(&Prediction) -> f64>,
) -> Metric {
    Metric {
        predicted,
        ..column(name, unit, scale, Figure::Own(measured))
    }
}

const fn column(name: &'static str, unit: &'static str, scale: f64, measured: Figure) -> Metric {
    Metric {
        name,
        unit,
        scale,
        measured,
        predicted: None,
        of_sleep: false,
        with_range: false,
        over_jobs: true,
    }
}

const fn sleep(
    name: &'static str,
    unit: &'static str,
    scale: f64,
    measured: fn(&Measured) -> &Interval,
    predicted: Option<fn(&Prediction) -> f64>,
) -> Metric {
    Metric {
        of_sleep: true,
        ..plain(name, unit, scale, measured, predicted)
    }
}

const fn of_one_number(metric: Metric) -> Metric {
    Metric {
        over_jobs: false,
        ..metric
    }
}

/// The columns of the table over numbers of jobs.
pub(crate) fn over_jobs() -> impl Iterator<Item = &'static Metric> {
    METRICS.iter().filter(|metric| metric.over_jobs)
}

impl Metric {
    /// The median over the trials; `-` when it was not measured or has no meaning for this cell.
    pub(crate) fn median(&self, cell: &Cell) -> String {
        match self.interval(cell) {
            Some(interval) => quantity::median(interval, self.scale),
            None => quantity::NOTHING.to_owned(),
        }
    }

    /// `[min, max]` over the trials; empty with fewer than two trials, or without meaning for this
    /// cell.
    pub(crate) fn range(&self, cell: &Cell) -> String {
        self.interval(cell).map_or_else(String::new, |interval| {
            quantity::range(interval, self.scale)
        })
    }

    /// The predicted value; empty when there is no prediction.
    pub(crate) fn predicted(&self, cell: &Cell) -> String {
        match (self.predicted, &cell.predicted) {
            (Some(of), Some(prediction)) if self.applies(cell) => {
                quantity::number(of(prediction) * self.scale)
            }
            _ => String::new(),
        }
    }

    /// The measured interval; `None` when the column has no meaning for this cell.
    fn interval<'a>(&self, cell: &'a Cell) -> Option<&'a Interval> {
        let found = match self.measured {
            Figure::Own(of) => Some(of(&cell.measured)),
            Figure::Paired(of) => cell.relative.as_ref().map(of),
        };
        found.filter(|_| self.applies(cell))
    }

    fn applies(&self, cell: &Cell) -> bool {
        cell.sleeping || !self.of_sleep
    }
}
