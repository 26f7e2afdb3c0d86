//! A claim in words: its figures, on both sides of its comparisons, the trials that gave them, and
//! the reasons for its verdict.

use crate::phrase::{grouped, joined, listed, listed_if_any, when};
use crate::quantity::{duration, number, trim_zeros};
use crate::replay::invalid_reasons;
use q2c_model::stats::Interval;
use q2c_result::reproduce::{
    ClaimLine, Expectation, FailedTrial, JudgedClaim, MeasuredFigure, MissingFigure, Need,
    NeedKind, Reason, ShortWindow, TrialFailure,
};

/// The figures of a claim: the left side of each comparison, and its right side if that has figures
/// as well.
pub(super) fn claim_figures(claim: &ClaimLine) -> Vec<String> {
    let figure = |figure: &MeasuredFigure| {
        let (left, right) = comparison_sides(&figure.expects);
        let unit = figure.unit.as_str();
        let against = figure.right.as_ref();
        let against = against.map(|it| format!(" against {right} {}", in_unit(it, unit)));
        let value = in_unit(&figure.over_trials, unit);
        format!("{left} {value}{}", against.unwrap_or_default())
    };
    claim.measured.iter().map(figure).collect()
}

/// The texts of both sides of a comparison, the right one without its tolerance.
fn comparison_sides(text: &str) -> (&str, &str) {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            '<' | '>' | '~' if depth == 0 => {
                let right = text[at..].trim_start_matches(['<', '>', '=', '~']);
                let figure = right.split("+-").next().unwrap_or(right);
                return (text[..at].trim(), figure.trim());
            }
            _ => {}
        }
    }
    (text, "")
}

/// A figure with its range over the trials, in the unit of its claim.
fn in_unit(value: &Interval, unit: &str) -> String {
    let factor = match unit {
        "%" => 0.01,
        "us" | "K" => 1e3,
        "ms" | "M" => 1e6,
        "s" => 1e9,
        _ => 1.0,
    };
    let text = format!("{} {unit}", divided_interval(value, factor));
    text.trim_end().to_owned()
}

/// A figure with its range over the trials, divided by `factor`.
pub(super) fn divided_interval(value: &Interval, factor: f64) -> String {
    let [median, min, max] =
        [value.median, value.min, value.max].map(|figure| number(figure / factor));
    match value.trials {
        0 | 1 => median,
        _ => format!("{median} [{min}, {max}]"),
    }
}

/// The number of trials that gave the figures and the number asked for, with the reasons for the
/// difference. `None` if no trial is left out. Comparisons with equal trials share a sentence.
pub(super) fn trials_judged(claim: &JudgedClaim) -> Option<String> {
    let measured = claim.expects.iter().filter(|e| e.measured.is_some());
    let measured: Vec<&Expectation> = measured.collect();
    let same_trials = measured
        .windows(2)
        .all(|pair| pair[0].trials == pair[1].trials);
    let sentence = |expected: &&Expectation| {
        let trials = &expected.trials;
        let of_comparison = format!(" for `{}`", expected.text);
        let of_comparison = when(!same_trials, &of_comparison);
        let left_out = left_out_text(&trials.left_out);
        let (judged, asked) = (trials.judged, trials.asked);
        format!("{judged} of {asked} trials{of_comparison}{left_out}")
    };
    let fewer = measured.iter().filter(|e| e.trials.judged < e.trials.asked);
    let mut sentences: Vec<String> = fewer.map(sentence).collect();
    sentences.dedup();
    listed_if_any(sentences)
}

/// The trials that were left out, grouped by reason. They are numbered from 1, as in the output of
/// the run.
fn left_out_text(failed_trials: &[FailedTrial]) -> String {
    let by_reason = grouped(failed_trials.iter().map(|failed| {
        let reason = match &failed.why {
            TrialFailure::Told(reason) => reason.clone(),
            TrialFailure::Invalid(invalid) => invalid_reasons(invalid),
        };
        (reason, failed.trial + 1)
    }));
    let groups = by_reason.into_iter().map(|(reason, trials)| {
        let s = when(trials.len() > 1, "s");
        format!("trial{s} {}: {reason}", listed(trials))
    });
    let left_out = format!(" (left out: {})", joined(groups, "; "));
    when(!failed_trials.is_empty(), &left_out).to_owned()
}

