//! Why a trial of a replay is invalid, in words.

use crate::phrase::{joined, when};
use crate::quantity::{bare, duration, number};
use q2c_result::replay::{Invalid, ReplayTrial};

const STOPPED: &str = "it was stopped before the trace's end";

pub(crate) fn reasons(invalid: &[Invalid]) -> String {
    joined(invalid.iter().map(says), "; ")
}

/// The reasons of a trial. That it was stopped is named only if there is no other reason.
pub(super) fn reasons_of(trial: &ReplayTrial) -> String {
    let mut text = reasons(&trial.invalid);
    let is_stopped = |reason: &Invalid| matches!(reason, Invalid::Stopped);
    if !trial.whole && !trial.invalid.iter().any(is_stopped) {
        text += &format!("{}{STOPPED}", when(!text.is_empty(), "; "));
    }
    text
}

pub(super) fn says(reason: &Invalid) -> String {
    match reason {
        Invalid::Stopped => STOPPED.to_owned(),
        Invalid::Failed { requests, first } => {
            format!("{requests} requests failed, the first: {first}")
        }
        Invalid::ReplayerBound => "the replayer was busy all the time and kept far less in flight \
                                   than the trace: its own speed is what was measured"
            .to_owned(),
        Invalid::PartlyCaptured { seen, expected } => format!(
            "the capture saw {seen} of {expected} I/Os: \
             others are queued by the kernel's threads, or another disk's"
        ),
        Invalid::Late {
            p99_ns,
            allowed,
            spare_cpus,
            spin,
            busy_cpus,
        } => {
            let (whose, first) = whose(*busy_cpus);
            let (late, allowed) = (duration(*p99_ns), bare(&duration(allowed.0 as f64)));
            let limit =
                format!("{late} at the 99th percentile, where --max-lateness allows {allowed}");
            let against = against_lateness(*spare_cpus, *spin);
            format!("{whose}: {limit}. {first} {against}, or allow more")
        }
        Invalid::CaptureLost { lost, seen } => format!("the capture missed {lost} of {seen} I/Os"),
    }
}

/// Who caused the lateness, and the first word of the advice. Other work on the CPUs is named if
/// there was some.
fn whose(busy_cpus: Option<f64>) -> (String, &'static str) {
    match busy_cpus {
        None => ("the replayer was late by its own fault".to_owned(), "Use"),
        Some(cpus) => (
            format!(
                "the replayer was late, and not held up by the device ({} CPUs were busy with \
                 other work before the run)",
                number(cpus)
            ),
            "Run on a quiet machine, or use",
        ),
    }
}

fn against_lateness(spare_cpus: bool, spin: bool) -> &'static str {
    match (spare_cpus, spin) {
        (true, false) => "--spin, more --submitters, free CPUs or a lower speed",
        (true, true) => "more --submitters, free CPUs or a lower speed",
        (false, _) => "fewer --submitters, more CPUs or a lower speed",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_model::Nanos;

    fn late(spare_cpus: bool, spin: bool, busy_cpus: Option<f64>) -> Invalid {
        Invalid::Late {
            p99_ns: 143_654_900.0,
            allowed: Nanos(100_000),
            spare_cpus,
            spin,
            busy_cpus,
        }
    }

    #[test]
    fn a_late_replayer_is_told_what_it_has_not_tried() {
        for (reason, words) in [
            (late(true, false, None), "Use --spin, more --submitters,"),
            (late(true, true, None), "Use more --submitters,"),
            (late(false, true, None), "Use fewer --submitters,"),
            (late(true, false, Some(1.9)), "(1.90 CPUs were busy"),
            (late(true, false, Some(1.9)), "quiet machine, or use --spin"),
        ] {
            let sentence = says(&reason);
            let limits = "144 ms at the 99th percentile, where --max-lateness allows 100 us";
            assert!(
                sentence.contains(words) && sentence.contains(limits),
                "{sentence}"
            );
        }
    }

    #[test]
    fn each_reason_has_its_numbers() {
        let first = "read: EIO".to_owned();
        let requests = 2;
        let (seen, expected) = (90, 100);
        for (reason, words) in [
            (
                Invalid::Failed { requests, first },
                "2 requests failed, the first: read: EIO",
            ),
            (Invalid::ReplayerBound, "its own speed"),
            (
                Invalid::PartlyCaptured { seen, expected },
                "saw 90 of 100 I/Os",
            ),
            (
                Invalid::CaptureLost { lost: 2, seen },
                "missed 2 of 90 I/Os",
            ),
        ] {
            assert!(says(&reason).contains(words), "{reason:?}");
        }
    }

    #[test]
    fn a_stopped_trial_says_so_once() {
        let reasons_with = |invalid| {
            reasons_of(&ReplayTrial {
                whole: false,
                invalid,
                ..ReplayTrial::default()
            })
        };
        assert_eq!(reasons_with(vec![Invalid::Stopped]), STOPPED);
        assert_eq!(reasons_with(Vec::new()), STOPPED);
        let lost = reasons_with(vec![Invalid::CaptureLost { lost: 1, seen: 9 }]);
        assert!(
            lost.contains("1 of 9 I/Os; ") && lost.ends_with(STOPPED),
            "{lost}"
        );
    }
}
