//! The figures of `q2c fs bench`: each point, or each file system under a program.

use super::Better::{Less, More, Neither};
use super::FigureUnit::{Number, PerSecond, Share};
use super::{Columns, Figure, FigureTable, Measures, or_empty};
use crate::fs::{FsCell, FsResult, ProgramCell};
use q2c_stats::{Interval, Ratio};

impl Measures for FsResult {
    fn declared() -> Vec<Figure> {
        points().declared()
    }

    fn figures(&self) -> FigureTable {
        if let Some(program) = &self.program {
            return of_program().table(&program.cells);
        }
        let rows = self.cells.iter().map(|cell| {
            let ratio = self.ratios.iter().find(|ratio| ratio.point == cell.point);
            (cell, ratio.map(|of| of.shared_to_private))
        });
        points().table(rows)
    }
}

fn of_program<'a>() -> Columns<&'a ProgramCell> {
    let name = |cell: &&ProgramCell| format!("{} cpus {}", cell.point.fs, cell.point.cpus);
    Columns::new(move |cell| Some(name(cell)))
        .key("fs", |cell| cell.point.fs.to_string())
        .key("cpus", |cell| cell.point.cpus.to_string())
        .figure("value", Number, Neither, |cell| cell.value)
}

fn points<'a>() -> Columns<(&'a FsCell, Option<Ratio>)> {
    Columns::new(|(cell, _): &(&FsCell, Option<Ratio>)| {
        let of = &cell.point;
        Some(format!(
            "{} {} {} {} {} jobs {}",
            of.fs, of.sharing, of.access, of.caching, of.bs, of.jobs
        ))
    })
    .key("fs", |(cell, _)| cell.point.fs.to_string())
    .key("sharing", |(cell, _)| cell.point.sharing.to_string())
    .key("access", |(cell, _)| cell.point.access.to_string())
    .key("caching", |(cell, _)| cell.point.caching.to_string())
    .key("jobs", |(cell, _)| cell.point.jobs.to_string())
    .key("bs_bytes", |(cell, _)| cell.point.bs.0.to_string())
    .key("readahead_bytes", |(cell, _)| {
        or_empty(cell.point.readahead.map(|bytes| bytes.0))
    })
    .figure("iops", PerSecond, More, |(cell, _)| cell.iops)
    .figure("in_flight", Number, Neither, |(cell, _)| cell.in_flight)
    .aside()
    .figure("from_device", Share, Less, |(cell, _)| cell.from_device)
    .figure("shared_to_private", Number, More, |(_, ratio)| {
        ratio.map(interval)
    })
}

/// A ratio as an interval: its ends are those of the bootstrap, and it has no trials of its own.
fn interval(of: Ratio) -> Interval {
    Interval {
        median: of.ratio,
        min: of.low,
        max: of.high,
        trials: 1,
    }
}
