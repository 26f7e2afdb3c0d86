//! Grids of throughput over the settings of a device, which terminal and page share.

use crate::bench::{name, settings};
use crate::quantity::number;
use q2c_result::bench::{BenchCell, BenchPoint, BenchResult};
use std::collections::BTreeSet;

/// A grid of throughput: a row for each value of one axis, a column for each of another.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Grid {
    /// What the points have in common.
    pub title: String,
    /// Names of the axes of rows and columns.
    pub axes: [&'static str; 2],
    /// Values of the axis of columns.
    pub columns: Vec<u32>,
    pub rows: Vec<GridRow>,
}

/// A row of a grid.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct GridRow {
    pub value: u32,
    /// KIOPS of each column; `None` where it was not measured.
    pub kiops: Vec<Option<f64>>,
    /// The number of jobs at which throughput collapses, where the columns are jobs.
    pub collapse: Option<u32>,
}

/// An axis of a grid: its name, and the function that reads its value.
type Axis = (&'static str, fn(&BenchPoint) -> Option<u32>);

const QUEUES: Axis = ("hardware queues", |p| p.hw_queues);
const JOBS: Axis = ("jobs", |p| Some(p.jobs));
const REQUESTS: Axis = ("nr_requests", |p| p.nr_requests);

/// The grids of a result: hardware queues over jobs, `nr_requests` over hardware queues; none where
/// an axis has fewer than two values.
pub(crate) fn grids(result: &BenchResult) -> Vec<Grid> {
    let of_jobs = grids_over(result, QUEUES, JOBS, |p| BenchPoint {
        jobs: 0,
        hw_queues: None,
        ..p.clone()
    });
    let of_queues = grids_over(result, REQUESTS, QUEUES, |p| BenchPoint {
        nr_requests: None,
        hw_queues: None,
        ..p.clone()
    });
    of_jobs.into_iter().chain(of_queues).collect()
}

fn grids_over(
    result: &BenchResult,
    rows: Axis,
    columns: Axis,
    rest: fn(&BenchPoint) -> BenchPoint,
) -> Vec<Grid> {
    let mut seen: Vec<BenchPoint> = Vec::new();
    for cell in result.cells.iter().filter(|cell| cell.iops.trials > 0) {
        let common = rest(&cell.point);
        if !seen.contains(&common) {
            seen.push(common);
        }
    }
    let grid = |common: &BenchPoint| {
        let own = result
            .cells
            .iter()
            .filter(|cell| rest(&cell.point) == *common);
        let own: Vec<&BenchCell> = own.filter(|cell| cell.iops.trials > 0).collect();
        grid(result, &own, common, [rows, columns])
    };
    seen.iter().filter_map(grid).collect()
}

fn grid(
    result: &BenchResult,
    own: &[&BenchCell],
    common: &BenchPoint,
    [rows, columns]: [Axis; 2],
) -> Option<Grid> {
    let values = |axis: Axis| -> BTreeSet<u32> {
        own.iter().filter_map(|cell| axis.1(&cell.point)).collect()
    };
    let (down, across) = (values(rows), values(columns));
    let row = |&value: &u32| {
        let in_row = |cell: &&&BenchCell| rows.1(&cell.point) == Some(value);
        let mine: Vec<&BenchCell> = own.iter().filter(in_row).copied().collect();
        let at = |column: &u32| {
            let cell = mine.iter().find(|c| columns.1(&c.point) == Some(*column));
            cell.map(|cell| cell.iops.median / 1e3)
        };
        let curve = || {
            let first = &mine.first()?.point;
            let curves = result.scaling.iter();
            let same = |p: &BenchPoint| BenchPoint {
                jobs: 0,
                ..p.clone()
            };
            curves
                .clone()
                .find(|curve| same(&curve.first) == same(first))?
                .collapse
        };
        GridRow {
            value,
            kiops: across.iter().map(at).collect(),
            collapse: (columns.0 == JOBS.0).then(curve).flatten(),
        }
    };
    (down.len() > 1 && across.len() > 1).then(|| Grid {
        title: format!(
            "{}, {} {} depth {}{}",
            name(common),
            common.bs,
            common.rw,
            common.depth,
            settings(None, common.nr_requests)
        ),
        axes: [rows.0, columns.0],
        rows: down.iter().map(row).collect(),
        columns: across.iter().copied().collect(),
    })
}

impl Grid {
    /// The heads of a table: the axis of rows, each column, and the collapse of each row.
    pub fn head(&self) -> Vec<String> {
        let corner = format!("{} \\ {}", self.axes[0], self.axes[1]);
        let columns = self.columns.iter().map(u32::to_string);
        let last = (self.axes[1] == JOBS.0).then(|| "collapse".to_owned());
        std::iter::once(corner).chain(columns).chain(last).collect()
    }

    /// The rows of a table, in KIOPS; `-` where a point was not measured.
    pub fn fields(&self) -> Vec<Vec<String>> {
        let fields = |row: &GridRow| {
            let kiops = row.kiops.iter();
            let kiops = kiops.map(|kiops| kiops.map_or_else(|| "-".to_owned(), number));
            let collapse = row
                .collapse
                .map_or_else(|| "none".to_owned(), |n| n.to_string());
            let last = (self.axes[1] == JOBS.0).then_some(collapse);
            std::iter::once(row.value.to_string())
                .chain(kiops)
                .chain(last)
                .collect()
        };
        self.rows.iter().map(fields).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A kept result, with points of two queues, two requests and two numbers of
    /// jobs; the last one was not measured.
    fn result() -> BenchResult {
        let text = include_str!("../../q2c/tests/kept/bench-5.json");
        let mut result: BenchResult = serde_json::from_str(text).unwrap();
        let one = result.cells[0].clone();
        let axes =
            [1, 2].map(|queues| [4, 32].map(|requests| [1, 2].map(|n| (queues, requests, n))));
        let cell = |(at, (queues, requests, jobs)): (usize, (u32, u32, u32))| {
            let mut cell = one.clone();
            cell.point.hw_queues = Some(queues);
            cell.point.nr_requests = Some(requests);
            cell.point.jobs = jobs;
            cell.iops.median = 1e3 * (at + 1) as f64;
            cell
        };
        let places = axes.into_iter().flatten().flatten().enumerate();
        result.cells = places.map(cell).collect();
        result.cells[7].iops.trials = 0;
        result
    }

    #[test]
    fn grids_are_queues_over_jobs_and_requests_over_queues() {
        let grids = grids(&result());
        let heads: Vec<String> = grids.iter().map(|grid| grid.head().join(" ")).collect();
        assert_eq!(
            heads,
            [
                "hardware queues \\ jobs 1 2 collapse",
                "hardware queues \\ jobs 1 2 collapse",
                "nr_requests \\ hardware queues 1 2",
                "nr_requests \\ hardware queues 1 2",
            ]
        );
        assert!(
            grids[1].title.ends_with("nr_requests 32"),
            "{}",
            grids[1].title
        );
        let kiops = |grid: &Grid| -> Vec<Vec<Option<f64>>> {
            grid.rows.iter().map(|row| row.kiops.clone()).collect()
        };
        // With 32 requests: one queue has the cells 3 and 4, two have 7 and none.
        assert_eq!(
            kiops(&grids[1]),
            [[Some(3.0), Some(4.0)], [Some(7.0), None]]
        );
        assert_eq!(grids[1].fields()[1][2..], ["-", "none"]);
        // Two jobs: 4 requests gave 2 and 6, 32 gave 4 and none.
        assert_eq!(
            kiops(&grids[3]),
            [[Some(2.0), Some(6.0)], [Some(4.0), None]]
        );
    }
}
