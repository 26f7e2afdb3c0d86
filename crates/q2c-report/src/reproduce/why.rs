//! The reasons for a claim's verdict, in words.

use super::figures::judged_from;
use crate::phrase::{grouped, joined, when};
use crate::quantity::{bare, duration};
use q2c_result::reproduce::{JudgedClaim, MissingFigure, Need, NeedKind, Reason, ShortWindow};

/// The reasons for a claim's verdict, in words.
#[must_use]
pub(crate) fn why(claim: &JudgedClaim) -> String {
    let reasons = claim.reasons.iter();
    let mut clauses: Vec<String> = reasons.filter_map(|r| because(r, claim)).collect();
    clauses.extend(absent(claim));
    clauses.extend(judged_from(claim).map(|trials| format!("from {trials}")));
    let is_scale = |reason: &Reason| matches!(reason, Reason::Scaled { .. });
    let scaled = claim.reasons.iter().any(is_scale);
    let reading = format!("read{} as", when(scaled, ", at full length,"));
    clauses.extend(claim.read_as.iter().map(|how| format!("{reading}: {how}")));
    clauses.join("; ")
}

/// The words of a reason; `None` for a missing figure, because [`absent`] groups these.
fn because(reason: &Reason, claim: &JudgedClaim) -> Option<String> {
    Some(match reason {
        Reason::Missing(_) => return None,
        Reason::Lacks => joined(claim.needs.iter().filter(|need| !need.met).map(lack), "; "),
        Reason::ShortWindow(short) => too_short(short),
        Reason::FewTrials { trials, least } => {
            format!("a verdict needs {least} trials, and there are {trials}")
        }
        Reason::Across { text } => format!("some trials meet `{text}`, and some do not"),
        Reason::Outside { text } => format!("no trial meets `{text}`"),
        Reason::Fitted { model } => {
            format!("{model} was fitted to this very figure, so it says nothing of it")
        }
        Reason::Predicted(stated) => format!("predicted by {}: {}", stated.model, stated.error),
        Reason::Scaled { scale } => format!("with all times multiplied by {scale}"),
    })
}

/// A sentence for each reason for which figures are missing.
fn absent(claim: &JudgedClaim) -> Vec<String> {
    grouped(claim.reasons.iter().filter_map(|reason| match reason {
        Reason::Missing(missing) => Some((&missing.why, placed(missing))),
        _ => None,
    }))
    .into_iter()
    .map(|(reason, figures)| format!("there is no {}: {reason}", figures.join(" and no ")))
    .collect()
}

/// A figure with the point at which it is missing, without the axes that the figure's own name
/// contains.
fn placed(missing: &MissingFigure) -> String {
    let named = |at: &String| {
        let mut parts = missing.figure.split(['[', ',', ']']);
        parts.any(|part| part.trim() == at)
    };
    let places = missing.at.iter();
    let places = places.map(|(axis, value)| format!("{axis}={value}"));
    let others = joined(places.filter(|at| !named(at)), " ");
    let at = when(!others.is_empty(), " at ");
    format!("{}{at}{others}", missing.figure)
}

/// Says that a window is too short, and how to make it longer.
fn too_short(short: &ShortWindow) -> String {
    let time = |seconds: f64| bare(&duration(seconds * 1e9));
    let begin = format!(" after the {} in which it begins", time(short.starting_s));
    let begin = when(short.starting_s > 0.0, &begin);
    let (figure, periods) = (&short.figure, short.periods);
    let [period, needed, present] = [short.period_s, short.needed_s, short.present_s].map(time);
    let window = format!(
        "a window of {periods} such periods{begin}, {needed}, and its window has {present}"
    );
    let sentence =
        format!("the sleep rule changes its sleep every {period}, so {figure} needs {window}");
    // Rounded up, so that the window is long enough.
    let scale = (short.scale * short.needed_s / short.present_s * 1e3 - 1e-6).ceil() / 1e3;
    if short.scale < 1.0 && scale.is_finite() {
        format!("{sentence}; use --scale {scale} or more")
    } else {
        format!("{sentence}; make the window longer in the file")
    }
}

