//! `q2c place watch` in a terminal.

use super::said;
use super::screen::{Screen, Tone};
use crate::place_watch;
use crate::said::Said;
use q2c_result::place_watch::PlaceWatchResult;

/// A look at the placement of a machine's tasks.
#[must_use]
pub fn place_watch(result: &PlaceWatchResult, screen: Screen) -> String {
    let about = format!("· {}", place_watch::about(result));
    let mut text = screen.note(Tone::Strong, "placement", &about);
    text += &said::table(&place_watch::cores(result), screen);
    text += &said::all(&place_watch::advice(result), screen);
    let warnings: Vec<Said> = result.warnings.iter().map(Said::warning).collect();
    text + &said::all(&warnings, screen)
}
