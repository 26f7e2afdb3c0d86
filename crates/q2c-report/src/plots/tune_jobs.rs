//! The answers of `q2c tune` over the number of jobs: interrupts, classic polling, Linux's rule and
//! the recommended method.

use crate::label;
use crate::plot::{Axis, Plot, Quantity, Series, with_data};
use q2c_model::Bytes;
use q2c_policy::Method;
use q2c_result::role::{CellRole, Role};
use q2c_result::tune::{Cell, TuneResult};
use q2c_result::tune_jobs::TuneJobsResult;
use q2c_stats::Interval;

/// A line: its name, its colour, its width, and its cell in a run.
type LineOver = (
    &'static str,
    &'static str,
    f64,
    fn(&TuneResult, Bytes) -> Option<&Cell>,
);

const LINES: [LineOver; 4] = [
    ("interrupt", "@interrupt", 1.4, |run, bs| {
        find(run, bs, |cell| cell.method == Method::INTERRUPT)
    }),
    ("poll", "@poll", 1.4, |run, bs| {
        find(run, bs, |cell| cell.method == Method::POLL)
    }),
    ("Linux's rule", "@a", 1.4, |run, bs| {
        find(run, bs, |cell| cell.role == CellRole::Known(Role::Linux))
    }),
    ("recommended", "@chosen", 2.6, |run, bs| {
        let recommendation = label::recommendation_of(run, bs);
        find(run, bs, |cell| label::is_recommended(cell, recommendation))
    }),
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
        let series = lines.filter_map(|line| series(result, bs, line, quantity));
        quantity.view(x).series(series)
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
    (name, colour, width, of): &LineOver,
    quantity: &Quantity<Cell, Interval>,
) -> Option<Series> {
    let cells = result.runs.iter();
    let cells = cells.filter_map(|run| Some((f64::from(run.job.jobs), of(run, bs)?)));
    let is_measured = |(_, cell): &(f64, &Cell)| (quantity.of)(cell).trials > 0;
    let cells: Vec<(f64, &Cell)> = cells.filter(is_measured).collect();
    let series = quantity
        .medians(name, cells.iter().copied())
        .texts(cells.iter().map(|(_, cell)| label::cell(cell)))
        .pen(*colour, *width)
        .size(7.0)
        .hover("{y} at {x} jobs: {text}");
    (!cells.is_empty()).then_some(series)
}
