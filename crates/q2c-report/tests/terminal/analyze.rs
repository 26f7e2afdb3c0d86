//! Tests the terminal reports of analyses.

use crate::{PIPE, fixture};
use q2c_report::Reported;
use q2c_report::terminal::Screen;
use q2c_result::analyze::{Group, InexactFigure, InexactMark, InexactReason};

/// The line stands between stages and groups. Of 1,000 complete I/Os and 3 + 44 others.
#[test]
fn the_ios_that_the_percentiles_lack_stand_beside_them() {
    let mut result = fixture::analyze();
    let text = result.document().text(PIPE);
    let line = text.find("not wholly seen: 47 of 1").expect("the line");
    assert!(
        text.find("Q2C") < Some(line) && Some(line) < text.find("write"),
        "{text}"
    );
    assert!(text.contains("4.49 %"), "{text}");
    let none = result.not_whole.as_mut().expect("the fixture has it");
    none.ios = 0;
    let text = result.document().text(PIPE);
    assert!(text.contains("not wholly seen: none of 1"), "{text}");
}

/// An analysis that joins those of several devices lacks figures, and names them.
#[test]
fn an_analysis_made_of_parts_says_what_it_lacks() {
    let mut result = fixture::analyze();
    result.completed = 9;
    let whole = result.document().text(PIPE);
    assert!(whole.contains("0 at most") && whole.contains("active:"));
    assert!(!whole.contains("not exact"), "{whole}");
    (result.in_flight.most, result.activity) = (None, None);
    result.inexact = vec![InexactMark {
        figure: InexactFigure::MostInFlight,
        reason: InexactReason::Devices,
        joins: 2,
    }];
    let text = result.document().text(Screen { width: 400, ..PIPE });
    let expected = "not exact: most I/Os in flight: not known from parts of different devices";
    assert!(text.contains(expected), "{text}");
    assert!(
        !text.contains("at most") && !text.contains("active:"),
        "{text}"
    );
    let page = result.document().page().expect("make the page");
    assert!(page.contains("not known from parts of different devices"));
}

/// A property that all I/Os share has a line instead of a table. If several processes have one
/// name, each is listed with it.
#[test]
fn what_all_ios_share_and_processes_of_one_name_are_told() {
    let mut result = fixture::analyze();
    result.requests = 30;
    let group = |key: &str, requests: u64, bytes: u64| Group {
        key: key.to_owned(),
        requests,
        bytes,
        ..Group::default()
    };
    let wide = Screen { width: 400, ..PIPE };
    result.groups = [
        ("op", vec![group("read", 30, 30 << 12)]),
        ("size", vec![group("up to 4 KiB", 30, 30 << 12)]),
        ("cpu", vec![group("0", 29, 29 << 12)]),
        (
            "process",
            vec![
                group("fio (7)", 10, 10 << 12),
                group("fio (9)", 20, 20 << 12),
            ],
        ),
    ]
    .into_iter()
    .map(|(property, groups)| (property.to_owned(), groups))
    .collect();
    let fact = q2c_model::facts::ONE_PROCESS.to_owned();
    result.input.facts.insert(fact, "fio".to_owned());
    let text = result.document().text(wide);
    assert!(
        text.contains("of all I/Os: op read, size 4 KiB\n"),
        "{text}"
    );
    let taken = "processes: 2 have the name fio: fio (9) with 20 I/Os, fio (7) with 10 I/Os; \
                 --process NUMBER takes one alone\n";
    assert!(text.contains(taken), "{text}");
    let size = vec![group("up to 4 KiB", 30, 30 << 11)];
    result.groups.insert("size".to_owned(), size);
    result.input.facts.clear();
    let text = result.document().text(wide);
    assert!(text.contains("size up to 4 KiB\n"), "{text}");
    assert!(!text.contains("processes:"), "{text}");
}
