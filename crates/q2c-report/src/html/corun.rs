//! A calibration of `q2c place calibrate` as a page.

use super::page::RenderError;
use super::replayed::{self, Content, Facts, Made, Table, Told};
use crate::{corun, place};
use q2c_result::corun::CalibrateResult;

/// Makes the page of a calibration.
///
/// # Errors
/// The template could not be filled; its types leave no way for that.
pub fn place_calibrate(result: &CalibrateResult) -> Result<String, RenderError> {
    replayed::render(Content {
        command: "place calibrate",
        result: Made {
            version: &result.version,
            schema: &result.schema,
            started_unix_s: result.started_unix_s,
            complete: true,
            warnings: &result.warnings,
        },
        title: "Speed beside a neighbour".to_owned(),
        about: corun::about(result),
        seed: result.seed,
        notices: Vec::new(),
        verdict: Vec::new(),
        tables: vec![
            Table::new("Pairs", corun::pairs(result)),
            Table::new("Speed beside a neighbour", place::speeds(&result.speeds)),
        ],
        told: vec![Told::new("What it means", corun::words(result))],
        charts: Vec::new(),
        facts: result
            .target
            .iter()
            .map(Facts::target)
            .chain([Facts::machine(&result.machine)])
            .collect(),
    })
}
