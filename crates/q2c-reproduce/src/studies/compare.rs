//! The study of comparisons: the result of `q2c compare`, read as points of traces, devices and
//! modes.

use crate::file::Experiment;
use q2c_result::compare::{CompareResult, DeviceRun};
use q2c_result::replay::ReplayTrial;
use q2c_result::reproduce::{Point, PointTrial};
use std::collections::BTreeMap;

/// The figures of a replayed trace.
pub const FIGURES: [(&str, &str); 3] = [
    (
        "completion",
        "from the schedule's start to the last completion, ns",
    ),
    ("sum_q2c", "sum of Q2C over all requests, ns"),
    ("sum_u2c", "sum of U2C over all requests, ns"),
];

/// The points of an experiment's traces, devices and modes in a result. Traces are found by their
/// names, which are part of the path, and devices by their order; without a result every point says
/// which command makes one.
#[must_use]
pub fn points(experiment: &Experiment, result: Option<&CompareResult>) -> Vec<Point> {
    let point = |at: BTreeMap<String, String>| {
        let found = match result {
            None => Err(format!(
                "there is no result of q2c compare; run `{}` and name its folder with --from",
                experiment.compare.as_deref().unwrap_or_default()
            )),
            Some(result) => run_of(experiment, result, &at),
        };
        match found {
            Ok(run) => Point {
                at,
                trials: trials(run),
                ..Point::default()
            },
            Err(why) => Point {
                at,
                failures: vec![why],
                ..Point::default()
            },
        }
    };
    experiment.points().into_iter().map(point).collect()
}

fn run_of<'a>(
    experiment: &Experiment,
    result: &'a CompareResult,
    at: &BTreeMap<String, String>,
) -> Result<&'a DeviceRun, String> {
    let (trace, mode, device) = (&at["trace"], &at["mode"], &at["device"]);
    let mut all = result.comparisons.iter();
    let found = all.find(|one| one.trace.path.contains(trace) && one.job.mode.name() == mode);
    let found = found.ok_or_else(|| {
        format!("the result has no {mode} replay of a trace whose path has `{trace}` in it")
    })?;
    let devices = experiment.axes.iter().find(|axis| axis.name == "device");
    let nth = devices.and_then(|axis| axis.values.iter().position(|own| own == device));
    let run = nth.and_then(|nth| found.devices.get(nth));
    run.ok_or_else(|| {
        format!(
            "the result compares {} devices, and has no {device}",
            found.devices.len()
        )
    })
}

fn trials(run: &DeviceRun) -> Vec<PointTrial> {
    let trial = |(n, trial): (usize, &ReplayTrial)| {
        let all = [
            ("completion", Some(trial.completion_s)),
            ("sum_q2c", trial.sum_q2c_s),
            ("sum_u2c", Some(trial.sum_u2c_s)),
        ];
        let known = all
            .into_iter()
            .filter_map(|(name, s)| Some((name.to_owned(), s? * 1e9)));
        PointTrial {
            trial: n as u32,
            figures: known.collect(),
            ..PointTrial::default()
        }
    };
    // Trials in which the replayer was late by its own fault, and others of that kind, say nothing.
    let valid = run.trials.iter().filter(|trial| trial.invalid.is_empty());
    valid.enumerate().map(trial).collect()
}
