//! Measured placements of `q2c place run` as a page.

use super::page::RenderError;
use super::replayed::{self, Content, Facts, Made, Table, Told};
use crate::place_run;
use q2c_result::place_run::PlaceRunResult;

/// Makes the page of a run.
///
/// # Errors
/// The template could not be filled; its types leave no way for that.
pub fn place_run(result: &PlaceRunResult) -> Result<String, RenderError> {
    let mut tables = Vec::new();
    let mut told = Vec::new();
    for class in &result.classes {
        let task = place_run::task(&class.task);
        told.push(Told::new(task.clone(), place_run::verdict(class)));
        tables.push(Table::new(
            format!("Placements, {task}"),
            place_run::placements(result, class),
        ));
        tables.push(Table::new(
            format!("Gains, {task}"),
            place_run::gains(class),
        ));
    }
    told.push(Told::new("How it was measured", place_run::notes(result)));
    let target = result.target.as_ref().map(Facts::target);
    replayed::render(Content {
        command: "place run",
        result: Made {
            version: &result.version,
            schema: &result.schema,
            started_unix_s: result.started_unix_s,
            complete: result.complete,
            warnings: &result.warnings,
        },
        title: "Placements, measured".to_owned(),
        about: place_run::about(result),
        seed: result.seed,
        notices: Vec::new(),
        verdict: Vec::new(),
        tables,
        told,
        charts: Vec::new(),
        facts: target
            .into_iter()
            .chain([Facts::machine(&result.machine)])
            .collect(),
    })
}
