//! Placements of `q2c place sim` as a page.

use super::chart;
use super::page::RenderError;
use super::replayed::{self, Content, Made, Table, Told};
use crate::place;
use q2c_result::place::PlaceSimResult;

/// Makes the page of simulated placements.
///
/// # Errors
/// The template could not be filled; its types leave no way for that.
pub fn place_sim(result: &PlaceSimResult) -> Result<String, RenderError> {
    let mut tables = Vec::new();
    for setup in &result.setups {
        tables.push(Table::new(place::title(setup), place::policies(setup)));
        if !setup.published.is_empty() {
            let title = format!("{}: published", place::title(setup));
            tables.push(Table::new(title, place::published(setup)));
        }
    }
    tables.push(Table::new(
        "Speed beside a neighbour",
        place::speeds(&result.speeds),
    ));
    let told = result.setups.iter();
    let told = told.map(|setup| Told::new(place::title(setup), place::verdict(setup)));
    replayed::render(Content {
        command: "place sim",
        result: Made {
            version: &result.version,
            schema: &result.schema,
            started_unix_s: result.started_unix_s,
            complete: true,
            warnings: &result.warnings,
        },
        title: "Placement".to_owned(),
        about: place::about(result),
        seed: result.seed,
        notices: Vec::new(),
        verdict: Vec::new(),
        tables,
        told: told.collect(),
        charts: chart::place::charts(result),
        facts: Vec::new(),
    })
}
