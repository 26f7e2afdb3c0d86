//! Throughput and latency over each axis of a benchmark that varies, but for the jobs, which every
//! section has a chart over: with a line for everything else that varies.

use super::series::{Style, styles};
use super::{Chart, View, axis, known, value};
use crate::bench::{beside, name, settings};
use crate::course::jobs;
use crate::heat::grids;
use crate::html::escape::chart_text;
use q2c_result::bench::{BenchCell, BenchPoint, BenchResult};
use serde_json::{Value, json};

/// An axis of a benchmark.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Axis {
    Depth,
    Size,
    Queues,
    Requests,
}

impl Axis {
    const ALL: [Axis; 4] = [Axis::Depth, Axis::Size, Axis::Queues, Axis::Requests];

    fn name(self) -> &'static str {
        match self {
            Axis::Depth => "depth",
            Axis::Size => "block size",
            Axis::Queues => "hardware queues",
            Axis::Requests => "nr_requests",
        }
    }

    /// Where a point stands; `None` where the device was left as it was found.
    fn number(self, point: &BenchPoint) -> Option<u64> {
        match self {
            Axis::Depth => Some(u64::from(point.depth)),
            Axis::Size => Some(point.bs.0),
            Axis::Queues => point.hw_queues.map(u64::from),
            Axis::Requests => point.nr_requests.map(u64::from),
        }
    }

    fn at(self, point: &BenchPoint) -> String {
        match (self, self.number(point)) {
            (Axis::Size, _) => point.bs.to_string(),
            (_, Some(number)) => number.to_string(),
            (_, None) => "as found".to_owned(),
        }
    }

    /// The points of the axis in the order of the cells, which are in that of the axis.
    fn values(self, cells: &[&BenchCell]) -> Vec<String> {
        let mut values: Vec<String> = cells.iter().map(|cell| self.at(&cell.point)).collect();
        values.dedup();
        values
    }

    /// The cells in the order of the axis.
    fn sorted<'a>(self, cells: &[&'a BenchCell]) -> Vec<&'a BenchCell> {
        let mut cells = cells.to_vec();
        cells.sort_by_key(|cell| self.number(&cell.point));
        cells
    }
}

/// A quantity: its name, its unit, and how it is read.
struct Quantity {
    label: &'static str,
    title: &'static str,
    of: fn(&BenchCell) -> f64,
}

const QUANTITIES: [Quantity; 4] = [
    Quantity {
        label: "IOPS",
        title: "KIOPS",
        of: |cell| cell.iops.median * 1e-3,
    },
    Quantity {
        label: "p50",
        title: "median latency, us",
        of: |cell| cell.lat_ns.p50.median * 1e-3,
    },
    Quantity {
        label: "p99",
        title: "p99 latency, us",
        of: |cell| cell.lat_ns.p99.median * 1e-3,
    },
    Quantity {
        label: "KIOPS per core",
        title: "KIOPS per busy CPU",
        of: |cell| known(&cell.kiops_per_core),
    },
];

/// A chart for each axis that has several values.
pub(crate) fn charts(result: &BenchResult) -> Vec<Chart> {
    let cells: Vec<&BenchCell> = result
        .cells
        .iter()
        .filter(|cell| cell.iops.trials > 0)
        .collect();
    // A setting of the device that has a grid needs no chart beside it.
    let grids = grids(result);
    let gridded = |axis: &Axis| grids.iter().any(|grid| grid.axes.contains(&axis.name()));
    let axes = Axis::ALL.into_iter().filter(|axis| !gridded(axis));
    let sorted = axes.map(|axis| (axis, axis.sorted(&cells)));
    let drawn = sorted.filter(|(axis, cells)| axis.values(cells).len() > 1);
    drawn.map(|(axis, cells)| chart(axis, &cells)).collect()
}

