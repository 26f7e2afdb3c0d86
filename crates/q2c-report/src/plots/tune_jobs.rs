//! The results of `q2c tune` over the number of jobs: interrupts, classic polling, Linux's rule and
//! the recommended method.

use crate::label;
use crate::plot::{Plot, PlotAxis, Quantity, with_data};
use q2c_model::Bytes;
use q2c_model::stats::Interval;
use q2c_policy::Method;
use q2c_result::role::{CellRole, Role};
use q2c_result::tune::{Cell, TuneResult};
use q2c_result::tune_jobs::TuneJobsResult;

/// A line: its name, its colour, and a function that says if a cell of a run belongs to it.
type LineOver = (&'static str, &'static str, fn(&Cell, &TuneResult) -> bool);

const RECOMMENDED: &str = "recommended";
const LINES: [LineOver; 4] = [
    ("interrupt", "@interrupt", |c, _| {
        c.method == Method::INTERRUPT
    }),
    ("poll", "@poll", |c, _| c.method == Method::POLL),
    ("Linux's rule", "@a", |c, _| {
        c.role == CellRole::Known(Role::Linux)
    }),
    (RECOMMENDED, "@chosen", |c, run| {
        label::is_recommended(c, label::recommendation_of(run, c.bs))
    }),
];

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
        let miss_rate = c.measured.rates.miss_rate;
        Some(miss_rate).filter(|_| c.sleeping).unwrap_or_default()
    }),
];

/// The plot of one block size; none if nothing was measured.
pub(crate) fn plots(result: &TuneJobsResult, bs: Bytes) -> Vec<Plot> {
    let view = |quantity: &Quantity<Cell, Interval>| {
        let x = PlotAxis::from_zero("jobs").ticks(result.runs.iter().map(|run| run.job.jobs));
        let series = |(name, colour, is_of): &LineOver| {
            let points = result.runs.iter().filter_map(|run| {
                let mut cells = run.cells.iter();
                let cell = cells.find(|cell| cell.bs == bs && is_of(cell, run))?;
                let is_measured = (quantity.of)(cell).trials > 0;
                is_measured.then_some((f64::from(run.job.jobs), cell))
            });
            let names = points.clone().map(|(_, cell)| label::cell(cell));
            let series = quantity.medians(name, points).texts(names);
            let width = if *name == RECOMMENDED { 2.6 } else { 1.4 };
            let series = series.pen(*colour, width).size(7.0);
            series.hover("{y} at {x} jobs: {text}").if_any()
        };
        quantity.view(x).series(LINES.iter().filter_map(series))
    };
    let plot = Plot::new("jobs", "Over the number of jobs", 420)
        .note(format!(
            "{bs}. Medians with [min, max] over the trials. The recommended method is that of each number of jobs; it may be \
             another one at each."
        ))
        .views(QUANTITIES.iter().map(view));
    with_data([plot], &format!("-{}", bs.0))
}
