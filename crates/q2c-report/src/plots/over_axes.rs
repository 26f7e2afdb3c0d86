//! Throughput and latency over each axis of a benchmark that varies, with a line for each
//! combination of the others. The jobs are left out, because every section has a plot over them.

use super::over_jobs::QUANTITIES;
use crate::bench::{ThroughputGrid, background_suffix, device_settings, grids, name};
use crate::phrase::{grouped, jobs};
use crate::plot::{
    Colours, Plot, PlotAxis, PlotSeries, Quantity, Style, View, median_or_gap, styles,
};
use q2c_model::Bytes;
use q2c_model::stats::Interval;
use q2c_result::bench::{BenchCell, BenchPoint, BenchResult};
use serde_json::Value;

/// An axis of a benchmark: its name, and the value of a point on it. `None` means that the device's
/// setting was left as it was found.
struct BenchAxis {
    name: &'static str,
    value: fn(&BenchPoint) -> Option<u64>,
}

const DEPTH: &str = "depth";
const BLOCK_SIZE: &str = "block size";
const QUEUES: &str = "hardware queues";
const REQUESTS: &str = "nr_requests";

const AXES: [BenchAxis; 4] = [
    axis(DEPTH, |point| Some(u64::from(point.depth))),
    axis(BLOCK_SIZE, |point| Some(point.bs.0)),
    axis(QUEUES, |point| point.hw_queues.map(u64::from)),
    axis(REQUESTS, |point| point.nr_requests.map(u64::from)),
];

const fn axis(name: &'static str, value: fn(&BenchPoint) -> Option<u64>) -> BenchAxis {
    BenchAxis { name, value }
}

impl BenchAxis {
    fn text(&self, point: &BenchPoint) -> String {
        match (self.value)(point) {
            Some(bytes) if self.name == BLOCK_SIZE => Bytes(bytes).to_string(),
            Some(number) => number.to_string(),
            None => "as found".to_owned(),
        }
    }

    /// The values of cells on this axis. The cells must be sorted by it.
    fn values(&self, cells: &[&BenchCell]) -> Vec<String> {
        let mut values: Vec<String> = cells.iter().map(|cell| self.text(&cell.point)).collect();
        values.dedup();
        values
    }
}

pub(crate) fn plots(result: &BenchResult) -> Vec<Plot> {
    let grids = grids(result);
    let plot = |axis: &BenchAxis| {
        // A device setting that has a grid needs no plot of its own.
        if grids.iter().any(|grid| grid.axes.contains(&axis.name)) {
            return None;
        }
        let cells = result.cells.iter().filter(|cell| cell.iops.trials > 0);
        let mut cells: Vec<&BenchCell> = cells.collect();
        cells.sort_by_key(|cell| (axis.value)(&cell.point));
        (axis.values(&cells).len() > 1).then(|| plot(axis, &cells))
    };
    AXES.iter().filter_map(plot).collect()
}

/// The plot over an axis. The cells must be sorted by it.
fn plot(axis: &BenchAxis, cells: &[&BenchCell]) -> Plot {
    let name = |cell: &&BenchCell| line_name(axis, &cell.point, cells);
    // The cells of one line differ only in this axis.
    let lines = grouped(cells.iter().map(|cell| (name(cell), *cell)));
    let [iops, p50, p99, _, per_core, _] = &QUANTITIES;
    let view = |quantity: &Quantity<BenchCell, Interval>| {
        let x = PlotAxis::names_in_order(axis.name, &axis.values(cells));
        let place = |cell: &BenchCell| axis.text(&cell.point);
        quantity.view(x).series(series(&lines, quantity, place))
    };
    // Latency against throughput tells which depth is worth its wait.
    let [x, y] = [iops.axis, p99.axis].map(PlotAxis::from_zero);
    let against = View::new("p99 against IOPS", x, y);
    let axis = axis.name;
    let id = format!("over-{}", axis.replace(' ', "-"));
    Plot::new(id, format!("Over the {axis}"), 440)
        .note(format!(
            "Medians over the trials; latency from submission to reaping, over all trials. Against \
             IOPS, each point is one value of {axis}."
        ))
        .views([iops, p50, p99, per_core].map(view))
        .view(against.series(series(&lines, p99, |cell| figure(cell, iops))))
}

