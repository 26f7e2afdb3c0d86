//! `q2c place run` in a terminal.

use super::said;
use super::screen::{Screen, Tone};
use crate::place_run;
use crate::said::Said;
use q2c_result::place_run::PlaceRunResult;

/// The report of placements that were measured.
#[must_use]
pub fn place_run(result: &PlaceRunResult, screen: Screen) -> String {
    let about = format!("· {}", place_run::about(result));
    let mut text = screen.note(Tone::Strong, "placement", &about);
    for class in &result.classes {
        text += &screen.note(Tone::Strong, &place_run::task(&class.task), "");
        text += &said::all(&place_run::verdict(class), screen);
        text += &said::table(&place_run::placements(result, class), screen);
        text += &said::table(&place_run::gains(class), screen);
    }
    text += &said::all(&place_run::notes(result), screen);
    let warnings: Vec<Said> = result.warnings.iter().map(Said::warning).collect();
    text + &said::all(&warnings, screen)
}
