//! The answers of `q2c tune` over the number of jobs: interrupts, classic polling, Linux's rule and
//! the recommended method.

use super::pareto::whiskers;
use super::{Chart, View, axis, value};
use crate::html::escape::chart_text;
use crate::label;
use q2c_model::Bytes;
use q2c_policy::Method;
use q2c_result::role::{CellRole, Role};
use q2c_result::tune::{Cell, TuneResult};
use q2c_result::tune_jobs::TuneJobsResult;
use q2c_stats::Interval;
use serde_json::{Value, json};

/// A line: its name, its colour, its width, and the cell of it in a run.
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
        of: |run, bs| with(run, bs, |cell| cell.method == Method::INTERRUPT),
    },
    LineOver {
        name: "poll",
        colour: "@poll",
        width: 1.4,
        of: |run, bs| with(run, bs, |cell| cell.method == Method::POLL),
    },
    LineOver {
        name: "Linux's rule",
        colour: "@a",
        width: 1.4,
        of: |run, bs| with(run, bs, |cell| cell.role == CellRole::Known(Role::Linux)),
    },
    LineOver {
        name: "recommended",
        colour: "@chosen",
        width: 2.6,
        of: |run, bs| {
            let recommendation = label::recommendation_of(run, bs);
            with(run, bs, |cell| label::is_recommended(cell, recommendation))
        },
    },
];

fn with(run: &TuneResult, bs: Bytes, wanted: impl Fn(&Cell) -> bool) -> Option<&Cell> {
    let mut cells = run.cells.iter();
    cells.find(|cell| cell.bs == bs && wanted(cell))
}

/// A view: its label, the title of its axis with the unit, the scale, the figure that it shows, and
/// whether methods without a sleep have none.
type Quantity = (&'static str, &'static str, f64, fn(&Cell) -> Interval, bool);

const QUANTITIES: [Quantity; 4] = [
    ("IOPS", "KIOPS", 1e-3, |c| c.measured.rates.iops, false),
    (
        "KIOPS per core",
        "KIOPS per busy CPU",
        1.0,
        |c| c.measured.kiops_per_core,
        false,
    ),
    (
        "CPU",
        "CPU, % of one per job",
        1.0,
        |c| c.measured.rates.cpu_pct,
        false,
    ),
    (
        "miss rate",
        "missed, %",
        100.0,
        |c| c.measured.rates.miss_rate,
        true,
    ),
];

/// The chart of one block size; `None` where nothing was measured.
pub(crate) fn chart(result: &TuneJobsResult, bs: Bytes) -> Option<Chart> {
    let jobs: Vec<u32> = result.runs.iter().map(|run| run.job.jobs).collect();
    let mut over = axis::from_zero("jobs");
    over["tickvals"] = json!(jobs);
    let view = |(label, title, scale, of, of_sleep): Quantity| View {
        label,
        traces: LINES
            .iter()
            .filter_map(|line| trace(result, bs, line, (scale, of, of_sleep)))
            .collect(),
        layout: axis::single(&over, &axis::from_zero(title)),
    };
    let chart = Chart {
        id: format!("jobs-{}", bs.0),
        title: "Over the number of jobs".into(),
        note: format!(
            "{bs}. Medians with [min, max] over the trials. The recommended method is that of each number of jobs; it may be \
             another one at each."
        ),
        height: 420,
        wide: true,
        views: QUANTITIES.map(view).into(),
    };
    Some(chart).filter(Chart::has_data)
}

fn trace(
    result: &TuneJobsResult,
    bs: Bytes,
    line: &LineOver,
    (scale, of, of_sleep): (f64, fn(&Cell) -> Interval, bool),
) -> Option<Value> {
    let cells = result.runs.iter().filter_map(|run| {
        let cell = (line.of)(run, bs)?;
        let there = of(cell).trials > 0 && (cell.sleeping || !of_sleep);
        there.then_some((run.job.jobs, cell))
    });
    let (jobs, cells): (Vec<u32>, Vec<&Cell>) = cells.unzip();
    let side = |part: fn(&Interval) -> f64| -> Value {
        let intervals = cells.iter().map(|cell| of(cell));
        intervals.map(|i| value(part(&i) * scale)).collect()
    };
    let mut bars = whiskers(&Interval::default(), 1.0, line.colour);
    bars["array"] = side(|i| i.max - i.median);
    bars["arrayminus"] = side(|i| i.median - i.min);
    let names: Vec<String> = cells
        .iter()
        .map(|cell| chart_text(&label::cell(cell)))
        .collect();
    (!cells.is_empty()).then(|| {
        json!({
            "type": "scatter",
            "mode": "lines+markers",
            "name": line.name,
            "x": jobs,
            "y": side(|i| i.median),
            "text": names,
            "error_y": bars,
            "line": {"color": line.colour, "width": line.width},
            "marker": {"color": line.colour, "size": 7},
            "hovertemplate": "%{y} at %{x} jobs: %{text}",
        })
    })
}
