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
    load: Option<&'a AnalyzeResult>,
    stats: Option<&'a StageStats>,
}

impl Measures for AnalyzeResult {
    fn declared() -> Vec<Figure> {
        columns().declared()
    }

    fn figures(&self) -> FigureTable {
        let (by, key, stage) = ("all", "", "");
        let load = AnalyzeFigureRow {
            by,
            key,
            stage,
            load: Some(self),
            stats: None,
        };
        let groups = self.groups.iter().flat_map(|(by, groups)| {
            let groups = groups.iter();
            groups.flat_map(move |group| stages(by, &group.key, &group.stages))
        });
        let rows = std::iter::once(load).chain(stages(by, key, &self.stages));
        let mut table = columns().table(rows.chain(groups));
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
        load: None,
        stats: Some(stats),
    })
}

/// Of the stages only those of all I/Os are compared.
fn columns<'a>() -> Columns<AnalyzeFigureRow<'a>> {
    let compared = |row: &AnalyzeFigureRow| match row.load {
        Some(_) => Some("all I/Os".to_owned()),
        None => (row.by == "all").then(|| row.stage.to_owned()),
    };
    Columns::new(compared)
        .key("by", |row: &AnalyzeFigureRow<'a>| row.by.to_owned())
        .key("key", |row| row.key.to_owned())
        .key("stage", |row| row.stage.to_owned())
        .number("iops", PerSecond, More, |row| {
            let load = row.load?;
            Some(load.requests as f64 / (load.span_ns as f64 / 1e9))
        })
        .number("in_flight", Number, Neither, |row| row.load?.in_flight.mean)
        .number("mean", Ns, Less, |row| Some(row.stats?.mean_ns))
        .number("p50", Ns, Less, |row| Some(row.stats?.p50_ns))
        .number("p99", Ns, Less, |row| Some(row.stats?.p99_ns))
        .number("p99.9", Ns, Less, |row| Some(row.stats?.p999_ns))
        .aside()
        .number("n", Number, Neither, |row| {
            let n = row.load.map(|load| load.requests);
            n.or(row.stats.map(|stats| stats.n)).map(|n| n as f64)
        })
        .number("min", Ns, Less, |row| Some(row.stats?.min_ns as f64))
        .number("p90", Ns, Less, |row| Some(row.stats?.p90_ns))
        .number("p99.99", Ns, Less, |row| Some(row.stats?.p9999_ns))
        .number("max", Ns, Less, |row| Some(row.stats?.max_ns as f64))
}
