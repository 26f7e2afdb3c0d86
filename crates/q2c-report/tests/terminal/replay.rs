//! Tests the terminal reports of replays and comparisons.

use crate::{PIPE, fixture, widths};
use q2c_report::Reported;
use q2c_report::terminal::Screen;
use q2c_result::compare::{CompareFinding, NoneValid};
use q2c_result::replay::Invalid;

#[test]
fn replay_fits_every_width() {
    widths::fits("replay", |screen| fixture::replay().document().text(screen));
}

#[test]
fn replay_on_a_saturated_device_fits_every_width() {
    widths::fits("replay_on_a_saturated_device", |screen| {
        fixture::replay_saturated().document().text(screen)
    });
}

#[test]
fn replay_without_idle_time_fits_every_width() {
    widths::fits("replay_without_idle_time", |screen| {
        fixture::replay_outstanding().document().text(screen)
    });
}

#[test]
fn compare_fits_every_width() {
    widths::fits("compare", |screen| {
        fixture::compare().document().text(screen)
    });
}

#[test]
fn published_tables_fits_every_width() {
    widths::fits("published_tables", |screen| {
        fixture::compare_published().document().text(screen)
    });
}

#[test]
fn replays_fit_the_screen() {
    for width in [60, 80, 100, 120] {
        let screen = Screen { width, ..PIPE };
        for text in [
            fixture::replay().document().text(screen),
            fixture::replay_outstanding().document().text(screen),
            fixture::replay_saturated().document().text(screen),
            fixture::compare().document().text(screen),
        ] {
            let widest = text.lines().map(|line| line.chars().count()).max();
            assert!(
                widest <= Some(usize::from(width)),
                "{widest:?} columns of {width}:\n{text}"
            );
        }
    }
}

#[test]
fn a_replay_says_its_sums_in_numbers_checked_by_hand() {
    let lines = |text: &str, name: &str| -> Vec<String> {
        let rows = text.lines().filter(|line| line.starts_with(name));
        let fields = |row: &str| row.split_whitespace().collect::<Vec<_>>().join(" ");
        rows.map(fields).collect()
    };
    let text = fixture::replay().document().text(PIPE);
    // 24 780 requests take 90 us each, 5 us less in the block layer; p99 is 90 us x ln 100.
    assert_eq!(
        lines(&text, "sum of U2C  "),
        ["sum of U2C 2.23 s"],
        "{text}"
    );
    assert_eq!(lines(&text, "sum of Q2C"), ["sum of Q2C 2.11 s"], "{text}");
    assert!(
        lines(&text, "p99 ")[0].starts_with("p99 414 us 415 us 391 us"),
        "{text}"
    );
    let text = fixture::replay_saturated().document().text(PIPE);
    // Two of the three trials are valid, with 30 ms and 29.1 ms for each request: sums of 743.4 and
    // 721.1 s.
    assert_eq!(
        lines(&text, "sum of U2C  "),
        ["sum of U2C 743 s 732 s"],
        "{text}"
    );
    assert!(text.contains("[721, 743]"), "{text}");
    assert_eq!(
        lines(&text, "sum of Q2C"),
        ["sum of Q2C - (run with --capture)"],
        "{text}"
    );
}

#[test]
fn a_replay_that_cannot_be_compared_says_why_first() {
    let mut result = fixture::replay();
    result.trial.valid = false;
    result.trial.invalid = vec![Invalid::CaptureLost {
        lost: 700,
        seen: 24_780,
    }];
    result.trial.whole = false;
    let text = result.document().text(PIPE);
    let why =
        "invalid: the capture missed 700 of 24780 I/Os; it was stopped before the trace's end";
    assert!(text.contains(why), "{text}");
    assert!(!text.contains("\nvalid:"), "{text}");
}

#[test]
fn empty_things_of_a_replay_are_left_out() {
    let text = fixture::replay_outstanding().document().text(PIPE);
    for absent in [
        "lateness",
        "intended",
        "end drift",
        "saturated",
        "changed",
        "order:",
        "failed",
        "trial 1",
        "warning",
    ] {
        assert!(!text.contains(absent), "{absent}: {text}");
    }
    assert!(
        text.contains("leaves out the time with nothing in flight, 19.2 % of this trace's"),
        "{text}"
    );
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
        why: NoneValid::Failed(ESCAPE.into()),
    };
    for text in [result.document().text(PIPE), compared.document().text(PIPE)] {
        assert!(
            !text.contains('\u{1b}') && !text.contains('\u{7}'),
            "{text}"
        );
        assert!(text.contains("\\u{1b}]0;title"), "{text}");
    }
}
