//! What the cells of a block size did over the time of one trial.

use super::NS_TO_US;
use super::cell_lines::CellLine;
use crate::plot::{Plot, PlotAxis, PlotSeries, Quantity, View};
use q2c_result::tune;

const QUANTITIES: [Quantity<tune::Series, Vec<Option<f64>>>; 4] = [
    Quantity::new("IOPS", "KIOPS", 1e-3, |s| s.rates.iops.clone()),
    Quantity::new("CPU", "CPU, % of one", 1.0, |s| s.rates.cpu_pct.clone()),
    Quantity::new("mean latency", "mean latency, us", NS_TO_US, |s| {
        known(&s.mean_ns)
    }),
    Quantity::new("p99 latency", "p99 latency, us", NS_TO_US, |s| {
        known(&s.p99_ns)
    }),
];

/// IOPS, CPU or latency of every cell over time, with the miss rate below.
pub(crate) fn throughput(lines: &[CellLine<'_>]) -> Plot {
    let view = |quantity: &Quantity<tune::Series, Vec<Option<f64>>>| {
        let upper = measured(lines).map(|line| {
            let figures = (quantity.of)(&line.cell.series);
            over_time(line, &figures, quantity.scale, quantity.unit())
        });
        let misses = sleeping(lines).map(miss_rate);
        view(quantity.label, quantity.axis).series(upper.chain(misses))
    };
    Plot::new("over-time", "Throughput and miss rate over time", 460)
        .note(
            "The trial with the median IOPS of each cell. A miss is an I/O that was complete before \
             its sleep ended; only sleeping cells can miss.",
        )
        .views(QUANTITIES.iter().map(view))
}

/// Sleep asked and time slept of each sleeping cell over time, with the miss rate below.
pub(crate) fn sleep(lines: &[CellLine<'_>]) -> Plot {
    let series_of = |line: &CellLine<'_>| {
        let series = &line.cell.series;
        let asked = &series.rates.effective_sleep_ns;
        let slept = over_time(line, &known(&series.slept_ns), NS_TO_US, "us slept");
        [
            over_time(line, asked, NS_TO_US, "us asked"),
            slept.dash("dot").unlisted(),
            miss_rate(line),
        ]
    };
    Plot::new("sleep-over-time", "Sleep and miss rate over time", 440)
        .note(
            "Solid: effective sleep (asked, over all I/Os). Dotted: slept, from call to return, over those that \
             slept. Where every I/O slept, the wake-up delay lies between them.",
        )
        .view(view("sleep", "sleep, us").series(sleeping(lines).flat_map(series_of)))
}

fn view(label: &'static str, upper: &str) -> View {
    View::new(label, PlotAxis::over_time("time, s"), PlotAxis::new(upper))
        .above(PlotAxis::from_zero("miss rate, %"))
}

fn measured<'a>(lines: &'a [CellLine<'a>]) -> impl Iterator<Item = &'a CellLine<'a>> {
    lines.iter().filter(|line| !line.cell.series.t_s.is_empty())
}

fn sleeping<'a>(lines: &'a [CellLine<'a>]) -> impl Iterator<Item = &'a CellLine<'a>> {
    measured(lines).filter(|line| line.cell.sleeping)
}

/// A line through the figures of the series of a cell, with a gap where there is no reading.
fn over_time(line: &CellLine<'_>, figures: &[Option<f64>], scale: f64, unit: &str) -> PlotSeries {
    let figures = figures.iter().map(|figure| Some((*figure)? * scale));
    line.series(line.cell.series.t_s.iter().copied().zip(figures), unit)
}

fn miss_rate(line: &CellLine<'_>) -> PlotSeries {
    let rates = &line.cell.series.rates.miss_rate;
    over_time(line, rates, 100.0, "% missed").below().unlisted()
}

fn known(figures: &[f64]) -> Vec<Option<f64>> {
    figures.iter().copied().map(Some).collect()
}
