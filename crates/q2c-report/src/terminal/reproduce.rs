//! `q2c reproduce` in a terminal.

use super::said;
use super::screen::{Screen, Tone};
use crate::reproduce;
use crate::said::Said;
use q2c_result::reproduce::ReproduceResult;

/// The report of an experiment.
#[must_use]
pub fn reproduce(result: &ReproduceResult, screen: Screen) -> String {
    let about = format!("· {}", reproduce::about(result));
    let mut text = screen.note(Tone::Strong, &result.name, &about);
    text += &said::all(&reproduce::setting(result), screen);
    let points = reproduce::points(result);
    if !points.rows.is_empty() {
        text.push('\n');
        text += &said::table(&points, screen);
    }
    for (title, table) in reproduce::chart_tables(result) {
        text.push('\n');
        text += &screen.note(Tone::Strong, &title, "");
        text += &said::table(&table, screen);
    }
    text.push('\n');
    text += &screen.note(Tone::Strong, &reproduce::summed(result), "");
    text += &said::all(&reproduce::told(result), screen);
    let warnings: Vec<Said> = result.warnings.iter().map(Said::warning).collect();
    text + &said::all(&warnings, screen)
}
