//! `q2c place sim` in a terminal.

use super::said;
use super::screen::{Screen, Tone};
use crate::place;
use crate::said::Said;
use q2c_result::place::PlaceSimResult;

/// The report of simulated placements.
#[must_use]
pub fn place_sim(result: &PlaceSimResult, screen: Screen) -> String {
    let mut text = screen.note(
        Tone::Strong,
        "placement",
        &format!("· {}", place::about(result)),
    );
    for setup in &result.setups {
        text.push('\n');
        text += &screen.note(Tone::Strong, &place::title(setup), "");
        text += &said::table(&place::policies(setup), screen);
        text += &said::all(&place::verdict(setup), screen);
        if !setup.published.is_empty() {
            text += &said::table(&place::published(setup), screen);
        }
    }
    text.push('\n');
    text += &said::table(&place::speeds(&result.speeds), screen);
    let warnings: Vec<Said> = result.warnings.iter().map(Said::warning).collect();
    text + &said::all(&warnings, screen)
}