/// The chart over an axis of cells in its order.
fn chart(axis: Axis, cells: &[&BenchCell]) -> Chart {
    let values = axis.values(cells);
    let lines = lines(axis, cells);
    let over = json!({
        "title": {"text": axis.name()},
        "type": "category",
        "categoryorder": "array",
        "categoryarray": values,
    });
    let view = |quantity: &Quantity| View {
        label: quantity.label,
        traces: traces(&lines, |cell| json!(axis.at(&cell.point)), quantity.of),
        layout: axis::single(&over, &axis::from_zero(quantity.title)),
    };
    let mut views: Vec<View> = QUANTITIES.iter().map(view).collect();
    // Latency against throughput tells which depth is worth its wait.
    let [iops, _, p99, _] = &QUANTITIES;
    views.push(View {
        label: "p99 against IOPS",
        traces: traces(&lines, |cell| value((iops.of)(cell)), p99.of),
        layout: axis::single(&axis::from_zero(iops.title), &axis::from_zero(p99.title)),
    });
    Chart {
        id: format!("over-{}", axis.name().replace(' ', "-")),
        title: format!("Over the {}", axis.name()).into(),
        note: format!(
            "Medians over the trials; latency from submission to reaping, over all trials. Against \
             IOPS each point is a {}.",
            axis.name()
        ),
        height: 440,
        wide: true,
        views,
    }
}

/// Cells that differ in the axis alone.
struct Line<'a> {
    name: String,
    cells: Vec<&'a BenchCell>,
}

fn lines<'a>(axis: Axis, cells: &[&'a BenchCell]) -> Vec<Line<'a>> {
    let mut lines: Vec<Line<'a>> = Vec::new();
    for &cell in cells {
        let name = rest(axis, &cell.point, cells);
        match lines.iter_mut().find(|line| line.name == name) {
            Some(line) => line.cells.push(cell),
            None => lines.push(Line {
                name,
                cells: vec![cell],
            }),
        }
    }
    lines
}

/// Interface and method, and whatever else varies over the benchmark.
fn rest(axis: Axis, point: &BenchPoint, all: &[&BenchCell]) -> String {
    let varies = |of: &dyn Fn(&BenchPoint) -> String| {
        let own = of(point);
        all.iter().any(|cell| of(&cell.point) != own).then_some(own)
    };
    let mut words = vec![name(point)];
    if axis != Axis::Size {
        words.extend(varies(&|p| p.bs.to_string()));
    }
    words.extend(varies(&|p| p.rw.clone()));
    if axis != Axis::Depth {
        words.extend(varies(&|p| format!("depth {}", p.depth)));
    }
    words.extend(varies(&|p| jobs(p.jobs)));
    let queues = point.hw_queues.filter(|_| axis != Axis::Queues);
    let requests = point.nr_requests.filter(|_| axis != Axis::Requests);
    words.join(" ") + &settings(queues, requests) + &beside(&point.background)
}

fn traces(
    lines: &[Line<'_>],
    x: impl Fn(&BenchCell) -> Value,
    y: fn(&BenchCell) -> f64,
) -> Vec<Value> {
    let trace = |(line, style): (&Line<'_>, &Style)| {
        let texts: Vec<String> = line
            .cells
            .iter()
            .map(|cell| chart_text(&format!("{} depth {}", cell.point.bs, cell.point.depth)))
            .collect();
        json!({
            "type": "scatter",
            "mode": "lines+markers",
            "name": chart_text(&line.name),
            "x": line.cells.iter().map(|cell| x(cell)).collect::<Vec<_>>(),
            "y": line.cells.iter().map(|cell| value(y(cell))).collect::<Vec<_>>(),
            "text": texts,
            "line": {"color": style.colour, "width": 2, "dash": style.dash},
            "marker": {"color": style.colour, "size": 7, "symbol": style.symbol},
            "hovertemplate": "%{y} at %{x}; %{text}",
        })
    };
    let styles = styles(lines.len());
    lines.iter().zip(&styles).map(trace).collect()
}
