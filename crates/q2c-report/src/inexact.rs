//! What the figures of an analysis lack, in words: those that parts do not have, or have not
//! exactly, and I/Os that were not wholly seen.

use crate::phrase::{joined, listed, when};
use crate::quantity::{count, percent};
use crate::said::{Said, Weight};
use q2c_result::analyze::{AnalyzeResult, Figure, Inexact, InexactReason};

/// A sentence for each reason, which names its figures; none after one pass.
pub(crate) fn told(result: &AnalyzeResult) -> Vec<String> {
    let mut reasons: Vec<InexactReason> = result.inexact.iter().map(|mark| mark.reason).collect();
    reasons.sort_unstable();
    reasons.dedup();
    let of = |reason| {
        let marks = result.inexact.iter().filter(|mark| mark.reason == reason);
        sentence(reason, &marks.collect::<Vec<_>>())
    };
    reasons.into_iter().map(of).collect()
}

fn sentence(reason: InexactReason, marks: &[&Inexact]) -> String {
    let times = match marks.iter().map(|mark| mark.joins).max().unwrap_or(0) {
        1 => ", once".to_owned(),
        joins => format!(", {} times", count(joins)),
    };
    let (why, times) = match reason {
        InexactReason::Devices => (
            "not known from parts of different devices (the I/Os around the slowest are those of its part)",
            "",
        ),
        InexactReason::LongIo => (
            "I/Os of an earlier part lasted beyond the first I/Os of a later one",
            times.as_str(),
        ),
        InexactReason::Order => (
            "a part began before the last I/O of the part before it",
            times.as_str(),
        ),
        InexactReason::Overflow => ("there were more of them than are told apart", ""),
        InexactReason::Window => ("it has the I/Os of the first part alone", ""),
    };
    let figures = listed(marks.iter().map(|mark| name(mark.figure)));
    format!("{figures}: {why}{times}")
}

fn name(figure: Figure) -> &'static str {
    match figure {
        Figure::MostInFlight => "most I/Os in flight",
        Figure::Activity => "active and idle time",
        Figure::OverLoad => "shares by the number in flight",
        Figure::Tags => "requests in use",
        Figure::Seeks => "seeks and Q2Q",
        Figure::Groups => "groups",
        Figure::Queues => "hardware queues",
        Figure::Excerpts => "single I/Os",
    }
}

/// How many I/Os the percentiles lack, and why; `None` where the result does not say.
pub(crate) fn not_whole(result: &AnalyzeResult) -> Option<Said> {
    let lack = result.not_whole.as_ref()?;
    let all = count(lack.of);
    let reasons = lack.reasons.iter().filter(|(_, n)| **n > 0);
    let reasons = reasons.map(|(reason, n)| format!("{} {}", count(*n), in_words(reason)));
    let warned = result.warnings.iter().any(|of| of.id == "lost-ios");
    let words = match lack.ios {
        0 => format!("none of {all} I/Os"),
        ios => format!(
            "{} of {all} I/Os ({}), which no percentile of Q2C has: {}{}",
            count(ios),
            percent(lack.share),
            joined(reasons, "; "),
            when(warned, "; the warning lost-ios says what to do")
        ),
    };
    Some(Said::new(
        Weight::sure(lack.ios == 0),
        "not wholly seen",
        words,
    ))
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

    fn mark(figure: Figure, reason: InexactReason, joins: u64) -> Inexact {
        Inexact {
            figure,
            reason,
            joins,
        }
    }

    #[test]
    fn each_reason_names_its_figures() {
        let mut result = AnalyzeResult::default();
        assert!(told(&result).is_empty());
        result.inexact = vec![
            mark(Figure::Activity, InexactReason::LongIo, 3),
            mark(Figure::Groups, InexactReason::Overflow, 1),
            mark(Figure::OverLoad, InexactReason::LongIo, 2),
        ];
        assert_eq!(
            told(&result),
            [
                "active and idle time, shares by the number in flight: I/Os of an earlier part lasted beyond the first I/Os of a later one, 3 times",
                "groups: there were more of them than are told apart",
            ]
        );
    }
}
