//! Tests the terminal reports on sleep rules: of sweeps, and of the kernel's own polling.

use crate::{PIPE, fixture, widths};
use q2c_report::Reported;
use q2c_result::tune::Verdict;

/// If no method pays and keeps the floor, the report names polling and has no command to steer.
#[test]
fn a_kernel_without_room_to_sleep_is_told() {
    let mut result = fixture::kernel_tune();
    result.recommended = q2c_policy::Method::POLL;
    for (verdict, words) in [
        (Verdict::NoRoom, "no room to sleep:"),
        (Verdict::TradeOff, "kept 97.0 % of its IOPS. --min-iops"),
        (Verdict::Limits, "kept the limits"),
    ] {
        result.verdict = verdict;
        let text = result.document().text(PIPE);
        assert!(
            text.contains(words) && !text.contains("poll steer"),
            "{text}"
        );
    }
}

/// If no configuration keeps the limits or gains anything, the first lines say so. They still name
/// the ones with the most KIOPS/core and the most IOPS.
#[test]
fn a_sweep_without_an_answer_concludes() {
    let mut result = fixture::sweep();
    result.inputs.truncate(1);
    result.answers.truncate(1);
    result.limits = vec!["p99 at most 10 us".to_owned()];
    let answer = &mut result.answers[0];
    (answer.best, answer.nearest) = (None, Some(1));
    answer.poll.kiops_per_core = 25.0;
    widths::fits("sweep_without_an_answer", |screen| {
        result.document().text(screen)
    });
    let page = result.document().page().expect("make the page");
    let lines = result.document().text(PIPE);
    for sentence in [
        "every rule loses to it. The best has 0.80 times its IOPS per core, the fastest",
        "no configuration keeps the limits",
        "most KIOPS/core",
        "most IOPS",
        "asked for: p99 at most 10 us",
    ] {
        assert!(lines.contains(sentence), "{sentence}: {lines}");
        assert!(page.contains(sentence), "{sentence} is not in the page");
    }
    result.answers[0].poll.kiops_per_core = 15.0;
    let gains = result.document().text(PIPE);
    assert!(!gains.contains("loses"), "{gains}");
}
