//! The figures of `q2c fs bench`: each point, or each file system under a program.

use super::Better::{Less, More, Neither};
use super::FigureUnit::{Number, PerSecond, Share};
use super::{Columns, Figure, FigureTable, Measures, or_empty};
use crate::fs::{FsCell, FsResult, ProgramCell};
use q2c_model::stats::{Interval, Ratio};

impl Measures for FsResult {
    fn declared() -> Vec<Figure> {
        point_columns().declared()
    }

    fn figures(&self) -> FigureTable {
        if let Some(program) = &self.program {
            return program_columns().table(&program.cells);
        }
        let rows = self.cells.iter().map(|cell| {
            let ratio = self.ratios.iter().find(|ratio| ratio.point == cell.point);
            (cell, ratio.map(|of| of.shared_to_private))
        });
        point_columns().table(rows)
    }
}

fn program_columns<'a>() -> Columns<&'a ProgramCell> {
    let name = |cell: &&ProgramCell| format!("{} cpus {}", cell.point.fs, cell.point.cpus);
    Columns::new(move |cell| Some(name(cell)))
        .key("fs", |cell| cell.point.fs.to_string())
        .key("cpus", |cell| cell.point.cpus.to_string())
        .figure("value", Number, Neither, |cell| cell.value)
}

fn point_columns<'a>() -> Columns<(&'a FsCell, Option<Ratio>)> {
    Columns::new(|(cell, _): &(&FsCell, Option<Ratio>)| {
        let (p, ahead) = (&cell.point, cell.point.readahead);
        let place = format!("{} {} {} {}", p.fs, p.sharing, p.access, p.caching);
        let ahead = or_empty(ahead.map(|bytes| format!(" readahead {bytes}")));
        Some(format!("{place} {} jobs {}{ahead}", p.bs, p.jobs))
    })
    .key("fs", |(cell, _)| cell.point.fs.to_string())
    .key("sharing", |(cell, _)| cell.point.sharing.to_string())
    .key("access", |(cell, _)| cell.point.access.to_string())
    .key("caching", |(cell, _)| cell.point.caching.to_string())
    .key("jobs", |(cell, _)| cell.point.jobs.to_string())
    .key("bs_bytes", |(cell, _)| cell.point.bs.0.to_string())
    .key("readahead_bytes", |(c, _)| {
        or_empty(c.point.readahead.map(|b| b.0))
    })
    .figure("iops", PerSecond, More, |(cell, _)| cell.iops)
    .figure("in_flight", Number, Neither, |(cell, _)| cell.in_flight)
    .not_compared()
    .figure("from_device", Share, Less, |(cell, _)| cell.from_device)
    .figure("shared_to_private", Number, More, |(_, r)| r.map(interval))
}

/// A ratio as an interval with the ends of the bootstrap; a ratio has no trials of its own.
fn interval(ratio: Ratio) -> Interval {
    Interval {
        median: ratio.ratio,
        min: ratio.low,
        max: ratio.high,
        trials: 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows with the same name would count as trials of one thing.
    #[test]
    fn points_that_differ_in_read_ahead_have_names_of_their_own() {
        let cell = |readahead: Option<u32>| -> FsCell {
            serde_json::from_value(serde_json::json!({
                "fs": "ext4", "sharing": "same", "access": "scan", "caching": "buffered",
                "jobs": 2, "bs_bytes": 4096, "readahead_bytes": readahead,
                "iops": Interval::from_samples(&[1.0]), "in_flight": Interval::from_samples(&[1.0])
            }))
            .unwrap()
        };
        let cells = [cell(None), cell(Some(131_072))];
        let table = point_columns().table(cells.iter().map(|cell| (cell, None)));
        assert_ne!(table.rows[0].of, table.rows[1].of);
    }
}
