//! Tests the terminal reports of replays and comparisons.

use crate::{PIPE, fixture};
use q2c_report::Reported;
use q2c_result::compare::{CompareFinding, NoValidReason};
use q2c_result::replay::Flaw;

#[test]
fn a_replay_that_cannot_be_compared_says_why_first() {
    let mut result = fixture::replay();
    result.trial.valid = false;
    result.trial.invalid = vec![Flaw::CaptureLost {
        lost: 700,
        seen: 24_780,
    }];
    result.trial.whole = false;
    let text = result.document().text(PIPE);
    let expected = "invalid: the capture missed 700 of 24780 I/Os; it was stopped";
    assert!(
        text.contains(expected) && !text.contains("\nvalid:"),
        "{text}"
    );
}

#[test]
fn empty_things_of_a_replay_are_left_out() {
    let text = fixture::replay_outstanding().document().text(PIPE);
    let times = ["lateness", "intended", "end drift", "saturated"];
    let events = ["changed", "order:", "failed", "trial 1", "warning"];
    for absent in times.into_iter().chain(events) {
        assert!(!text.contains(absent), "{absent}: {text}");
    }
}

#[test]
fn no_string_of_a_replay_commands_the_terminal() {
    const ESCAPE: &str = "\u{1b}]0;title\u{7}\nforged line";
    let mut result = fixture::replay_saturated();
    result.trace.path = ESCAPE.into();
    result.trial.first_error = Some(ESCAPE.into());
    result.targets[0].path = ESCAPE.into();
    let mut compared = fixture::compare();
    compared.comparisons[0].devices[0].target.path = ESCAPE.into();
    compared.comparisons[0].separations[0].device = ESCAPE.into();
    compared.comparisons[0].verdict[0] = CompareFinding::NoValidTrial {
        device: ESCAPE.into(),
        why: NoValidReason::Failed(ESCAPE.into()),
    };
    for text in [result.document().text(PIPE), compared.document().text(PIPE)] {
        assert!(
            !text.contains('\u{1b}') && !text.contains('\u{7}'),
            "{text}"
        );
        assert!(text.contains("\\u{1b}]0;title"), "{text}");
    }
}
