//! Grids of throughput over the device's settings, which terminal and page share.

use crate::bench::{name, settings};
use crate::phrase::distinct;
use crate::quantity::number;
use crate::said::ReportTable;
use q2c_result::bench::{BenchCell, BenchPoint, BenchResult};
use std::collections::BTreeSet;

/// A grid of throughput: a row for each value of one axis, a column for each of another.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ThroughputGrid {
    /// What the points have in common.
    pub title: String,
    pub axes: [&'static str; 2],
    pub columns: Vec<u32>,
    pub rows: Vec<GridRow>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct GridRow {
    pub value: u32,
    /// KIOPS of each column; `None` if the point was not measured.
    pub kiops: Vec<Option<f64>>,
    /// The number of jobs at which throughput collapses; only known if the columns are jobs.
    pub collapse: Option<u32>,
}

/// An axis of a grid: its name, and the function that reads its value.
type ThroughputAxis = (&'static str, fn(&BenchPoint) -> Option<u32>);

const QUEUES: ThroughputAxis = ("hardware queues", |p| p.hw_queues);
const JOBS: ThroughputAxis = ("jobs", |p| Some(p.jobs));
const REQUESTS: ThroughputAxis = ("nr_requests", |p| p.nr_requests);

/// The grids of a result: hardware queues over jobs, and `nr_requests` over hardware queues. A grid
/// with fewer than two values on an axis is left out.
pub(crate) fn grids(result: &BenchResult) -> Vec<ThroughputGrid> {
    let mut grids = grids_over(result, QUEUES, JOBS, |p| (p.jobs, p.hw_queues) = (0, None));
    grids.extend(grids_over(result, REQUESTS, QUEUES, |p| {
        (p.nr_requests, p.hw_queues) = (None, None);
    }));
    grids
}

fn grids_over(
    result: &BenchResult,
    rows: ThroughputAxis,
    columns: ThroughputAxis,
    clear: fn(&mut BenchPoint),
) -> Vec<ThroughputGrid> {
    let rest = |point: &BenchPoint| {
        let mut rest = point.clone();
        clear(&mut rest);
        rest
    };
    let measured = || result.cells.iter().filter(|cell| cell.iops.trials > 0);
    let grid = |common: BenchPoint| {
        let cells = measured().filter(|cell| rest(&cell.point) == common);
        grid(result, &cells.collect::<Vec<_>>(), &common, [rows, columns])
    };
    let seen = distinct(measured().map(|cell| rest(&cell.point)));
    seen.into_iter().filter_map(grid).collect()
}

fn grid(
    result: &BenchResult,
    cells: &[&BenchCell],
    common: &BenchPoint,
    [rows, columns]: [ThroughputAxis; 2],
) -> Option<ThroughputGrid> {
    let values = |a: ThroughputAxis| -> BTreeSet<u32> {
        cells.iter().filter_map(|cell| a.1(&cell.point)).collect()
    };
    let (down, across) = (values(rows), values(columns));
    let row = |&value: &u32| {
        let mine = || cells.iter().filter(|c| rows.1(&c.point) == Some(value));
        let at = |column: &u32| {
            let cell = mine().find(|cell| columns.1(&cell.point) == Some(*column));
            cell.map(|cell| cell.iops.median / 1e3)
        };
        let first = mine().next().filter(|_| columns.0 == JOBS.0);
        let curve = first.and_then(|first| {
            let mut point = first.point.clone();
            let mut curves = result.scaling.iter();
            curves.find(|curve| {
                point.jobs = curve.first.jobs;
                curve.first == point
            })
        });
        GridRow {
            value,
            kiops: across.iter().map(at).collect(),
            collapse: curve.and_then(|curve| curve.collapse),
        }
    };
    let settings = settings(None, common.nr_requests);
    let BenchPoint { bs, rw, depth, .. } = common;
    (down.len() > 1 && across.len() > 1).then(|| ThroughputGrid {
        title: format!("{}, {bs} {rw} depth {depth}{settings}", name(common)),
        axes: [rows.0, columns.0],
        rows: down.iter().map(row).collect(),
        columns: across.iter().copied().collect(),
    })
}

impl ThroughputGrid {
    /// The grid as a table in KIOPS; if the columns are jobs, with the collapse of each row.
    pub(crate) fn table(&self) -> ReportTable {
        let columns = self.columns.iter().enumerate();
        let columns = columns.map(|(at, column)| (column.to_string(), Some(at)));
        let collapse = (self.axes[1] == JOBS.0).then(|| ("collapse".to_owned(), None));
        let rows = self.rows.iter();
        let rows = rows.map(|row| (row.value.to_string().into(), row));
        let field = |row: &&GridRow, column: &Option<usize>| match column {
            Some(at) => row.kiops[*at].map(number),
            None => Some(row.collapse.map_or("none".to_owned(), |n| n.to_string())),
        };
        let corner = format!("{} \\ {}", self.axes[0], self.axes[1]);
        ReportTable::grid(&corner, columns.chain(collapse), rows, field)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::said::ReportField;

    /// A stored result with points of two queues, two numbers of requests and two of jobs; the last
    /// point was not measured.
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
        let heads = grids.iter().map(|grid| grid.table().head.join(" "));
        let heads: Vec<String> = heads.collect();
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
        let kiops = |grid: &ThroughputGrid| -> Vec<Vec<Option<f64>>> {
            grid.rows.iter().map(|row| row.kiops.clone()).collect()
        };
        // With 32 requests: one queue has the cells 3 and 4, two have 7 and none.
        assert_eq!(
            kiops(&grids[1]),
            [[Some(3.0), Some(4.0)], [Some(7.0), None]]
        );
        let fields = &grids[1].table().rows[1];
        assert_eq!(fields[2..], ["-", "none"].map(ReportField::from));
        // Two jobs: 4 requests gave 2 and 6, 32 gave 4 and none.
        assert_eq!(
            kiops(&grids[3]),
            [[Some(2.0), Some(6.0)], [Some(4.0), None]]
        );
    }
}
