//! Results of `q2c replay`: the trials that count.

use super::{Content, Kind, Of, typed};
use q2c_result::diff::Better::{Less, Neither};
use q2c_result::diff::FigureUnit::{Nanoseconds, Number, Seconds};
use q2c_result::replay::{EARLIER, ReplayResult, ReplayTrial, SCHEMA};
use q2c_stats::Interval;
use serde_json::Value;

pub(super) const KIND: Kind = Kind {
    command: "q2c replay",
    schema: SCHEMA,
    earlier: &EARLIER,
    content,
};

fn content(value: &Value) -> Result<Content, serde_json::Error> {
    let result: ReplayResult = typed(value)?;
    Ok(Content {
        figures: figures(&result),
        version: result.version,
        started_unix_s: Some(result.started_unix_s),
        complete: result.complete,
        facts: &["job", "trace", "machine", "targets"],
    })
}

fn figures(result: &ReplayResult) -> Vec<super::DiffFigure> {
    // A trial that is invalid is compared with nothing.
    let trials: Vec<&ReplayTrial> = result.trials.iter().filter(|trial| trial.valid).collect();
    let over = |figure: &dyn Fn(&ReplayTrial) -> Option<f64>| {
        let values: Vec<f64> = trials.iter().filter_map(|trial| figure(trial)).collect();
        Interval::of(&values)
    };
    let mut of = Of::new("replay".to_owned());
    of.add("completion", Seconds, Less, over(&|t| Some(t.completion_s)));
    of.add("sum_u2c", Seconds, Less, over(&|t| Some(t.sum_u2c_s)));
    of.add("sum_q2c", Seconds, Less, over(&|t| t.sum_q2c_s));
    of.add(
        "in_flight",
        Number,
        Neither,
        over(&|t| Some(t.in_flight.mean)),
    );
    for (figure, read) in [
        (
            "p50",
            (|t: &ReplayTrial| t.u2c_ns.p50) as fn(&ReplayTrial) -> f64,
        ),
        ("p99", |t| t.u2c_ns.p99),
        ("p99.9", |t| t.u2c_ns.p999),
    ] {
        of.add(figure, Nanoseconds, Less, over(&|t| Some(read(t))));
    }
    of.figures
}
