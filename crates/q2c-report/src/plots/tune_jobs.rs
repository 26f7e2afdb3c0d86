//! The answers of `q2c tune` over the number of jobs: interrupts, classic polling, Linux's rule and
//! the recommended method.

use crate::label;
use crate::plot::{Axis, Plot, Quantity, Series, View, with_data};
use q2c_model::Bytes;
use q2c_policy::Method;
use q2c_result::role::{CellRole, Role};
use q2c_result::tune::{Cell, TuneResult};
use q2c_result::tune_jobs::TuneJobsResult;
use q2c_stats::Interval;

/// A line: its name, its colour, its width, and its cell in a run.
struct LineOver {
    name: &'static str,
    colour: &'static str,
    width: f64,
    of: fn(&TuneResult, Bytes) -> Option<&Cell>,
}

const LINES: [LineOver; 4] = [
    LineOver {
        name: "interrupt",
        colour: "@interrupt",
        width: 1.4,
        of: |run, bs| find(run, bs, |cell| cell.method == Method::INTERRUPT),
    },
    LineOver {
        name: "poll",
        colour: "@poll",
        width: 1.4,
        of: |run, bs| find(run, bs, |cell| cell.method == Method::POLL),
    },
    LineOver {
        name: "Linux's rule",
        colour: "@a",
        width: 1.4,
        of: |run, bs| find(run, bs, |cell| cell.role == CellRole::Known(Role::Linux)),
    },
    LineOver {
        name: "recommended",
        colour: "@chosen",
        width: 2.6,
        of: |run, bs| {
            let recommendation = label::recommendation_of(run, bs);
            find(run, bs, |cell| label::is_recommended(cell, recommendation))
        },
    },
];

fn find(run: &TuneResult, bs: Bytes, is_it: impl Fn(&Cell) -> bool) -> Option<&Cell> {
    let mut cells = run.cells.iter();
    cells.find(|cell| cell.bs == bs && is_it(cell))
}

const QUANTITIES: [Quantity<Cell, Interval>; 4] = [
    Quantity::new("IOPS", "KIOPS", 1e-3, |c| c.measured.rates.iops),
    Quantity::new("KIOPS per core", "KIOPS per busy CPU", 1.0, |c| {
        c.measured.kiops_per_core
    }),
    Quantity::new("CPU", "CPU, % of one per job", 1.0, |c| {
        c.measured.rates.cpu_pct
    }),
    // Methods without a sleep have no misses, and no point.
    Quantity::new("miss rate", "missed, %", 100.0, |c| {
        if c.sleeping {
            c.measured.rates.miss_rate
        } else {
            Interval::default()
        }
    }),
];

/// The plot of one block size; none where nothing was measured.
pub(crate) fn plots(result: &TuneJobsResult, bs: Bytes) -> Vec<Plot> {
    let jobs = || result.runs.iter().map(|run| run.job.jobs);
    let view = |quantity: &Quantity<Cell, Interval>| {
        let x = Axis::from_zero("jobs").ticks(jobs());
        let lines = LINES.iter();
        View::new(quantity.label, x, Axis::from_zero(quantity.axis))
            .series(lines.filter_map(|line| series(result, bs, line, quantity)))
    };
    let plot = Plot::new("jobs", "Over the number of jobs", 420)
        .note(format!(
            "{bs}. Medians with [min, max] over the trials. The recommended method is that of each number of jobs; it may be \
             another one at each."
        ))
        .views(QUANTITIES.iter().map(view));
    with_data([plot], &format!("-{}", bs.0))
}

fn series(
    result: &TuneJobsResult,
    bs: Bytes,
    line: &LineOver,
    quantity: &Quantity<Cell, Interval>,
) -> Option<Series> {
    let cells = result.runs.iter();
    let cells = cells.filter_map(|run| Some((f64::from(run.job.jobs), (line.of)(run, bs)?)));
    let is_measured = |(_, cell): &(f64, &Cell)| (quantity.of)(cell).trials > 0;
    let cells: Vec<(f64, &Cell)> = cells.filter(is_measured).collect();
    let points = cells
        .iter()
        .map(|(jobs, cell)| (*jobs, (quantity.of)(cell)));
    let series = Series::medians(line.name, points, quantity.scale)
        .texts(cells.iter().map(|(_, cell)| label::cell(cell)))
        .colour(line.colour)
        .width(line.width)
        .size(7.0)
        .hover("{y} at {x} jobs: {text}");
    (!cells.is_empty()).then_some(series)
}
