//! Results of `q2c analyze`, and traces that were analysed: stages and load. A trace is one trial.

use super::figure::{FigureKind, IN_FLIGHT, IOPS, MEAN, P50, P99, P999};
use super::{Content, Kind, Of, single, typed};
use q2c_result::analyze::{AnalyzeResult, SCHEMA};
use serde_json::Value;

pub(super) const KIND: Kind = Kind {
    command: "q2c analyze",
    schema: SCHEMA,
    figures: FIGURES,
    content,
};

/// The rate is that of the load, which neither side is better for.
const FIGURES: &[FigureKind] = &[IOPS.neutral(), IN_FLIGHT, MEAN, P50, P99, P999];

fn content(value: &Value) -> Result<Content, serde_json::Error> {
    let result: AnalyzeResult = typed(value)?;
    Ok(Content {
        figures: figures(&result),
        version: result.version,
        started_unix_s: None,
        complete: true,
        simulated: false,
        facts: &["input", "layer"],
    })
}

fn figures(result: &AnalyzeResult) -> Vec<super::DiffFigure> {
    let mut all = Of::new("all I/Os".to_owned());
    if result.span_ns > 0 {
        let rate = result.requests as f64 / (result.span_ns as f64 / 1e9);
        all.add(IOPS.neutral(), single(rate));
    }
    if let Some(mean) = result.in_flight.mean {
        all.add(IN_FLIGHT, single(mean));
    }
    let mut figures = all.figures;
    for (stage, stats) in &result.stages {
        let kind = |figure: FigureKind| match stage.as_str() {
            "Q2Q" => figure.neutral(),
            _ => figure,
        };
        let mut of = Of::new(stage.clone());
        of.add(kind(MEAN), single(stats.mean_ns));
        of.add(kind(P50), single(stats.p50_ns));
        of.add(kind(P99), single(stats.p99_ns));
        of.add(kind(P999), single(stats.p999_ns));
        figures.extend(of.figures);
    }
    figures
}
