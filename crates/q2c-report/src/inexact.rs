//! What the figures of an analysis lack, in words: figures that are missing or inexact because the
//! trace was analysed in parts, and I/Os that were seen only in part.

use crate::phrase::{joined, listed, when};
use crate::quantity::{count, percent};
use crate::said::{Note, Weight};
use q2c_result::analyze::{AnalyzeResult, Inexact, InexactFigure, InexactReason};

/// A sentence for each reason, which names its figures; none after an analysis in one pass.
pub(crate) fn sentences(result: &AnalyzeResult) -> Vec<String> {
    let mut reasons: Vec<InexactReason> = result.inexact.iter().map(|mark| mark.reason).collect();
    reasons.sort_unstable();
    reasons.dedup();
    let reason_sentence = |reason| {
        let marks = result.inexact.iter().filter(|mark| mark.reason == reason);
        sentence(reason, &marks.collect::<Vec<_>>())
    };
    reasons.into_iter().map(reason_sentence).collect()
}

fn sentence(reason: InexactReason, marks: &[&Inexact]) -> String {
    let times = match marks.iter().map(|mark| mark.joins).max().unwrap_or(0) {
        1 => ", once".to_owned(),
        joins => format!(", {} times", count(joins)),
    };
    let explanation = match reason {
        InexactReason::Devices => {
            "not known from parts of different devices (the I/Os around the slowest are those of its part)"
        }
        InexactReason::LongIo => {
            "I/Os of an earlier part lasted beyond the first I/Os of a later one"
        }
        InexactReason::Order => "a part began before the last I/O of the part before it",
        InexactReason::Overflow => "there were more of them than are told apart",
        InexactReason::Window => "it has the I/Os of the first part alone",
    };
    let is_counted = matches!(reason, InexactReason::LongIo | InexactReason::Order);
    let times = when(is_counted, &times);
    let figures = listed(marks.iter().map(|mark| name(mark.figure)));
    format!("{figures}: {explanation}{times}")
}

fn name(figure: InexactFigure) -> &'static str {
    match figure {
        InexactFigure::MostInFlight => "most I/Os in flight",
        InexactFigure::Activity => "active and idle time",
        InexactFigure::OverLoad => "shares by the number in flight",
        InexactFigure::Tags => "requests in use",
        InexactFigure::Seeks => "seeks and Q2Q",
        InexactFigure::Groups => "groups",
        InexactFigure::Queues => "hardware queues",
        InexactFigure::Excerpts => "single I/Os",
    }
}

/// The number of I/Os that the percentiles lack, and why; `None` if the result does not say.
pub(crate) fn not_whole(result: &AnalyzeResult) -> Option<Note> {
    let lack = result.not_whole.as_ref()?;
    let total = count(lack.of);
    let reasons = lack.reasons.iter().filter(|(_, n)| **n > 0);
    let reasons = reasons.map(|(reason, n)| format!("{} {}", count(*n), in_words(reason)));
    let warned = result.warnings.iter().any(|w| w.id == "lost-ios");
    let message = match lack.ios {
        0 => format!("none of {total} I/Os"),
        ios => format!(
            "{} of {total} I/Os ({}), which no percentile of Q2C has: {}{}",
            count(ios),
            percent(lack.share),
            joined(reasons, "; "),
            when(warned, "; the warning lost-ios says what to do")
        ),
    };
    let weight = Weight::sure(lack.ios == 0);
    Some(Note::new(weight, "not wholly seen", message))
}

fn in_words(reason: &str) -> &str {
    match reason {
        "completion without queue" => {
            "have no begin: in flight when the recording began, or the kernel did not show their Q"
        }
        "never issued" => "were not handed to the driver until the end of the recording",
        "never completed" => {
            "have no end: in flight when the recording ended, or the kernel did not show their C"
        }
        "queued again, its end not seen" => "have no end: the kernel did not show their C",
        "lost: ring full" => "found no room in the ring of their CPU",
        "lost: too many in flight" => "were too many in flight",
        "times that fall" => "have times that fall, so that they are in no figure",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(figure: InexactFigure, reason: InexactReason, joins: u64) -> Inexact {
        Inexact {
            figure,
            reason,
            joins,
        }
    }

    #[test]
    fn each_reason_names_its_figures() {
        let mut result = AnalyzeResult::default();
        assert!(sentences(&result).is_empty());
        result.inexact = vec![
            mark(InexactFigure::Activity, InexactReason::LongIo, 3),
            mark(InexactFigure::Groups, InexactReason::Overflow, 1),
            mark(InexactFigure::OverLoad, InexactReason::LongIo, 2),
        ];
        assert_eq!(
            sentences(&result),
            [
                "active and idle time, shares by the number in flight: I/Os of an earlier part lasted beyond the first I/Os of a later one, 3 times",
                "groups: there were more of them than are told apart",
            ]
        );
    }
}
