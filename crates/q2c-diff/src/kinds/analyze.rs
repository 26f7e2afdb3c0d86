//! Results of `q2c analyze`, and traces that were analysed: stages and load. A trace is one trial.

use super::{Content, Kind, Of, single, typed};
use q2c_result::analyze::{AnalyzeResult, SCHEMA};
use q2c_result::diff::Better::{Less, Neither};
use q2c_result::diff::FigureUnit::{Nanoseconds, Number, PerSecond};
use serde_json::Value;

pub(super) const KIND: Kind = Kind {
    command: "q2c analyze",
    schema: SCHEMA,
    earlier: &[],
    content,
};

fn content(value: &Value) -> Result<Content, serde_json::Error> {
    let result: AnalyzeResult = typed(value)?;
    Ok(Content {
        figures: figures(&result),
        version: result.version,
        started_unix_s: None,
        complete: true,
        facts: &["input", "layer"],
    })
}

fn figures(result: &AnalyzeResult) -> Vec<super::DiffFigure> {
    let mut all = Of::new("all I/Os".to_owned());
    // The rate of the load, which neither side is better for.
    if result.span_ns > 0 {
        let rate = result.requests as f64 / (result.span_ns as f64 / 1e9);
        all.add("iops", PerSecond, Neither, single(rate));
    }
    all.add("in_flight", Number, Neither, single(result.in_flight.mean));
    let mut figures = all.figures;
    for (stage, stats) in &result.stages {
        let better = if stage == "Q2Q" { Neither } else { Less };
        let mut of = Of::new(stage.clone());
        for (figure, ns) in [
            ("mean", stats.mean_ns),
            ("p50", stats.p50_ns),
            ("p99", stats.p99_ns),
            ("p99.9", stats.p999_ns),
        ] {
            of.add(figure, Nanoseconds, better, single(ns));
        }
        figures.extend(of.figures);
    }
    figures
}
