//! The figures of `q2c analyze`: the load, the stages of all I/Os, and the stages of each group. A
//! trace counts as one trial.

use super::Better::{Less, More, Neither};
use super::FigureUnit::{Nanoseconds as Ns, Number, PerSecond};
use super::{Columns, Figure, FigureTable, Measures};
use crate::analyze::{AnalyzeResult, StageStats};
use std::collections::BTreeMap;

/// A row: the load, or one stage of the I/Os that share a value of a property.
struct AnalyzeFigureRow<'a> {
    /// The property, the value and the stage.
    keys: [&'a str; 3],
    load: Option<&'a AnalyzeResult>,
    stats: Option<&'a StageStats>,
}

impl Measures for AnalyzeResult {
    fn declared() -> Vec<Figure> {
        columns().declared()
    }

    fn figures(&self) -> FigureTable {
        let load = AnalyzeFigureRow {
            keys: ["all", "", ""],
            load: Some(self),
            stats: None,
        };
        let groups = self.groups.iter().flat_map(|(by, groups)| {
            let groups = groups.iter();
            groups.flat_map(move |group| stage_rows(by, &group.key, &group.stages))
        });
        let rows = std::iter::once(load).chain(stage_rows("all", "", &self.stages));
        let mut table = columns().table(rows.chain(groups));
        for row in &mut table.rows {
            // The last key is the stage: none for the load, and Q2Q is the time between arrivals.
            row.neutral = ["", "Q2Q"].contains(&row.keys[2].as_str());
        }
        table
    }
}

fn stage_rows<'a>(
    by: &'a str,
    key: &'a str,
    stages: &'a BTreeMap<String, StageStats>,
) -> impl Iterator<Item = AnalyzeFigureRow<'a>> {
    stages.iter().map(move |(stage, stats)| AnalyzeFigureRow {
        keys: [by, key, stage],
        load: None,
        stats: Some(stats),
    })
}

/// The columns. `q2c diff` compares only rows of all I/Os, not those of groups.
fn columns<'a>() -> Columns<AnalyzeFigureRow<'a>> {
    let compared = |row: &AnalyzeFigureRow| match (row.load, row.keys) {
        (Some(_), _) => Some("all I/Os".to_owned()),
        (None, [by, _, stage]) => (by == "all").then(|| stage.to_owned()),
    };
    Columns::new(compared)
        .key("by", |row: &AnalyzeFigureRow<'a>| row.keys[0].to_owned())
        .key("key", |row| row.keys[1].to_owned())
        .key("stage", |row| row.keys[2].to_owned())
        .figure("iops", PerSecond, More, |row| {
            let load = row.load?;
            Some(load.requests as f64 / (load.span_ns as f64 / 1e9))
        })
        .figure("in_flight", Number, Neither, |row| row.load?.in_flight.mean)
        .figure("mean", Ns, Less, |row| Some(row.stats?.mean_ns))
        .figure("p50", Ns, Less, |row| Some(row.stats?.p50_ns))
        .figure("p99", Ns, Less, |row| Some(row.stats?.p99_ns))
        .figure("p99.9", Ns, Less, |row| Some(row.stats?.p999_ns))
        .not_compared()
        .figure("n", Number, Neither, |row| {
            let requests = row.load.map(|load| load.requests);
            requests.or(row.stats.map(|stats| stats.n))
        })
        .figure("min", Ns, Less, |row| Some(row.stats?.min_ns))
        .figure("p90", Ns, Less, |row| Some(row.stats?.p90_ns))
        .figure("p99.99", Ns, Less, |row| Some(row.stats?.p9999_ns))
        .figure("max", Ns, Less, |row| Some(row.stats?.max_ns))
}
