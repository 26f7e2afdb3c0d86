//! `q2c reproduce` in a terminal.

use super::said;
use super::screen::{Screen, Tone};
use crate::reproduce;
use crate::said::Said;
use q2c_result::reproduce::{AllResult, ListResult, ReproduceResult};

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

/// The verdicts of all experiments.
#[must_use]
pub fn reproduce_all(result: &AllResult, screen: Screen) -> String {
    let about = match result.scale == 1.0 {
        true => String::new(),
        false => format!("· all times multiplied by {}", result.scale),
    };
    let mut text = screen.note(Tone::Strong, &reproduce::counted(result), &about);
    text += &said::table(&reproduce::verdicts(result), screen);
    text
}

/// The list of experiments.
#[must_use]
pub fn reproduce_list(result: &ListResult, screen: Screen) -> String {
    said::table(&reproduce::list(result), screen)
}
