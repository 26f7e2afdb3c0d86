//! A prediction of `q2c scale predict` as a page.

use super::chart;
use super::page::RenderError;
use super::replayed::{self, Content, Facts, Made, Table, Told};
use crate::scale;
use q2c_result::scale::ScaleResult;

/// Makes the page of a prediction.
///
/// # Errors
/// The template could not be filled; its types leave no way for that.
pub fn scale(result: &ScaleResult) -> Result<String, RenderError> {
    let answer = scale::answer(result);
    let facts = result
        .run
        .as_ref()
        .map(|run| vec![Facts::target(&run.target), Facts::machine(&run.machine)]);
    replayed::render(Content {
        command: "scale predict",
        result: Made {
            version: &result.version,
            schema: &result.schema,
            started_unix_s: result.started_unix_s,
            complete: true,
            warnings: &result.warnings,
        },
        title: scale::title(result),
        about: scale::about(result),
        seed: result.seed,
        notices: Vec::new(),
        verdict: vec![format!("{}: {}", answer.what, answer.words)],
        tables: vec![
            Table::new("Curve", scale::curve(result)),
            Table::new("Parameters", scale::parameters(&result.parameters)),
        ],
        told: vec![Told::new("How sure it is", scale::words(result))],
        charts: vec![chart::scale::chart(result)],
        facts: facts.unwrap_or_default(),
    })
}
