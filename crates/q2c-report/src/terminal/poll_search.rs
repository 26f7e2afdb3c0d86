//! `q2c poll search` in a terminal.

use super::said;
use super::screen::{Screen, Tone};
use crate::poll_search;
use crate::said::Said;
use q2c_result::poll_search::PollSearchResult;

/// The report of a search.
#[must_use]
pub fn poll_search(result: &PollSearchResult, screen: Screen) -> String {
    let about = format!("· {}", poll_search::about(result));
    let mut text = screen.note(Tone::Strong, &poll_search::title(result), &about);
    text += &said::table(&poll_search::families(result), screen);
    text.push('\n');
    text += &said::table(&poll_search::contenders(result), screen);
    text.push('\n');
    text += &said::table(&poll_search::both(result), screen);
    text.push('\n');
    text += &said::all(&[poll_search::answer(result)], screen);
    text += &said::all(&poll_search::words(result), screen);
    let warnings: Vec<Said> = result.warnings.iter().map(Said::warning).collect();
    text + &said::all(&warnings, screen)
}