fn figure(cell: &BenchCell, quantity: &Quantity<BenchCell, Interval>) -> f64 {
    median_or_gap(&(quantity.value)(cell)) * quantity.scale
}

/// The name of a line: interface and method, and the values of all other axes that vary.
fn line_name(axis: &BenchAxis, point: &BenchPoint, cells: &[&BenchCell]) -> String {
    let varies = |get: &dyn Fn(&BenchPoint) -> String| {
        let value = get(point);
        let differs = |cell: &&BenchCell| get(&cell.point) != value;
        cells.iter().any(differs).then_some(value)
    };
    let mut parts = vec![name(point)];
    parts.extend(varies(&|p| p.bs.to_string()).filter(|_| axis.name != BLOCK_SIZE));
    parts.extend(varies(&|p| p.rw.clone()));
    parts.extend(varies(&|p| format!("depth {}", p.depth)).filter(|_| axis.name != DEPTH));
    parts.extend(varies(&|p| jobs(p.jobs)));
    let queues = point.hw_queues.filter(|_| axis.name != QUEUES);
    let requests = point.nr_requests.filter(|_| axis.name != REQUESTS);
    parts.join(" ") + &device_settings(queues, requests) + &background_suffix(&point.background)
}

fn series<X: Into<Value>>(
    lines: &[(String, Vec<&BenchCell>)],
    quantity: &Quantity<BenchCell, Interval>,
    place: impl Fn(&BenchCell) -> X,
) -> Vec<PlotSeries> {
    let series_of = |((name, cells), style): (&(String, Vec<&BenchCell>), &Style)| {
        let points = cells.iter();
        let points = points.map(|cell| (place(cell), figure(cell, quantity)));
        let about = |cell: &&BenchCell| format!("{} depth {}", cell.point.bs, cell.point.depth);
        let line = PlotSeries::dotted_line(name, points).style(style).size(7.0);
        line.texts(cells.iter().map(about))
            .hover("{y} at {x}; {text}")
    };
    let styles = styles(lines.len());
    lines.iter().zip(&styles).map(series_of).collect()
}

/// Throughput over two settings of the device as heat maps.
pub(crate) fn device_grids(result: &BenchResult) -> Vec<Plot> {
    const TITLE: &str = "Throughput over the settings of the device";
    let plot = |(id, grid): (usize, &ThroughputGrid)| {
        let note = format!(
            "KIOPS, {}. Crosses: collapse, throughput has fallen for sure. Gaps were not measured.",
            grid.title
        );
        let plot = Plot::new(format!("grid-{id}"), TITLE, 420);
        plot.note(note).view(grid_view(grid))
    };
    grids(result).iter().enumerate().map(plot).collect()
}

fn grid_view(grid: &ThroughputGrid) -> View {
    let [rows, columns] = grid.axes;
    let map = PlotSeries::heat_map(
        grid.columns.iter().map(u32::to_string).collect(),
        grid.rows.iter().map(|row| row.value.to_string()).collect(),
        grid.rows.iter().map(|row| row.kiops.clone()),
    );
    let fallen = grid.rows.iter();
    let fallen = fallen.filter_map(|row| Some((row.collapse?.to_string(), row.value.to_string())));
    let crosses = PlotSeries::dots("", fallen).unlisted().without_hover();
    View::new("IOPS", PlotAxis::names(columns), PlotAxis::names(rows))
        .colours(Colours::new("KIOPS"))
        .series([
            map.hover_alone(format!("{{x}} {columns}, {{y}} {rows}: {{z:.4g}} KIOPS")),
            crosses.symbol("x").size(10.0),
        ])
}
