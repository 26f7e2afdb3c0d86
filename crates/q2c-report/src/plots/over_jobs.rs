//! Throughput, CPU and throughput per CPU over the number of jobs, with a line for each interface
//! and method.

use crate::bench::{BenchSection, name};
use crate::mode;
use crate::phrase::grouped;
use crate::plot::{Plot, PlotAxis, PlotSeries, Quantity, Style, styles};
use q2c_model::stats::Interval;
use q2c_result::bench::{BenchCell, BenchResult, ThroughputCurve};
use std::collections::BTreeSet;

/// The views of the plot. Knee and collapse are those of the first, and marked in it.
pub(crate) const QUANTITIES: [Quantity<BenchCell, Interval>; 6] = [
    Quantity::new("IOPS", "KIOPS", 1e-3, |c| c.iops),
    Quantity::new("p50", "median latency, us", 1e-3, |c| c.lat_ns.p50),
    Quantity::new("p99", "p99 latency, us", 1e-3, |c| c.lat_ns.p99),
    Quantity::new("CPU", "busy CPUs of the machine", 1.0, |c| c.cpu.busy_s),
    Quantity::new("KIOPS per core", "KIOPS per busy CPU", 1.0, |c| {
        c.kiops_per_core
    }),
    Quantity::new("CPU per I/O", "us of jobs and helpers per I/O", 1e-3, |c| {
        c.cpu.ns_per_io
    }),
];

/// Returns `None` for a single number of jobs, because all points would lie above each other.
pub(crate) fn plot(result: &BenchResult, section: &BenchSection, id: usize) -> Option<Plot> {
    let jobs: BTreeSet<u32> = section.cells(result).map(|c| c.point.jobs).collect();
    let measured = section.cells(result).filter(|c| c.iops.trials > 0);
    let lines = grouped(measured.map(|cell| (name(&cell.point), cell)));
    let view = |(n, quantity): (usize, &Quantity<BenchCell, Interval>)| {
        let mut view = quantity.view(PlotAxis::from_zero("jobs").ticks(jobs.iter().copied()));
        for ((line, cells), style) in lines.iter().zip(&styles(lines.len())) {
            let points = cells.iter().map(|cell| (f64::from(cell.point.jobs), *cell));
            let was = cells.iter();
            let was = was.map(|cell| mode::words(&cell.effective_mode.was));
            let series = quantity.medians(line, points).style(style).texts(was);
            let series = series.size(7.0).hover("{y} at {x} jobs; was {text}");
            view = view.series([series]);
            let is_its = |c: &&ThroughputCurve| name(&c.first) == *line && section.holds(&c.first);
            let curve = result.scaling.iter().find(is_its).filter(|_| n == 0);
            let curve = curve.into_iter();
            view = view.series(curve.flat_map(|curve| marks(curve, style, cells)));
        }
        view
    };
    let plot = Plot::new(format!("jobs-{id}"), "Over the number of jobs", 460)
        .note(
            "Medians with [min, max] over the trials. Open squares: knee, further jobs add less than a tenth of the first. Crosses: \
             collapse, throughput has fallen for sure.",
        )
        .views(QUANTITIES.iter().enumerate().map(view));
    (jobs.len() > 1).then_some(plot)
}

fn marks(
    curve: &ThroughputCurve,
    style: &Style,
    cells: &[&BenchCell],
) -> impl Iterator<Item = PlotSeries> {
    let mark = move |jobs: Option<u32>, symbol, name: &'static str| {
        let cell = cells.iter().find(|c| Some(c.point.jobs) == jobs)?;
        let place = (f64::from(cell.point.jobs), cell.iops.median * 1e-3);
        let mark = PlotSeries::dots(name, [place]).unlisted();
        let mark = mark.colour(&style.colour).size(15.0).symbol(symbol);
        let mark = mark.edge(&style.colour, 2.0);
        Some(mark.hover_alone(format!("{name} at {{x}} jobs")))
    };
    let knee = mark(curve.knee, "square-open", "knee").into_iter();
    knee.chain(mark(curve.collapse, "x-thin", "collapse"))
}
