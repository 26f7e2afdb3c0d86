//! Why a trial of a replay is invalid, in words.

use crate::quantity::{bare, duration, number};
use q2c_result::replay::{Invalid, ReplayTrial};

/// The sentence that a stopped trial is told with.
const STOPPED: &str = "it was stopped before the trace's end";

/// The reasons of a trial, joined to one text.
pub(crate) fn reasons(invalid: &[Invalid]) -> String {
    let says: Vec<String> = invalid.iter().map(says).collect();
    says.join("; ")
}

/// The reasons of a trial, and that it was stopped, which is no reason where another one is named.
pub(super) fn reasons_of(trial: &ReplayTrial) -> String {
    let mut words = reasons(&trial.invalid);
    let told = |why: &Invalid| matches!(why, Invalid::Stopped);
    if !trial.whole && !trial.invalid.iter().any(told) {
        let apart = if words.is_empty() { "" } else { "; " };
        words += &format!("{apart}{STOPPED}");
    }
    words
}

/// The sentence of a reason.
pub(super) fn says(why: &Invalid) -> String {
    match why {
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
            format!(
                "{whose}: {} at the 99th percentile, where --max-lateness allows {}. {first} {}, or \
                 allow more",
                duration(*p99_ns),
                bare(&duration(allowed.0 as f64)),
                against_lateness(*spare_cpus, *spin)
            )
        }
        Invalid::CaptureLost { lost, seen } => format!("the capture missed {lost} of {seen} I/Os"),
    }
}

/// Who was late, and what to do first against it: other work on the CPUs is named where there was
/// some.
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

/// What to do against a late replayer.
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

    fn late(spare_cpus: bool, spin: bool) -> Invalid {
        Invalid::Late {
            p99_ns: 143_654_900.0,
            allowed: Nanos(100_000),
            spare_cpus,
            spin,
            busy_cpus: None,
        }
    }

    #[test]
    fn other_work_on_the_cpus_is_named() {
        let mut why = late(true, false);
        if let Invalid::Late { busy_cpus, .. } = &mut why {
            *busy_cpus = Some(1.9);
        }
        assert_eq!(
            says(&why),
            "the replayer was late, and not held up by the device (1.90 CPUs were busy with other \
             work before the run): 144 ms at the 99th percentile, where --max-lateness allows 100 \
             us. Run on a quiet machine, or use --spin, more --submitters, free CPUs or a lower \
             speed, or allow more"
        );
    }

    #[test]
    fn each_reason_has_its_sentence() {
        let failed = Invalid::Failed {
            requests: 2,
            first: "read: EIO".to_owned(),
        };
        let partly = Invalid::PartlyCaptured {
            seen: 90,
            expected: 100,
        };
        let lost = Invalid::CaptureLost { lost: 2, seen: 100 };
        for (why, sentence) in [
            (failed, "2 requests failed, the first: read: EIO"),
            (
                Invalid::ReplayerBound,
                "the replayer was busy all the time and kept far less in flight than the trace: \
                 its own speed is what was measured",
            ),
            (
                partly,
                "the capture saw 90 of 100 I/Os: \
                 others are queued by the kernel's threads, or another disk's",
            ),
            (
                late(true, false),
                "the replayer was late by its own fault: 144 ms at the 99th percentile, where \
                 --max-lateness allows 100 us. Use --spin, more --submitters, free CPUs or a lower \
                 speed, or allow more",
            ),
            (lost, "the capture missed 2 of 100 I/Os"),
        ] {
            assert_eq!(says(&why), sentence);
        }
        for (spare_cpus, todo) in [
            (
                true,
                ". Use more --submitters, free CPUs or a lower speed, or allow more",
            ),
            (
                false,
                ". Use fewer --submitters, more CPUs or a lower speed, or allow more",
            ),
        ] {
            assert!(says(&late(spare_cpus, true)).ends_with(todo));
        }
    }

    #[test]
    fn a_stopped_trial_says_so_once() {
        let trial = |invalid| ReplayTrial {
            whole: false,
            invalid,
            ..ReplayTrial::default()
        };
        assert_eq!(reasons_of(&trial(vec![Invalid::Stopped])), STOPPED);
        assert_eq!(reasons_of(&trial(Vec::new())), STOPPED);
        let lost = Invalid::CaptureLost { lost: 1, seen: 9 };
        assert_eq!(
            reasons_of(&trial(vec![lost])),
            "the capture missed 1 of 9 I/Os; it was stopped before the trace's end"
        );
    }
}
