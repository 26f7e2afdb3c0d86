//! `q2c compare` in a terminal: the devices, the metrics that separate them, and the verdict.

use super::said;
use super::screen::{Screen, Tone};
use crate::said::Said;
use crate::{compare, replay};
use q2c_result::compare::{CompareResult, Comparison};

/// The report of a run.
#[must_use]
pub fn compare(result: &CompareResult, screen: Screen) -> String {
    let about = format!("· {}", compare::about(result));
    let mut text = screen.note(Tone::Strong, &compare::title(result), &about);
    if !result.complete {
        let what = "the run was stopped early; what is shown is valid, trials are missing";
        text += &screen.note(Tone::Bad, "incomplete:", what);
    }
    text += &match result.comparisons.as_slice() {
        [one] => alone(one, screen),
        _ => several(result, screen),
    };
    let warnings: Vec<Said> = result.warnings.iter().map(Said::warning).collect();
    text + &said::all(&warnings, screen)
}

/// A run's only comparison.
fn alone(one: &Comparison, screen: Screen) -> String {
    let mut text = String::new();
    if let Some(lost) = replay::without_idle_time(&one.job, &one.trace) {
        text += &screen.note(Tone::Caution, "outstanding:", &lost);
    }
    text += &said::all(&replay::job(&one.job, &one.trace), screen);
    let profile: Vec<Said> = compare::profile(one).into_iter().collect();
    text += &said::all(&profile, screen);
    let whole = compare::whole(one);
    let tables = match said::fits(&whole, screen) {
        true => vec![whole],
        false => vec![compare::sums(one), compare::latencies(one)],
    };
    for table in tables.iter().chain(&compare::separations(one)) {
        text += &said::table(table, screen);
    }
    text += "\n";
    for sentence in compare::verdict(one) {
        text += &screen.note(Tone::Strong, "verdict:", &sentence);
    }
    text + &said::all(&compare::words(one), screen)
}

/// The tables of several comparisons, and the answer of each.
fn several(result: &CompareResult, screen: Screen) -> String {
    let mut text = String::new();
    for table in &compare::overview(result) {
        text += &said::table(table, screen);
    }
    text += "\n";
    for sentence in compare::overall(result) {
        text += &screen.note(Tone::Strong, "verdict:", &sentence);
    }
    for one in &result.comparisons {
        text += "\n";
        let what = format!("{}:", compare::row_name(one));
        text += &screen.note(Tone::Strong, &what, &replay::trace(&one.trace));
        let profile: Vec<Said> = compare::profile(one).into_iter().collect();
        text += &said::all(&profile, screen);
        for sentence in compare::verdict(one) {
            text += &screen.note(Tone::Strong, "verdict:", &sentence);
        }
        text += &said::all(&compare::words(one), screen);
    }
    text
}
