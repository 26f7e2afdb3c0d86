//! A study of `q2c poll study` as a page.

use super::chart;
use super::page::RenderError;
use super::replayed::{self, Content, Made, Table, Told};
use crate::poll_study;
use q2c_result::poll_study::PollStudyResult;

/// Makes the page of a study.
///
/// # Errors
/// The template could not be filled; its types leave no way for that.
pub fn poll_study(result: &PollStudyResult) -> Result<String, RenderError> {
    let answer = poll_study::answer(result);
    replayed::render(Content {
        command: "poll study",
        result: Made::computed(&result.version, &result.schema, &result.warnings),
        title: poll_study::title(result),
        about: poll_study::about(result),
        seed: result.seed,
        notices: Vec::new(),
        verdict: vec![format!("{}: {}", answer.what, answer.words)],
        tables: vec![
            Table::new("Rules", poll_study::rules(result)),
            Table::new("Patterns", poll_study::patterns(result)),
            Table::new("Loss by pattern", poll_study::losses(result)),
        ],
        told: vec![Told::new(
            "Beside the publication",
            poll_study::words(result),
        )],
        charts: vec![chart::poll_study::chart(result)],
        facts: Vec::new(),
    })
}
