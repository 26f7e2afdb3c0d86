//! What the terminal shows, as a whole.

#[path = "fixture/bench.rs"]
mod bench_fixture;
mod fixture;

use q2c_report::terminal::{self, Screen};

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
    result.cells[1].effective_mode.was = "interrupt".into();
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
