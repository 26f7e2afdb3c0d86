//! `q2c compare` in a terminal: the devices, the metrics that separate them, and the verdict.

use super::said;
use super::screen::{Screen, Tone};
use crate::said::Said;
use crate::{compare, replay};
use q2c_result::compare::CompareResult;

/// Width to which the names of devices may be wrapped so that one table holds everything; otherwise
/// there are two.
const NAMES: usize = 14;

/// The report of a comparison.
#[must_use]
pub fn compare(result: &CompareResult, screen: Screen) -> String {
    let about = format!("· {}", compare::about(result));
    let mut text = screen.note(Tone::Strong, &result.trace.path, &about);
    if !result.complete {
        let what = "the run was stopped early; what is shown is valid, trials are missing";
        text += &screen.note(Tone::Bad, "incomplete:", what);
    }
    if let Some(lost) = replay::does_not_reproduce(&result.job, &result.trace) {
        text += &screen.note(Tone::Caution, "outstanding:", &lost);
    }
    text += &said::all(&replay::job(&result.job, &result.trace), screen);
    let whole = compare::whole(result);
    let tables = match said::fits(&whole, NAMES, screen) {
        true => vec![whole],
        false => vec![compare::sums(result), compare::latencies(result)],
    };
    for table in tables.iter().chain(&compare::separations(result)) {
        text += &said::table(table, screen);
    }
    text += "\n";
    for sentence in compare::verdict(result) {
        text += &screen.note(Tone::Strong, "verdict:", &sentence);
    }
    text += &said::all(&compare::words(result), screen);
    let warnings: Vec<Said> = result.warnings.iter().map(Said::warning).collect();
    text + &said::all(&warnings, screen)
}
