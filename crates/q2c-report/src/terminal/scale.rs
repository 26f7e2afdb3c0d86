//! `q2c scale predict` in a terminal.

use super::said;
use super::screen::{Screen, Tone};
use crate::said::Said;
use crate::scale;
use q2c_result::scale::ScaleResult;

/// The report of a prediction.
#[must_use]
pub fn scale(result: &ScaleResult, screen: Screen) -> String {
    let about = format!("· {}", scale::about(result));
    let mut text = screen.note(Tone::Strong, &scale::title(result), &about);
    text += &said::table(&scale::curve(result), screen);
    text.push('\n');
    text += &said::all(&[scale::answer(result)], screen);
    text += &said::all(&scale::words(result), screen);
    text += &said::table(&scale::parameters(&result.parameters), screen);
    let warnings: Vec<Said> = result.warnings.iter().map(Said::warning).collect();
    text + &said::all(&warnings, screen)
}
