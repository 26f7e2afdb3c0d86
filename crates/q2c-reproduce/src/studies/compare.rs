//! The result of `q2c compare`, read as points of traces, devices and modes.

use crate::file::Experiment;
use crate::jobs::AxisValues;
use q2c_result::compare::{CompareFinding, CompareResult, DeviceRun};
use q2c_result::replay::ReplayTrial;
use q2c_result::reproduce::{FailedTrial, Point, PointTrial, TrialFailure};
use std::collections::BTreeMap;

/// The figures of a replayed trace.
pub(crate) const FIGURES: [&str; 3] = [
    "completion", // from the schedule's start to the last completion, ns
    "sum_q2c",    // sum of Q2C over all requests, ns
    "sum_u2c",    // sum of U2C over all requests, ns
];

/// The places of devices in a command that leaves them open.
const OPEN_PLACES: [&str; 2] = ["FIRST", "SECOND"];

/// The words of the experiment's command, with `targets` in the places that it leaves open; `None`
/// without a command, or if a place stays open.
pub fn command_words(experiment: &Experiment, targets: &[String]) -> Option<Vec<String>> {
    let command = experiment.compare.as_deref()?;
    let filled = command.split_whitespace().map(|word| {
        match OPEN_PLACES.iter().position(|place| *place == word) {
            Some(place) => targets.get(place).cloned(),
            None => Some(word.to_owned()),
        }
    });
    filled.collect()
}

/// True if the experiment has a command that leaves its devices open.
pub fn has_open_places(experiment: &Experiment) -> bool {
    experiment.compare.is_some() && command_words(experiment, &[]).is_none()
}

/// The points for an experiment's traces, devices (by index) and modes, taken from a result.
/// Without a result every point names the command that makes one.
pub fn points(experiment: &Experiment, result: Option<&CompareResult>) -> Vec<Point> {
    let point = |at: AxisValues| {
        let no_result = || {
            let command = experiment.compare.as_deref().unwrap_or_default();
            format!(
                "there is no result of q2c compare; name two devices by --on FIRST SECOND, or run \
                 `{command}` and name its folder with --from"
            )
        };
        let replayed = result.ok_or_else(no_result);
        match replayed.and_then(|result| device_run(experiment, result, &at)) {
            Ok(run) => Point {
                predicted: result.is_some_and(|result| result.machine.simulated.is_some()),
                ..replay_point(at, &run.trials, &run.failures)
            },
            Err(reason) => Point {
                at,
                failures: vec![reason],
                ..Point::default()
            },
        }
    };
    experiment.points().into_iter().map(point).collect()
}

/// Requested trials of each replay in a result.
pub fn trials_asked(result: &CompareResult) -> u32 {
    let asked = result.comparisons.iter().map(|one| one.job.trials);
    asked.max().unwrap_or(0)
}

fn device_run<'a>(
    experiment: &Experiment,
    result: &'a CompareResult,
    at: &AxisValues,
) -> Result<&'a DeviceRun, String> {
    let (trace, mode, device) = (&at["trace"], &at["mode"], &at["device"]);
    let comparison = result.comparisons.iter().find(|comparison| {
        comparison.trace.path.contains(trace) && comparison.job.mode.name() == mode
    });
    let comparison = comparison.ok_or_else(|| {
        format!("the result has no {mode} replay of a trace whose path has `{trace}` in it")
    })?;
    check_length(experiment, trace, comparison.trace.length_s)?;
    let is_unlike =
        |finding: &CompareFinding| matches!(finding, CompareFinding::WorkDiffers { .. });
    if comparison.verdict.iter().any(is_unlike) {
        return Err(
            "the devices did not do the same work; see the report of the comparison".to_owned(),
        );
    }
    let devices = experiment.axes.iter().find(|axis| axis.name == "device");
    let index = devices.and_then(|axis| axis.values.iter().position(|known| known == device));
    let run = index.and_then(|index| comparison.devices.get(index));
    let count = comparison.devices.len();
    run.ok_or_else(|| format!("the result compares {count} devices, and has no {device}"))
}

/// Refuses a trace that is not as long as the source's, give or take 5 %.
fn check_length(experiment: &Experiment, trace: &str, length_s: f64) -> Result<(), String> {
    let traces = experiment.axes.iter().find(|axis| axis.name == "trace");
    let index = traces.and_then(|axis| axis.values.iter().position(|known| known == trace));
    let source_s = index.and_then(|index| experiment.compare_lengths.get(index));
    let source_s = source_s.map(|length| length.as_secs_f64());
    match source_s.filter(|source_s| (length_s / source_s - 1.0).abs() > 0.05) {
        Some(source_s) => Err(format!(
            "the trace {trace} lasts {length_s:.3} s, and that of the source {source_s} s"
        )),
        None => Ok(()),
    }
}

fn figures(trial: &ReplayTrial) -> BTreeMap<String, f64> {
    let ns = |seconds: f64| seconds * 1e9;
    crate::figures([
        ("completion", Some(ns(trial.completion_s))),
        ("sum_q2c", trial.sum_q2c_s.map(ns)),
        ("sum_u2c", Some(ns(trial.sum_u2c_s))),
    ])
}

/// The point of a replay. Trials keep their numbers, and invalid ones are left out by name.
fn replay_point(at: AxisValues, trials: &[ReplayTrial], failures: &[String]) -> Point {
    let mut point = Point {
        at,
        failures: failures.to_vec(),
        ..Point::default()
    };
    for (trial, replay) in (0..).zip(trials) {
        if replay.invalid.is_empty() {
            point.trials.push(PointTrial {
                trial,
                figures: figures(replay),
                ..PointTrial::default()
            });
        } else {
            point.failed.push(FailedTrial {
                trial,
                why: TrialFailure::Invalid(replay.invalid.clone()),
            });
        }
    }
    point
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_result::replay::Flaw;

    /// The second and the fourth of five trials are invalid; the others keep their numbers.
    #[test]
    fn invalid_trials_are_named_and_the_others_keep_their_numbers() {
        let bound = vec![Flaw::ReplayerBound];
        let mut trials = [1.0, 2.0, 3.0, 4.0, 5.0].map(|completion_s| ReplayTrial {
            completion_s,
            ..ReplayTrial::default()
        });
        trials[1].invalid.clone_from(&bound);
        trials[3].invalid.clone_from(&bound);
        let point = replay_point(BTreeMap::new(), &trials, &[]);
        let kept = point.trials.iter();
        let kept = kept.map(|trial| (trial.trial, trial.figures["completion"]));
        assert_eq!(kept.collect::<Vec<_>>(), [(0, 1e9), (2, 3e9), (4, 5e9)]);
        let failed: Vec<u32> = point.failed.iter().map(|failed| failed.trial).collect();
        assert_eq!(failed, [1, 3]);
        assert_eq!(point.failed[0].why, TrialFailure::Invalid(bound));
    }
}
