//! Tests the reports in the terminal as a whole.

#[path = "fixture/bench.rs"]
mod bench_fixture;
mod fixture;
#[path = "fixture/replay.rs"]
mod replay_fixture;

use q2c_report::terminal::{self, Screen};
use q2c_result::compare::{CompareFinding, NoneValid};
use q2c_result::mode::{Mode, ModeKind};
use q2c_result::replay::{ChangeKind, Invalid};

const PIPE: Screen = Screen {
    width: 120,
    colour: false,
};

#[test]
fn tune_at_120_columns() {
    insta::assert_snapshot!(terminal::tune(&fixture::realistic(), PIPE));
}

#[test]
fn tune_at_100_columns() {
    let screen = Screen { width: 100, ..PIPE };
    insta::assert_snapshot!(terminal::tune(&fixture::realistic(), screen));
}

#[test]
fn doctor_at_120_columns() {
    insta::assert_snapshot!(terminal::doctor(&fixture::realistic().doctor, PIPE));
}

#[test]
fn a_fallback_and_an_early_end_are_told() {
    let mut result = fixture::realistic();
    result.complete = false;
    result.cells[1].effective_mode.was = Mode::of(ModeKind::Interrupt);
    let text = terminal::tune(&result, PIPE);
    assert!(text.contains("incomplete:"), "{text}");
    assert!(
        text.contains("effective mode: 4 KiB poll: asked poll, was interrupt"),
        "{text}"
    );
}

#[test]
fn lines_fit_the_screen() {
    for width in [100, 120, 140] {
        let text = terminal::tune(&fixture::realistic(), Screen { width, ..PIPE });
        // Lines to copy are indented by four and never wrapped.
        let free = text.lines().filter(|line| !line.starts_with("    "));
        let widest = free.map(|line| line.chars().count()).max();
        assert!(
            widest <= Some(usize::from(width)),
            "{widest:?} columns of {width}:\n{text}"
        );
    }
}

#[test]
fn no_colour_unless_asked() {
    let result = fixture::hostile();
    assert!(!terminal::tune(&result, PIPE).contains('\u{1b}'));
    assert!(!terminal::doctor(&result.doctor, PIPE).contains('\u{1b}'));
    let screen = Screen {
        colour: true,
        ..PIPE
    };
    assert!(terminal::tune(&fixture::realistic(), screen).contains("\u{1b}["));
    assert!(terminal::doctor(&result.doctor, screen).contains("\u{1b}["));
}

#[test]
fn a_devices_name_cannot_command_the_terminal() {
    let mut result = fixture::realistic();
    result.target.path = "\u{1b}]0;title\u{7}\nforged line".into();
    let text = terminal::tune(
        &result,
        Screen {
            colour: true,
            ..PIPE
        },
    );
    assert!(
        text.contains("\\u{1b}]0;title\\u{7}\\u{a}forged line"),
        "{text}"
    );
}

#[test]
fn what_the_doctor_invalidates_is_named_beside_the_numbers() {
    let line = "doctor kernel-hybrid: invalidates hybrid-kernel, kiops-per-core: io_poll_delay is ignored since 5.19";
    let tune = terminal::tune(&fixture::realistic(), PIPE);
    assert!(tune.contains(line), "{tune}");
    let marks = |text: &str| {
        let (tables, _) = text.split_once("Medians over trials").expect("a legend");
        tables.matches('\u{2020}').count()
    };
    let bench = terminal::bench(&bench_fixture::result(), PIPE);
    assert!(bench.contains(line), "{bench}");
    assert_eq!(marks(&bench), 1, "{bench}");
    let mut healthy = bench_fixture::result();
    healthy.doctor.checks.clear();
    let bench = terminal::bench(&healthy, PIPE);
    assert!(!bench.contains("doctor "), "{bench}");
    assert_eq!(marks(&bench), 0, "{bench}");
}

#[test]
fn replay_at_100_columns() {
    let screen = Screen { width: 100, ..PIPE };
    insta::assert_snapshot!(terminal::replay(&replay_fixture::timed(), screen));
}

#[test]
fn replay_at_60_columns() {
    let screen = Screen { width: 60, ..PIPE };
    insta::assert_snapshot!(terminal::replay(&replay_fixture::timed(), screen));
}

#[test]
fn replay_on_a_saturated_device_at_100_columns() {
    let screen = Screen { width: 100, ..PIPE };
    insta::assert_snapshot!(terminal::replay(&replay_fixture::saturated(), screen));
}

#[test]
fn replay_without_idle_time_at_100_columns() {
    let screen = Screen { width: 100, ..PIPE };
    insta::assert_snapshot!(terminal::replay(&replay_fixture::outstanding(), screen));
}

#[test]
fn compare_at_100_columns() {
    let screen = Screen { width: 100, ..PIPE };
    insta::assert_snapshot!(terminal::compare(&replay_fixture::compare(), screen));
}

#[test]
fn compare_at_60_columns() {
    let screen = Screen { width: 60, ..PIPE };
    insta::assert_snapshot!(terminal::compare(&replay_fixture::compare(), screen));
}

#[test]
fn replays_fit_the_screen() {
    for width in [60, 80, 100, 120] {
        let screen = Screen { width, ..PIPE };
        for text in [
            terminal::replay(&replay_fixture::timed(), screen),
            terminal::replay(&replay_fixture::outstanding(), screen),
            terminal::replay(&replay_fixture::saturated(), screen),
            terminal::compare(&replay_fixture::compare(), screen),
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
    let text = terminal::replay(&replay_fixture::timed(), PIPE);
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
    let text = terminal::replay(&replay_fixture::saturated(), PIPE);
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
    let mut result = replay_fixture::timed();
    result.trial.valid = false;
    result.trial.invalid = vec![Invalid::CaptureLost {
        lost: 700,
        seen: 24_780,
    }];
    result.trial.whole = false;
    let text = terminal::replay(&result, PIPE);
    let why =
        "invalid: the capture missed 700 of 24780 I/Os; it was stopped before the trace's end";
    assert!(text.contains(why), "{text}");
    assert!(!text.contains("\nvalid:"), "{text}");
}

#[test]
fn empty_things_of_a_replay_are_left_out() {
    let text = terminal::replay(&replay_fixture::outstanding(), PIPE);
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
        text.contains("does not reproduce a trace that idles: nothing is in flight for 19.2 % of"),
        "{text}"
    );
}

#[test]
fn no_string_of_a_replay_commands_the_terminal() {
    const ESCAPE: &str = "\u{1b}]0;title\u{7}\nforged line";
    let mut result = replay_fixture::saturated();
    result.trace.path = ESCAPE.into();
    result.trial.first_error = Some(ESCAPE.into());
    let changed = ChangeKind::Told(ESCAPE.into());
    result.trial.changed.insert(changed, 1);
    result.targets[0].path = ESCAPE.into();
    let mut compared = replay_fixture::compare();
    compared.devices[0].target.path = ESCAPE.into();
    compared.separations[0].device = ESCAPE.into();
    compared.verdict[0] = CompareFinding::NoValidTrial {
        device: ESCAPE.into(),
        why: NoneValid::Failed(ESCAPE.into()),
    };
    compared.verdict[1] = CompareFinding::Told(ESCAPE.into());
    for text in [
        terminal::replay(&result, PIPE),
        terminal::compare(&compared, PIPE),
    ] {
        assert!(
            !text.contains('\u{1b}') && !text.contains('\u{7}'),
            "{text}"
        );
        assert!(text.contains("\\u{1b}]0;title"), "{text}");
    }
}
