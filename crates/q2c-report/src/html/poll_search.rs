//! A search of `q2c poll search` as a page.

use super::chart;
use super::page::RenderError;
use super::replayed::{self, Content, Made, Table, Told};
use crate::poll_search;
use q2c_result::poll_search::PollSearchResult;

/// Makes the page of a search.
///
/// # Errors
/// The template could not be filled; its types leave no way for that.
pub fn poll_search(result: &PollSearchResult) -> Result<String, RenderError> {
    let answer = poll_search::answer(result);
    replayed::render(Content {
        command: "poll search",
        result: Made::computed(&result.version, &result.schema, &result.warnings),
        title: poll_search::title(result),
        about: poll_search::about(result),
        seed: result.seed,
        notices: Vec::new(),
        verdict: vec![format!("{}: {}", answer.what, answer.words)],
        tables: vec![
            Table::new("What was held out", poll_search::contenders(result)),
            Table::new("Families", poll_search::families(result)),
            Table::new("Misses and CPU together", poll_search::both(result)),
        ],
        told: vec![Told::new(
            "Finalists and references",
            poll_search::words(result),
        )],
        charts: vec![chart::poll_search::chart(result)],
        facts: Vec::new(),
    })
}
