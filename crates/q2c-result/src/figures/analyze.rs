//! The figures of `q2c analyze`: the load, the stages of all I/Os, and those of each group. A trace
//! is one trial.

use super::Better::{Less, More, Neither};
use super::FigureUnit::{Nanoseconds as Ns, Number, PerSecond};
use super::{Columns, Figure, FigureTable, Measures};
use crate::analyze::{AnalyzeResult, StageStats};
use std::collections::BTreeMap;

/// The load, or a stage of the I/Os that have a property (`by`) with one value (`key`) in common.
struct AnalyzeFigureRow<'a> {
    by: &'a str,
    key: &'a str,
    stage: &'a str,
    of: AnalyzeRowSource<'a>,
}

enum AnalyzeRowSource<'a> {
    Load(&'a AnalyzeResult),
    Stage(&'a StageStats),
}

impl Measures for AnalyzeResult {
    fn declared() -> Vec<Figure> {
        columns().declared()
    }

    fn figures(&self) -> FigureTable {
        let load = AnalyzeFigureRow {
            by: "all",
            key: "",
            stage: "",
            of: AnalyzeRowSource::Load(self),
        };
        let mut rows = vec![load];
        rows.extend(stages("all", "", &self.stages));
        for (by, groups) in &self.groups {
            for group in groups {
                rows.extend(stages(by, &group.key, &group.stages));
            }
        }
        let mut table = columns().table(rows);
        for row in &mut table.rows {
            // The time between arrivals is the load's, which neither side is better for.
            row.neutral = ["", "Q2Q"].contains(&row.keys[2].as_str());
        }
        table
    }
}

fn stages<'a>(
    by: &'a str,
    key: &'a str,
    stages: &'a BTreeMap<String, StageStats>,
) -> impl Iterator<Item = AnalyzeFigureRow<'a>> {
    stages.iter().map(move |(stage, stats)| AnalyzeFigureRow {
        by,
        key,
        stage,
        of: AnalyzeRowSource::Stage(stats),
    })
}

/// Of the stages only those of all I/Os are compared.
fn columns<'a>() -> Columns<AnalyzeFigureRow<'a>> {
    Columns::new(compared)
        .key("by", |row: &AnalyzeFigureRow<'a>| row.by.to_owned())
        .key("key", |row| row.key.to_owned())
        .key("stage", |row| row.stage.to_owned())
        .number("iops", PerSecond, More, |row| {
            load(row, |a| Some(a.requests as f64 / (a.span_ns as f64 / 1e9)))
        })
        .number("in_flight", Number, Neither, |row| {
            load(row, |all| all.in_flight.mean)
        })
        .number("mean", Ns, Less, |row| stage(row, |of| of.mean_ns))
        .number("p50", Ns, Less, |row| stage(row, |of| of.p50_ns))
        .number("p99", Ns, Less, |row| stage(row, |of| of.p99_ns))
        .number("p99.9", Ns, Less, |row| stage(row, |of| of.p999_ns))
        .aside()
        .number("n", Number, Neither, |row| match row.of {
            AnalyzeRowSource::Load(all) => all.requests as f64,
            AnalyzeRowSource::Stage(stats) => stats.n as f64,
        })
        .number("min", Ns, Less, |row| stage(row, |of| of.min_ns as f64))
        .number("p90", Ns, Less, |row| stage(row, |of| of.p90_ns))
        .number("p99.99", Ns, Less, |row| stage(row, |of| of.p9999_ns))
        .number("max", Ns, Less, |row| stage(row, |of| of.max_ns as f64))
}

fn compared(row: &AnalyzeFigureRow) -> Option<String> {
    match row.of {
        AnalyzeRowSource::Load(_) => Some("all I/Os".to_owned()),
        AnalyzeRowSource::Stage(_) => (row.by == "all").then(|| row.stage.to_owned()),
    }
}

fn load(row: &AnalyzeFigureRow, value: fn(&AnalyzeResult) -> Option<f64>) -> Option<f64> {
    match row.of {
        AnalyzeRowSource::Load(all) => value(all),
        AnalyzeRowSource::Stage(_) => None,
    }
}

fn stage(row: &AnalyzeFigureRow, value: fn(&StageStats) -> f64) -> Option<f64> {
    match row.of {
        AnalyzeRowSource::Load(_) => None,
        AnalyzeRowSource::Stage(stats) => Some(value(stats)),
    }
}
