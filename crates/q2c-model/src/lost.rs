//! Why a recording by q2c lacks I/Os or events, and what to do about it, as text. The reasons are
//! keys of [`TraceMeta::unmatched`](crate::TraceMeta::unmatched).

use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Advice for recordings that lack ends which the kernel does not show to BPF programs.
pub const TAKE_TRACEFS: &str = "take --by tracefs, which sees ends that a BPF program is not shown";

struct LossReason {
    /// The key in `unmatched`.
    reason: &'static str,
    /// The reason as text that follows a number of I/Os or events.
    cause: &'static str,
    remedy: &'static str,
}

/// Reasons that count lost I/Os. Other reasons in `unmatched` are not losses.
const LOST_IOS: [LossReason; 4] = [
    LossReason {
        reason: "never completed",
        cause: "in flight at the end, or with an end that was not shown",
        remedy: "record until the device is idle",
    },
    LossReason {
        reason: "queued again, its end not seen",
        cause: "without an end, as the kernel did not run q2c's program there",
        remedy: TAKE_TRACEFS,
    },
    LossReason {
        reason: "lost: ring full",
        cause: "without room in the ring of their CPU",
        remedy: "record less with --op, --pid or --min-size",
    },
    LossReason {
        reason: "lost: too many in flight",
        cause: "queued while 65,536 others were in flight",
        remedy: "record fewer disks, or less with --op or --pid",
    },
];

/// The reason that counts lost events, of which recordings by tracefs consist, not I/Os.
const LOST_EVENTS: LossReason = LossReason {
    reason: "lost: event overwritten in the kernel's buffer",
    cause: "written over before q2c had read them",
    remedy: "record while the disk and the CPUs do less, or by BPF",
};

/// Says how many I/Os have no record.
pub fn unrecorded_text(ios: u64) -> String {
    match ios {
        1 => "1 I/O has no record".to_owned(),
        n => format!("{n} I/Os have no record"),
    }
}

/// The losses of a recording, as text.
pub struct Losses {
    /// True if I/Os were lost, false if events were.
    pub of_ios: bool,
    /// The reasons, each with its number, in falling order of the numbers.
    pub causes: String,
    /// The remedies, in the same order.
    pub remedies: String,
}

impl Losses {
    /// Returns the losses among the reasons in `unmatched`; `None` if there are none.
    pub fn from_counts(unmatched: &BTreeMap<String, u64>) -> Option<Losses> {
        let of_ios = !unmatched.contains_key(LOST_EVENTS.reason);
        // A recording that fell back to tracefs has lost I/Os and lost events. "never completed",
        // the first reason, is a loss only in a recording by BPF, which the other reasons prove.
        let mut bpf_losses = LOST_IOS[1..].iter();
        let by_bpf = bpf_losses.any(|loss| unmatched.contains_key(loss.reason));
        let lost_ios = if of_ios || by_bpf { &LOST_IOS[..] } else { &[] };
        let losses = lost_ios.iter().chain([&LOST_EVENTS]);
        let counted = losses.filter_map(|loss| Some((loss, *unmatched.get(loss.reason)?)));
        let mut losses: Vec<(&LossReason, u64)> = counted.collect();
        losses.sort_by_key(|(_, n)| Reverse(*n));
        let causes = losses.iter().map(|(loss, n)| format!("{n} {}", loss.cause));
        let remedies = losses.iter().map(|(loss, _)| loss.remedy);
        (!losses.is_empty()).then(|| Losses {
            of_ios,
            causes: causes.collect::<Vec<_>>().join("; "),
            remedies: remedies.collect::<Vec<_>>().join("; "),
        })
    }

    /// True if a reason counts lost I/Os or events.
    pub fn is_loss(reason: &str) -> bool {
        let mut losses = LOST_IOS.iter().chain([&LOST_EVENTS]);
        losses.any(|loss| loss.reason == reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn losses(unmatched: &[(&str, u64)]) -> Option<Losses> {
        let counts = unmatched
            .iter()
            .map(|(reason, n)| ((*reason).to_owned(), *n));
        Losses::from_counts(&counts.collect())
    }

    #[test]
    fn a_recording_that_went_on_by_tracefs_tells_both_kinds() {
        let lost = losses(&[
            ("lost: event overwritten in the kernel's buffer", 9),
            ("never completed", 1),
            ("queued again, its end not seen", 30),
        ])
        .unwrap();
        let causes: Vec<&str> = lost.causes.split("; ").collect();
        assert!(causes[0].starts_with("30 without an end") && causes[1].starts_with("9 written"));
        assert_eq!((lost.of_ios, causes.len()), (false, 3));
    }

    #[test]
    fn each_loss_says_why_and_what_to_do() {
        let lost = losses(&[
            ("completion without queue", 7),
            ("lost: ring full", 3),
            ("never completed", 1),
            ("queued again, its end not seen", 655),
        ])
        .unwrap();
        assert!(lost.of_ios);
        assert_eq!(
            lost.causes,
            "655 without an end, as the kernel did not run q2c's program there; 3 without room in \
             the ring of their CPU; 1 in flight at the end, or with an end that was not shown"
        );
        assert_eq!(
            lost.remedies,
            "take --by tracefs, which sees ends that a BPF program is not shown; record less with \
             --op, --pid or --min-size; record until the device is idle"
        );
        assert!(losses(&[("completion without queue", 7)]).is_none());
        let texts = [1, 2].map(unrecorded_text);
        assert_eq!(texts, ["1 I/O has no record", "2 I/Os have no record"]);
    }

    /// I/Os in flight at the end of a recording by tracefs are not among its lost events.
    #[test]
    fn lost_events_are_told_alone() {
        let lost = losses(&[
            ("never completed", 5),
            ("lost: event overwritten in the kernel's buffer", 90),
        ])
        .unwrap();
        assert!(!lost.of_ios);
        assert_eq!(lost.causes, "90 written over before q2c had read them");
    }
}