/// The reasons for a claim's verdict, in words.
#[must_use]
pub(crate) fn reasons(claim: &JudgedClaim) -> String {
    let clauses = claim.reasons.iter();
    let mut clauses: Vec<String> = clauses.filter_map(|r| reason_clause(r, claim)).collect();
    clauses.extend(missing_figures(claim));
    clauses.extend(trials_judged(claim).map(|trials| format!("from {trials}")));
    let is_scale = |reason: &Reason| matches!(reason, Reason::Scaled { .. });
    let scaled = claim.reasons.iter().any(is_scale);
    let reading = format!("read{} as", when(scaled, ", at full length,"));
    clauses.extend(claim.read_as.iter().map(|how| format!("{reading}: {how}")));
    clauses.join("; ")
}

/// The words of a reason; `None` for a missing figure, because [`missing_figures`] groups these.
fn reason_clause(reason: &Reason, claim: &JudgedClaim) -> Option<String> {
    Some(match reason {
        Reason::Missing(_) => return None,
        Reason::Lacks => joined(claim.needs.iter().filter(|need| !need.met).map(lack), "; "),
        Reason::ShortWindow(short) => short_window(short),
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
fn missing_figures(claim: &JudgedClaim) -> Vec<String> {
    grouped(claim.reasons.iter().filter_map(|reason| match reason {
        Reason::Missing(missing) => Some((&missing.why, figure_with_point(missing))),
        _ => None,
    }))
    .into_iter()
    .map(|(reason, figures)| format!("there is no {}: {reason}", figures.join(" and no ")))
    .collect()
}

/// A figure with the point at which it is missing, without the axes that the figure's own name
/// contains.
fn figure_with_point(missing: &MissingFigure) -> String {
    let is_named = |at: &String| {
        let mut parts = missing.figure.split(['[', ',', ']']);
        parts.any(|part| part.trim() == at)
    };
    let places = missing.at.iter();
    let places = places.map(|(axis, value)| format!("{axis}={value}"));
    let others = joined(places.filter(|at| !is_named(at)), " ");
    let at = when(!others.is_empty(), " at ");
    format!("{}{at}{others}", missing.figure)
}

/// Says that a window is too short, and how to make it longer.
fn short_window(short: &ShortWindow) -> String {
    let time = |seconds: f64| trim_zeros(&duration(seconds * 1e9));
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
        NeedKind::Setting => format!(
            "a machine set as q2c doctor wants it by its check {needed}: {present}; see q2c doctor \
             TARGET --fix --only {needed}"
        ),
        NeedKind::NoMachine => {
            return format!("no machine can judge this with q2c, because {needed}");
        }
        NeedKind::Spdk => format!("{needed}: {present}"),
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
    use q2c_result::reproduce::{Basis, ReproduceVerdict, TrialsJudged};
    use serde_json::{Value, json};

    fn expected(text: &str, judged: u32) -> Expectation {
        Expectation {
            text: text.to_owned(),
            measured: Some(Interval::from_samples(&[1.0, 2.0, 4.0])),
            right: None,
            unit: String::new(),
            trials: TrialsJudged {
                judged,
                asked: 5,
                left_out: Vec::new(),
            },
            verdict: ReproduceVerdict::Holds,
        }
    }

    fn claim(expects: Vec<Expectation>) -> JudgedClaim {
        JudgedClaim {
            says: "it is so".to_owned(),
            published: None,
            read_as: None,
            verdict: ReproduceVerdict::Holds,
            basis: Basis::Measured,
            expects,
            needs: Vec::new(),
            reasons: Vec::new(),
        }
    }

    #[test]
    fn sides_end_at_the_comparison_and_not_within_brackets() {
        for (text, wanted) in [
            ("steady.miss_rate > 10 %", ("steady.miss_rate", "10 %")),
            (
                "max(iops over jobs=1..8) <= 3",
                ("max(iops over jobs=1..8)", "3"),
            ),
            (
                "ratio(iops, none) ~ 0.1 +- 0.05",
                ("ratio(iops, none)", "0.1"),
            ),
            (
                "iops[disk=\"a>b\"] >= lowest(iops)",
                ("iops[disk=\"a>b\"]", "lowest(iops)"),
            ),
        ] {
            assert_eq!(comparison_sides(text), wanted);
        }
    }

    #[test]
    fn figures_are_in_the_unit_of_their_claim() {
        let value = Interval::from_samples(&[0.1, 0.2, 0.3]);
        assert_eq!(in_unit(&value, "%"), "20.0 [10.0, 30.0] %");
        assert_eq!(
            in_unit(&Interval::from_samples(&[2_500.0]), "us"),
            "2.50 us"
        );
        assert_eq!(in_unit(&Interval::from_samples(&[0.8]), ""), "0.80");
    }

    #[test]
    fn a_figure_on_the_right_side_is_shown_with_its_interval() {
        let mut both = expected("a.iops > b.iops", 5);
        both.right = Some(Interval::from_samples(&[0.5, 1.5, 3.0]));
        let claim = claim(vec![both, expected("a.iops > 3", 5)]);
        assert_eq!(
            claim_figures(&crate::reproduce::claim_line(&claim)),
            [
                "a.iops 2.00 [1.00, 4.00] against b.iops 1.50 [0.50, 3.00]",
                "a.iops 2.00 [1.00, 4.00]"
            ]
        );
    }

    #[test]
    fn fewer_trials_than_asked_are_told() {
        let judged_text = |c: &[(&str, u32)]| {
            let expects = c.iter().map(|(text, judged)| expected(text, *judged));
            trials_judged(&claim(expects.collect()))
        };
        assert_eq!(judged_text(&[("x > 1", 5), ("y > 1", 5)]), None);
        assert_eq!(
            judged_text(&[("x > 1", 3), ("y > 1", 3)]).unwrap(),
            "3 of 5 trials"
        );
        assert_eq!(
            judged_text(&[("x > 1", 5), ("y > 1", 4)]).unwrap(),
            "4 of 5 trials for `y > 1`"
        );
    }

    fn claim_with(reasons: &Value, expects: &Value) -> JudgedClaim {
        let claim = json!({
            "says": "it is so", "published": null, "read_as": "so is so",
            "verdict": "cannot-judge", "basis": "measured", "expects": expects,
            "needs": [{"kind": "cpus", "needed": "120", "present": "2", "met": false}],
            "reasons": reasons,
        });
        serde_json::from_value(claim).unwrap()
    }

    fn text_of(given: &Value) -> String {
        reasons(&claim_with(given, &json!([])))
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
        let text_of_claim = |expects: Value| reasons(&claim_with(&json!([]), &expects));
        let one = expected("x > 1", json!([gone(1), stopped]));
        let text = text_of_claim(json!([one, one]));
        let wanted = "from 3 of 5 trials (left out: trial 2: it was gone; trial 4: it was stopped";
        assert!(text.starts_with(wanted), "{text}");
        // Comparisons that lack different trials have sentences of their own.
        let other = expected("y > 1", json!([gone(0), gone(1)]));
        let text = text_of_claim(json!([expected("x > 1", json!([gone(1), gone(4)])), other]));
        let wanted = "from 3 of 5 trials for `x > 1` (left out: trials 2, 5: it was gone), \
                      3 of 5 trials for `y > 1` (left out: trials 1, 2: it was gone)";
        assert!(text.starts_with(wanted), "{text}");
    }
}
