//! Figures that an analysis made in parts does not have, or has not exactly, in words.

use crate::quantity::count;
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
    let figures: Vec<&str> = marks.iter().map(|mark| name(mark.figure)).collect();
    let joins = marks.iter().map(|mark| mark.joins).max().unwrap_or(0);
    let times = match joins {
        1 => "once".to_owned(),
        joins => format!("{} times", count(joins)),
    };
    let why = match reason {
        InexactReason::Devices => {
            "not known from parts of different devices (the I/Os around the slowest are those of its part)"
                .to_owned()
        }
        InexactReason::LongIo => {
            format!("I/Os of an earlier part lasted beyond the first I/Os of a later one, {times}")
        }
        InexactReason::Order => {
            format!("a part began before the last I/O of the part before it, {times}")
        }
        InexactReason::Overflow => "there were more of them than are told apart".to_owned(),
        InexactReason::Window => "it has the I/Os of the first part alone".to_owned(),
    };
    format!("{}: {why}", figures.join(", "))
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
