//! `q2c poll study` in a terminal.

use super::said;
use super::screen::{Screen, Tone};
use crate::poll_study;
use crate::said::Said;
use q2c_result::poll_study::PollStudyResult;

/// The report of a study.
#[must_use]
pub fn poll_study(result: &PollStudyResult, screen: Screen) -> String {
    let about = format!("· {}", poll_study::about(result));
    let mut text = screen.note(Tone::Strong, &poll_study::title(result), &about);
    text += &said::table(&poll_study::patterns(result), screen);
    text.push('\n');
    text += &said::table(&poll_study::rules(result), screen);
    text.push('\n');
    text += &said::all(&[poll_study::answer(result)], screen);
    text += &said::all(&poll_study::words(result), screen);
    let warnings: Vec<Said> = result.warnings.iter().map(Said::warning).collect();
    text + &said::all(&warnings, screen)
}