fn lack(need: &Need) -> String {
    let (needed, present) = (&need.needed, &need.present);
    let takes = match need.kind {
        NeedKind::Cpus => format!("{needed} CPUs, and this machine has {present}"),
        NeedKind::ThreadsPerCore => format!(
            "cores with {needed} hardware threads each, and those of this machine have {present}"
        ),
        NeedKind::NumaNodes => format!("{needed} NUMA nodes, and this machine has {present}"),
        NeedKind::Kernel => format!("Linux {needed}, and this machine runs {present}"),
        NeedKind::PollQueues => format!("a target with poll queues (present: {present})"),
        NeedKind::HwQueues => {
            format!("a target with {needed} hardware queues (present: {present})")
        }
        NeedKind::Device | NeedKind::Spdk => format!("{needed}: {present}"),
        NeedKind::Module => format!("the kernel module {needed}, which is {present}"),
        NeedKind::FileSystem => format!("the file system {needed}, and this kernel has {present}"),
        NeedKind::Capture => format!("the right to capture the block layer: {present}"),
        NeedKind::Other => format!("{needed} (present: {present})"),
    };
    format!("this takes {takes}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn claim(reasons: &Value, expects: &Value) -> JudgedClaim {
        let claim = json!({
            "says": "it is so", "published": null, "read_as": "so is so",
            "verdict": "cannot-judge", "basis": "measured", "expects": expects,
            "needs": [{"kind": "cpus", "needed": "120", "present": "2", "met": false}],
            "reasons": reasons,
        });
        serde_json::from_value(claim).unwrap()
    }

    fn text_of(reasons: &Value) -> String {
        why(&claim(reasons, &json!([])))
    }

    #[test]
    fn every_reason_has_its_words() {
        let missing = json!({"reason": "missing", "figure": "iops", "at": {"jobs": "8"}, "why": "it is gone"});
        for (reason, words) in [
            (
                json!({"reason": "lacks"}),
                "takes 120 CPUs, and this machine has 2",
            ),
            (missing, "no iops at jobs=8: it is gone"),
            (
                json!({"reason": "few-trials", "trials": 1, "least": 3}),
                "needs 3 trials, and there are 1",
            ),
            (
                json!({"reason": "across", "text": "iops > 1"}),
                "some trials meet `iops > 1`",
            ),
            (
                json!({"reason": "outside", "text": "iops > 1"}),
                "no trial meets `iops > 1`",
            ),
            (
                json!({"reason": "fitted", "model": "it"}),
                "it was fitted to this very figure",
            ),
            (
                json!({"reason": "predicted", "model": "a model", "error": "5 % off"}),
                "a model: 5 % off",
            ),
            (
                json!({"reason": "scaled", "scale": 0.1}),
                "multiplied by 0.1",
            ),
        ] {
            let text = text_of(&json!([reason]));
            assert!(
                text.contains(words) && text.ends_with("as: so is so"),
                "{text}"
            );
        }
    }

    #[test]
    fn figures_that_are_missing_for_one_reason_are_told_together() {
        let missing = |device: &str, reason: &str| {
            let at = json!({"device": device, "mode": "timed"});
            let figure = format!("completion[device={device}]");
            json!({"reason": "missing", "figure": figure, "at": at, "why": reason})
        };
        let reasons = json!([
            missing("a", "none"),
            missing("b", "none"),
            missing("c", "gone")
        ]);
        let wanted = "there is no completion[device=a] at mode=timed and no \
                      completion[device=b] at mode=timed: none; \
                      there is no completion[device=c] at mode=timed: gone; ";
        let text = text_of(&reasons);
        assert!(text.starts_with(wanted), "{text}");
    }

    /// Windows grow with the scale: 90 ms at 0.045 and 70 ms at 0.035 both are 300 ms at 0.15.
    #[test]
    fn a_short_window_is_told_with_the_scale_that_is_enough() {
        let short_window = |present_s: f64, scale: f64| {
            text_of(&json!([{
                "reason": "short-window", "figure": "start.miss_rate", "period_s": 0.1, "periods": 3,
                "starting_s": 0.0, "needed_s": 0.3, "present_s": present_s, "scale": scale,
            }]))
        };
        let text = short_window(0.09, 0.045);
        for part in [
            "every 100 ms",
            "of 3 such periods, 300 ms",
            "has 90 ms",
            "--scale 0.15 or",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(short_window(0.07, 0.035).contains("--scale 0.15 or"));
        // 0.01 * 300 / 70 is 0.04285...
        assert!(short_window(0.07, 0.01).contains("--scale 0.043 or"));
        assert!(!short_window(0.09, 1.0).contains("--scale"));
    }

    #[test]
    fn what_a_machine_lacks_is_told_with_what_it_has() {
        for kind in [
            "kernel",
            "threads-per-core",
            "hw-queues",
            "module",
            "file-system",
        ] {
            let need = json!({"kind": kind, "needed": "this", "present": "that", "met": false});
            let text = lack(&serde_json::from_value(need).unwrap());
            assert!(
                text.contains("this ") && text.contains("that"),
                "{kind}: {text}"
            );
        }
    }

    #[test]
    fn trials_that_were_left_out_are_named_once_each() {
        let gone = |trial: u32| json!({"trial": trial, "why": {"told": "it was gone"}});
        let stopped = json!({"trial": 3, "why": {"invalid": [{"id": "stopped"}]}});
        let expected = |text: &str, left_out: Value| {
            let trials = json!({"judged": 3, "asked": 5, "left_out": left_out});
            let measured = json!({"median": 2.0, "min": 1.0, "max": 3.0, "trials": 3});
            json!({"text": text, "measured": measured, "right": null, "unit": "", "trials": trials,
                "verdict": "holds"})
        };
        let why_text = |expects: Value| why(&claim(&json!([]), &expects));
        let one = expected("x > 1", json!([gone(1), stopped]));
        let text = why_text(json!([one, one]));
        let wanted = "from 3 of 5 trials (left out: trial 2: it was gone; trial 4: it was stopped";
        assert!(text.starts_with(wanted), "{text}");
        // Comparisons that lack different trials have sentences of their own.
        let other = expected("y > 1", json!([gone(0), gone(1)]));
        let text = why_text(json!([expected("x > 1", json!([gone(1), gone(4)])), other]));
        let wanted = "from 3 of 5 trials for `x > 1` (left out: trials 2, 5: it was gone), \
                      3 of 5 trials for `y > 1` (left out: trials 1, 2: it was gone)";
        assert!(text.starts_with(wanted), "{text}");
    }
}
