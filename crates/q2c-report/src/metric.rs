//! The columns of the results tables of `q2c tune`, in one list, so that terminal and page cannot
//! differ.

use crate::quantity;
use q2c_model::stats::Interval;
use q2c_result::tune::{Cell, Measured, Prediction, Relative};

/// Where a column's numbers are in a cell.
enum MetricSource {
    /// Figures of the cell alone.
    Own(fn(&Measured) -> &Interval),
    /// Figures of the cell relative to polling beside it.
    Paired(fn(&Relative) -> &Interval),
}

pub(crate) struct Metric {
    /// Head of the column, and the unit of the numbers, after `scale`.
    pub head: &'static str,
    scale: f64,
    measured: MetricSource,
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

pub(crate) static METRICS: [Metric; 11] = [
    paired("IOPS\n% poll", PERCENT, |r| &r.iops),
    paired("per core\nx poll", 1.0, |r| &r.kiops_per_core),
    plain("IOPS\nK", KILO, |m| &m.rates.iops).predicted(|p| p.rates.iops),
    plain("CPU\n%", 1.0, |m| &m.rates.cpu_pct).predicted(|p| p.rates.cpu_pct),
    plain("per core\nKIOPS", 1.0, |m| &m.kiops_per_core).predicted(|p| p.kiops_per_core),
    sleep("miss\n%", PERCENT, |m| &m.rates.miss_rate).predicted(|p| p.rates.miss_rate),
    sleep("sleep\nus", NS_TO_US, |m| &m.rates.effective_sleep_ns)
        .predicted(|p| p.rates.effective_sleep_ns),
    sleep("slept\nus", NS_TO_US, |m| &m.slept_ns).of_one_number(),
    plain("p50\nus", NS_TO_US, |m| &m.latencies.p50_ns).of_one_number(),
    plain("p99\nus", NS_TO_US, |m| &m.latencies.p99_ns).predicted(|p| p.p99_ns),
    plain("p99.9\nus", NS_TO_US, |m| &m.latencies.p999_ns).of_one_number(),
];

const fn paired(head: &'static str, scale: f64, measured: fn(&Relative) -> &Interval) -> Metric {
    Metric {
        with_range: true,
        ..column(head, scale, MetricSource::Paired(measured))
    }
}

const fn plain(head: &'static str, scale: f64, measured: fn(&Measured) -> &Interval) -> Metric {
    column(head, scale, MetricSource::Own(measured))
}

const fn sleep(head: &'static str, scale: f64, measured: fn(&Measured) -> &Interval) -> Metric {
    Metric {
        of_sleep: true,
        ..plain(head, scale, measured)
    }
}

const fn column(head: &'static str, scale: f64, measured: MetricSource) -> Metric {
    Metric {
        head,
        scale,
        measured,
        predicted: None,
        of_sleep: false,
        with_range: false,
        over_jobs: true,
    }
}

pub(crate) fn over_jobs() -> impl Iterator<Item = &'static Metric> {
    METRICS.iter().filter(|metric| metric.over_jobs)
}

impl Metric {
    const fn predicted(self, get: fn(&Prediction) -> f64) -> Metric {
        Metric {
            predicted: Some(get),
            ..self
        }
    }

    const fn of_one_number(self) -> Metric {
        Metric {
            over_jobs: false,
            ..self
        }
    }

    /// The median over the trials; `-` when it was not measured or has no meaning for this cell.
    pub(crate) fn median(&self, cell: &Cell) -> String {
        let interval = self.interval(cell).copied().unwrap_or_default();
        quantity::median(&interval, self.scale)
    }

    /// `[min, max]` over the trials; empty with fewer than two trials, or without meaning for this
    /// cell.
    pub(crate) fn range(&self, cell: &Cell) -> String {
        let interval = self.interval(cell).copied().unwrap_or_default();
        quantity::range(&interval, self.scale)
    }

    pub(crate) fn prediction(&self, cell: &Cell) -> String {
        let predicted = cell.predicted.as_ref().filter(|_| self.applies(cell));
        let value = self
            .predicted
            .zip(predicted)
            .map(|(get, prediction)| get(prediction));
        let text = value.map(|value| quantity::number(value * self.scale));
        text.unwrap_or_default()
    }

    /// The measured interval; `None` when the column has no meaning for this cell.
    fn interval<'a>(&self, cell: &'a Cell) -> Option<&'a Interval> {
        let interval = match self.measured {
            MetricSource::Own(get) => Some(get(&cell.measured)),
            MetricSource::Paired(get) => cell.relative.as_ref().map(get),
        };
        interval.filter(|_| self.applies(cell))
    }

    fn applies(&self, cell: &Cell) -> bool {
        cell.sleeping || !self.of_sleep
    }
}
