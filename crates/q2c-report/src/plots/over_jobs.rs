//! Throughput, CPU and throughput per CPU over the number of jobs, with a line for each interface
//! and method.

use crate::bench::{Section, name};
use crate::mode;
use crate::plot::{Axis, Plot, Quantity, Series, Style, styles};
use q2c_result::bench::{BenchCell, BenchResult, Curve};
use q2c_stats::Interval;
use std::collections::BTreeSet;

/// Knee and collapse are found in the first, and marked in it.
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

/// `None` where there is one number of jobs alone: its points would stand above each other.
pub(crate) fn plot(result: &BenchResult, section: &Section, id: usize) -> Option<Plot> {
    let cells = result.cells.iter().filter(|c| section.holds(&c.point));
    let jobs: BTreeSet<u32> = cells.map(|c| c.point.jobs).collect();
    if jobs.len() < 2 {
        return None;
    }
    let view = |(n, quantity): (usize, &Quantity<BenchCell, Interval>)| {
        let x = Axis::from_zero("jobs").ticks(jobs.iter().copied());
        let lines = lines(result, section, quantity, n == 0);
        quantity.view(x).series(lines)
    };
    Some(
        Plot::new(format!("jobs-{id}"), "Over the number of jobs", 460)
            .note(
                "Medians with [min, max] over the trials. Open squares: knee, further jobs add less than a tenth of the first. Crosses: \
                 collapse, throughput has fallen for sure.",
            )
            .views(QUANTITIES.iter().enumerate().map(view)),
    )
}

fn lines(
    result: &BenchResult,
    section: &Section,
    quantity: &Quantity<BenchCell, Interval>,
    is_marked: bool,
) -> Vec<Series> {
    let cells = result.cells.iter();
    let cells = cells.filter(|c| section.holds(&c.point) && c.iops.trials > 0);
    let cells: Vec<&BenchCell> = cells.collect();
    let mut names: Vec<String> = cells.iter().map(|c| name(&c.point)).collect();
    names.dedup();
    let mut series = Vec::new();
    for (line, style) in names.iter().zip(&styles(names.len())) {
        let cells = cells.iter().copied().filter(|c| name(&c.point) == *line);
        let cells: Vec<&BenchCell> = cells.collect();
        series.push(line_over_jobs(line, style, &cells, quantity));
        let mut curves = result.scaling.iter().filter(|_| is_marked);
        let curve = curves.find(|c| name(&c.first) == *line && section.holds(&c.first));
        if let Some(curve) = curve {
            series.extend(marks(curve, style, &cells));
        }
    }
    series
}

fn line_over_jobs(
    line: &str,
    style: &Style,
    cells: &[&BenchCell],
    quantity: &Quantity<BenchCell, Interval>,
) -> Series {
    let points = cells.iter().map(|cell| (f64::from(cell.point.jobs), *cell));
    let was = cells
        .iter()
        .map(|cell| mode::words(&cell.effective_mode.was));
    quantity
        .medians(line, points)
        .style(style)
        .size(7.0)
        .texts(was)
        .hover("{y} at {x} jobs; was {text}")
}

/// Knee and collapse.
fn marks(curve: &Curve, style: &Style, cells: &[&BenchCell]) -> impl Iterator<Item = Series> {
    let mark = |jobs: Option<u32>, symbol: &'static str, name: &str| {
        let cell = cells.iter().find(|c| Some(c.point.jobs) == jobs)?;
        let place = (f64::from(cell.point.jobs), cell.iops.median * 1e-3);
        let mark = Series::dots(name, [place]).unlisted();
        Some(
            mark.colour(style.colour.clone())
                .size(15.0)
                .symbol(symbol)
                .edge(style.colour.clone(), 2.0)
                .hover_alone(format!("{name} at {{x}} jobs")),
        )
    };
    let knee = mark(curve.knee, "square-open", "knee");
    let collapse = mark(curve.collapse, "x-thin", "collapse");
    knee.into_iter().chain(collapse)
}
