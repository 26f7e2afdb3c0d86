//! An experiment of `q2c reproduce` as a page.

use super::chart;
use super::page::RenderError;
use super::replayed::{self, Content, Facts, Made, Table, Told};
use crate::reproduce;
use crate::said::{Said, Weight};
use q2c_result::reproduce::{AllResult, ReproduceResult};

/// Makes the page of an experiment.
///
/// # Errors
/// The template could not be filled; its types leave no way for that.
pub fn reproduce(result: &ReproduceResult) -> Result<String, RenderError> {
    let mut tables = vec![Table::new("Claims", reproduce::claims(result))];
    let own = reproduce::chart_tables(result).into_iter();
    tables.extend(own.map(|(title, table)| Table::new(title, table)));
    let points = reproduce::points(result);
    if !points.rows.is_empty() {
        tables.push(Table::new("Points", points));
    }
    let mut facts: Vec<Facts> = result.target.iter().map(Facts::target).collect();
    facts.push(Facts::machine(&result.machine));
    let claims = result.claims.iter();
    let each = claims.map(|claim| format!("{}: {}", reproduce::verdict(claim), claim.says));
    let verdict = [reproduce::summed(result)].into_iter().chain(each);
    replayed::render(Content {
        command: "reproduce",
        result: Made {
            version: &result.version,
            schema: &result.schema,
            started_unix_s: result.started_unix_s,
            complete: result.complete,
            warnings: &result.warnings,
        },
        title: result.name.clone(),
        about: reproduce::about(result),
        seed: result.seed,
        notices: Vec::new(),
        verdict: verdict.collect(),
        tables,
        told: vec![
            Told::new("Why", reproduce::reasons(result)),
            Told::new("Setting", reproduce::setting(result)),
        ],
        charts: chart::reproduce::charts(result),
        facts,
    })
}

/// Makes the page with the verdicts of all experiments.
///
/// # Errors
/// As [`reproduce`].
pub fn reproduce_all(result: &AllResult) -> Result<String, RenderError> {
    let about = match result.scale == 1.0 {
        true => "all experiments".to_owned(),
        false => format!("all experiments, all times multiplied by {}", result.scale),
    };
    replayed::render(Content {
        command: "reproduce",
        result: Made {
            version: &result.version,
            schema: &result.schema,
            started_unix_s: result.started_unix_s,
            complete: result.complete,
            warnings: &[],
        },
        title: "Published experiments".to_owned(),
        about,
        seed: 0,
        notices: reproduce::all::missing(result)
            .map(|words| Said::new(Weight::Bad, "incomplete", words))
            .into_iter()
            .collect(),
        verdict: vec![reproduce::counted(result)],
        tables: vec![Table::new("Claims", reproduce::verdicts(result))],
        told: Vec::new(),
        charts: Vec::new(),
        facts: vec![Facts::machine(&result.machine)],
    })
}
