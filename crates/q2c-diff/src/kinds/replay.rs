//! Results of `q2c replay`: the trials that count.

use super::figure::{COMPLETION, FigureKind, IN_FLIGHT, P50, P99, P999, SUM_Q2C, SUM_U2C};
use super::{Content, Kind, Of, typed};
use q2c_result::replay::{ReplayResult, ReplayTrial, SCHEMA};
use q2c_stats::Interval;
use serde_json::Value;

pub(super) const KIND: Kind = Kind {
    command: "q2c replay",
    schema: SCHEMA,
    figures: FIGURES,
    content,
};

const FIGURES: &[FigureKind] = &[COMPLETION, SUM_U2C, SUM_Q2C, IN_FLIGHT, P50, P99, P999];

fn content(value: &Value) -> Result<Content, serde_json::Error> {
    let result: ReplayResult = typed(value)?;
    Ok(Content {
        figures: figures(&result),
        version: result.version,
        started_unix_s: Some(result.started_unix_s),
        complete: result.complete,
        simulated: result.machine.simulated.is_some(),
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
    of.add(COMPLETION, over(&|t| Some(t.completion_s)));
    of.add(SUM_U2C, over(&|t| Some(t.sum_u2c_s)));
    of.add(SUM_Q2C, over(&|t| t.sum_q2c_s));
    of.add(IN_FLIGHT, over(&|t| Some(t.in_flight.mean)));
    of.add(P50, over(&|t| Some(t.u2c_ns.p50)));
    of.add(P99, over(&|t| Some(t.u2c_ns.p99)));
    of.add(P999, over(&|t| Some(t.u2c_ns.p999)));
    of.figures
}
