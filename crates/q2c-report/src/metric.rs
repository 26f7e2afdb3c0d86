//! The columns of the results tables of `q2c tune`, in one list, so that terminal and page cannot
//! differ.

use crate::plots::NS_TO_US;
use crate::quantity;
use MetricSource::{Own, Paired, Sleep};
use q2c_model::stats::Interval;
use q2c_result::tune::{Cell, Measured, Prediction, Relative};

/// How a column reads its numbers from a cell.
enum MetricSource {
    /// Figures of the cell alone.
    Own(fn(&Measured) -> &Interval),
    /// Figures of the cell alone; not shown for a cell that never sleeps.
    Sleep(fn(&Measured) -> &Interval),
    /// Figures of the cell relative to polling beside it; shown with their interval.
    Paired(fn(&Relative) -> &Interval),
}

pub(crate) struct Metric {
    /// Head of the column, with the unit of the numbers as they are after scaling.
    pub head: &'static str,
    scale: f64,
    source: MetricSource,
    predicted: Option<fn(&Prediction) -> f64>,
}

const TO_KILO: f64 = 1e-3;
const PCT: f64 = 100.0;

pub(crate) static METRICS: [Metric; 11] = [
    column("IOPS\n% poll", PCT, Paired(|r| &r.iops)),
    column("per core\nx poll", 1.0, Paired(|r| &r.kiops_per_core)),
    column("IOPS\nK", TO_KILO, Own(|m| &m.rates.iops)).predicted(|p| p.rates.iops),
    column("CPU\n%", 1.0, Own(|m| &m.rates.cpu_pct)).predicted(|p| p.rates.cpu_pct),
    column("per core\nKIOPS", 1.0, Own(|m| &m.kiops_per_core)).predicted(|p| p.kiops_per_core),
    column("miss\n%", PCT, Sleep(|m| &m.rates.miss_rate)).predicted(|p| p.rates.miss_rate),
    column(
        "sleep\nus",
        NS_TO_US,
        Sleep(|m| &m.rates.effective_sleep_ns),
    )
    .predicted(|p| p.rates.effective_sleep_ns),
    column("slept\nus", NS_TO_US, Sleep(|m| &m.slept_ns)),
    column("p50\nus", NS_TO_US, Own(|m| &m.latencies.p50_ns)),
    column("p99\nus", NS_TO_US, Own(|m| &m.latencies.p99_ns)).predicted(|p| p.p99_ns),
    column("p99.9\nus", NS_TO_US, Own(|m| &m.latencies.p999_ns)),
];

const fn column(head: &'static str, scale: f64, source: MetricSource) -> Metric {
    Metric {
        head,
        scale,
        source,
        predicted: None,
    }
}

/// The columns of the table over numbers of jobs: those relative to polling, and those with
/// predictions.
pub(crate) fn jobs_metrics() -> impl Iterator<Item = &'static Metric> {
    let metrics = METRICS.iter();
    metrics.filter(|metric| metric.has_range() || metric.predicted.is_some())
}

impl Metric {
    const fn predicted(self, get: fn(&Prediction) -> f64) -> Metric {
        Metric {
            predicted: Some(get),
            ..self
        }
    }

    /// True if the interval is shown beside the median.
    pub(crate) fn has_range(&self) -> bool {
        matches!(self.source, Paired(_))
    }

    /// The scaled median over the trials; `-` if not measured, or meaningless for this cell.
    pub(crate) fn median(&self, cell: &Cell) -> String {
        let interval = self.interval(cell).copied().unwrap_or_default();
        quantity::median(&interval, self.scale)
    }

    /// The scaled `[min, max]` over the trials; empty with fewer than two trials, or if the column
    /// means nothing for this cell.
    pub(crate) fn range(&self, cell: &Cell) -> String {
        let interval = self.interval(cell).copied().unwrap_or_default();
        quantity::range(&interval, self.scale)
    }

    pub(crate) fn prediction(&self, cell: &Cell) -> String {
        let prediction = cell.predicted.as_ref();
        let prediction = prediction.filter(|_| self.interval(cell).is_some());
        let value = self.predicted.zip(prediction).map(|(get, p)| get(p));
        let text = value.map(|value| quantity::number(value * self.scale));
        text.unwrap_or_default()
    }

    /// The measured interval; `None` if the column means nothing for this cell.
    fn interval<'a>(&self, cell: &'a Cell) -> Option<&'a Interval> {
        match self.source {
            Own(get) => Some(get(&cell.measured)),
            Sleep(get) => cell.sleeping.then(|| get(&cell.measured)),
            Paired(get) => cell.relative.as_ref().map(get),
        }
    }
}
