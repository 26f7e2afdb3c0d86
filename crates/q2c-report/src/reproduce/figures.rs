//! The figures of a claim in a line: both sides of its comparisons, and the trials that gave the
//! figures.

use crate::phrase::{grouped, joined, listed, some_listed, when};
use crate::quantity::number;
use crate::replay::reasons as invalid_reasons;
use q2c_model::stats::Interval;
use q2c_result::reproduce::{
    ClaimLine, Expected, FailedTrial, JudgedClaim, MeasuredFigure, WhyNot,
};

/// The figures of a claim: the left side of each comparison, and its right side if that has figures
/// as well.
pub(super) fn figures(claim: &ClaimLine) -> Vec<String> {
    let figure = |figure: &MeasuredFigure| {
        let (left, right) = sides(&figure.expects);
        let unit = figure.unit.as_str();
        let against = figure.right.as_ref();
        let against = against.map(|value| format!(" against {right} {}", in_unit(value, unit)));
        let here = in_unit(&figure.over_trials, unit);
        format!("{left} {here}{}", against.unwrap_or_default())
    };
    claim.measured.iter().map(figure).collect()
}

/// The texts of both sides of a comparison, the right one without its tolerance.
fn sides(text: &str) -> (&str, &str) {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            '<' | '>' | '~' if depth == 0 => {
                let right = text[at..].trim_start_matches(['<', '>', '=', '~']);
                let middle = right.split("+-").next().unwrap_or(right);
                return (text[..at].trim(), middle.trim());
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
    let text = format!("{} {unit}", over_trials(value, factor));
    text.trim_end().to_owned()
}

/// A figure with its range over the trials, divided by `factor`.
pub(super) fn over_trials(value: &Interval, factor: f64) -> String {
    let [median, min, max] =
        [value.median, value.min, value.max].map(|figure| number(figure / factor));
    match value.trials {
        0 | 1 => median,
        _ => format!("{median} [{min}, {max}]"),
    }
}

/// The number of trials that gave the figures and the number asked for, with the reasons for the
/// difference. `None` if no trial is left out. Comparisons with equal trials share a sentence.
pub(super) fn judged_from(claim: &JudgedClaim) -> Option<String> {
    let seen = claim.expects.iter().filter(|e| e.measured.is_some());
    let seen: Vec<&Expected> = seen.collect();
    let alike = seen.windows(2).all(|two| two[0].trials == two[1].trials);
    let sentence = |expected: &&Expected| {
        let trials = &expected.trials;
        let of_one = format!(" for `{}`", expected.text);
        let of_one = when(!alike, &of_one);
        let left_out = left_out(&trials.left_out);
        let (judged, asked) = (trials.judged, trials.asked);
        format!("{judged} of {asked} trials{of_one}{left_out}")
    };
    let lacking = seen.iter().filter(|e| e.trials.judged < e.trials.asked);
    let mut sentences: Vec<String> = lacking.map(sentence).collect();
    sentences.dedup();
    some_listed(sentences)
}

/// The trials that were left out, grouped by reason. They are numbered from 1, as in the output of
/// the run.
fn left_out(failed_trials: &[FailedTrial]) -> String {
    let by_reason = grouped(failed_trials.iter().map(|failed| {
        let reason = match &failed.why {
            WhyNot::Told(reason) => reason.clone(),
            WhyNot::Invalid(invalid) => invalid_reasons(invalid),
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

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_result::reproduce::{Basis, ReproduceVerdict, TrialsJudged};

    fn expected(text: &str, judged: u32) -> Expected {
        Expected {
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

    fn claim(expects: Vec<Expected>) -> JudgedClaim {
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
            assert_eq!(sides(text), wanted);
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
            figures(&crate::reproduce::claim_line(&claim)),
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
            judged_from(&claim(expects.collect()))
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
}
