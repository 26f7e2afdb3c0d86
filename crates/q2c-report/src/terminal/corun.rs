//! `q2c place calibrate` in a terminal.

use super::said;
use super::screen::{Screen, Tone};
use crate::said::Said;
use crate::{corun, place};
use q2c_result::corun::CalibrateResult;

/// The report of a calibration.
#[must_use]
pub fn place_calibrate(result: &CalibrateResult, screen: Screen) -> String {
    let about = format!("· {}", corun::about(result));
    let mut text = screen.note(Tone::Strong, "speed beside a neighbour", &about);
    text += &said::table(&corun::pairs(result), screen);
    text += &said::table(&place::speeds(&result.speeds), screen);
    text += &said::all(&corun::words(result), screen);
    let warnings: Vec<Said> = result.warnings.iter().map(Said::warning).collect();
    text + &said::all(&warnings, screen)
}
