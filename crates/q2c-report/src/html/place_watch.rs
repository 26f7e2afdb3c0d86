//! A look of `q2c place watch` as a page.

use super::page::RenderError;
use super::replayed::{self, Content, Made, Table, Told};
use crate::{place, place_watch};
use q2c_result::place_watch::PlaceWatchResult;

/// Makes the page of a look.
///
/// # Errors
/// The template could not be filled; its types leave no way for that.
pub fn place_watch(result: &PlaceWatchResult) -> Result<String, RenderError> {
    replayed::render(Content {
        command: "place watch",
        result: Made {
            version: &result.version,
            schema: &result.schema,
            started_unix_s: result.at_unix_s,
            complete: true,
            warnings: &result.warnings,
        },
        title: "Placement".to_owned(),
        about: place_watch::about(result),
        seed: 0,
        notices: Vec::new(),
        verdict: Vec::new(),
        tables: vec![
            Table::new("Cores", place_watch::cores(result)),
            Table::new("Speed beside a neighbour", place::speeds(&result.speeds)),
        ],
        told: vec![Told::new(
            "What would be better",
            place_watch::advice(result),
        )],
        charts: Vec::new(),
        facts: Vec::new(),
    })
}
