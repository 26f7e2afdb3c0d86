//! Compares two results of one kind figure by figure: ratios with intervals, changed facts, and
//! limits, also limits on the values of one result. The modules read tables of figures and know no
//! kind of result; a new kind is a line in `KINDS` of `stored_results`.

mod compare;
mod facts;
mod limit;

pub use compare::diff;
pub use limit::{Limit, LimitError, LimitFault, check, judge};

use crate::phrase::{distinct, grouped};
use crate::stored_results::{KINDS, KindComparison};
use q2c_model::stats::Interval;
use q2c_model::{Exit, Fault};
use q2c_result::Warning;
use q2c_result::diff::DiffSide;
use q2c_result::figures::{Better, Figure, FigureTable};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// A result as it was read: its figures, and the conditions of their measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparableResult {
    /// The schema of the result.
    pub schema: String,
    /// The file that it was read from, and the time when it was made.
    pub side: DiffSide,
    /// The figures that have a value.
    pub figures: Vec<NamedFigure>,
    /// Settings and facts by their paths in the result's JSON.
    pub facts: BTreeMap<String, String>,
}

/// A figure of a thing in a result.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedFigure {
    /// The thing that has the figure: a method, a point or a stage.
    pub of: String,
    /// The figure, with the direction in which it is better for this thing.
    pub figure: Figure,
    /// The median, with the range of the trials.
    pub value: Interval,
}

/// The fault of a text that is not JSON, or lacks a field of its kind.
fn not_a_result(error: serde_json::Error) -> Fault {
    let text = format!("expected a result of q2c, found {error}");
    Fault::new(Exit::Input, text).with_source(error)
}

fn comparison_of(schema: &str) -> Option<&'static KindComparison> {
    let kind = KINDS.iter().find(|kind| kind.schema == schema)?;
    kind.comparison.as_ref()
}

/// The figures that results of a schema can have; empty for a schema that cannot be compared.
pub fn declared_figures(schema: &str) -> Vec<Figure> {
    comparison_of(schema).map_or_else(Vec::new, |comparison| (comparison.declared)())
}

/// Reads a stored result from JSON text. `path` is the file it came from, for messages.
pub fn read(path: &str, text: &str) -> Result<ComparableResult, Fault> {
    from_json(path, &serde_json::from_str(text).map_err(not_a_result)?)
}

/// As [`read`], from a JSON value that was parsed already.
pub fn from_json(path: &str, value: &Value) -> Result<ComparableResult, Fault> {
    let schema = value["schema"].as_str().unwrap_or_default().to_owned();
    let Some(comparison) = comparison_of(&schema) else {
        let kinds = KINDS.iter().filter_map(|kind| kind.comparison.as_ref());
        let commands = distinct(kinds.map(|kind| kind.command)).join(", ");
        let schema = schema.escape_debug();
        let text = format!("expected a result of {commands}, found schema `{schema}`");
        return Err(Fault::new(Exit::Input, text));
    };
    Ok(ComparableResult {
        schema,
        side: side(path, value),
        figures: figures_with_values(&(comparison.figures)(value).map_err(not_a_result)?),
        facts: facts::facts_of(value),
    })
}

/// The facts that all kinds of result have, wherever each kind stores them.
pub(crate) fn side(path: &str, value: &Value) -> DiffSide {
    let started = ["/provenance/started_unix_s", "/started_unix_s"].into_iter();
    let mut started = started.filter_map(|place| value.pointer(place)?.as_u64());
    let mut machines = runs_and_result(value).map(|run| &run["machine"]["simulated"]);
    DiffSide {
        path: path.to_owned(),
        version: value["version"].as_str().unwrap_or_default().to_owned(),
        started_unix_s: started.next(),
        complete: value["complete"].as_bool().unwrap_or(true),
        simulated: machines.any(|simulated| !simulated.is_null()),
        warnings: warnings(value),
    }
}

/// The runs within the result, then the result itself.
fn runs_and_result(value: &Value) -> impl Iterator<Item = &Value> {
    let runs = value["runs"].as_array().into_iter().flatten();
    runs.chain([value])
}

/// The warnings of a result and of the runs in it, each once.
fn warnings(value: &Value) -> Vec<Warning> {
    let lists = runs_and_result(value).filter_map(|run| run["warnings"].as_array());
    let warnings = lists.flatten();
    distinct(warnings.filter_map(|warning| Warning::deserialize(warning).ok()))
}

/// The figures that have a value. Rows with the same name are trials of one thing.
fn figures_with_values(table: &FigureTable) -> Vec<NamedFigure> {
    let rows = table.rows.iter();
    let things = grouped(rows.filter_map(|row| Some((row.of.as_deref()?, row))));
    let figures = things.iter().flat_map(|(name, rows)| {
        let columns = table.figures.iter().enumerate();
        columns.filter_map(move |(column, figure)| {
            let values = rows.iter().map(|row| row.values[column]);
            let values: Vec<Interval> = values.filter(|value| value.trials > 0).collect();
            let medians: Vec<f64> = values.iter().map(|value| value.median).collect();
            let value = match values.as_slice() {
                [] => return None,
                [one] => *one,
                _ => Interval::from_samples(&medians),
            };
            let mut figure = figure.clone();
            if rows.iter().any(|row| row.neutral) {
                figure.better = Better::Neither;
            }
            Some(NamedFigure {
                of: (*name).to_owned(),
                figure,
                value,
            })
        })
    });
    figures.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_names_a_figure_once() {
        for kind in KINDS.iter().filter(|kind| kind.comparison.is_some()) {
            let figures = declared_figures(kind.schema).into_iter();
            let mut names: Vec<_> = figures.map(|figure| figure.name).collect();
            assert!(!names.is_empty(), "{}", kind.schema);
            let count = names.len();
            names.sort();
            names.dedup();
            assert_eq!(names.len(), count, "{}", kind.schema);
        }
        assert!(declared_figures("q2c.poll-sim/1").is_empty());
    }

    /// A stored benchmark: on this machine, or on a simulated one whose look takes `look_ns`.
    fn bench(look_ns: Option<u64>) -> ComparableResult {
        let text = include_str!("../../q2c/tests/kept/bench-5.json");
        let mut result: Value = serde_json::from_str(text).unwrap();
        if let Some(look_ns) = look_ns {
            result["machine"]["simulated"] = serde_json::json!({
                "name": "mine", "cores": 8, "speed": 1.0, "slice_ns": 3_000_000, "submission_ns": 500,
                "turnaround_ns": 100, "look_ns": look_ns, "switch_ns": 1_487, "timer_ns": 500,
                "wake_delay_ns": 2_500, "interrupt_ns": 1_076, "interrupt_delay_ns": 3_000
            });
        }
        from_json("result.json", &result).unwrap()
    }

    #[test]
    fn a_side_tells_whether_its_machine_was_simulated() {
        let result = crate::difference::diff(&bench(Some(50)), &bench(None), &[], "0").unwrap();
        assert_eq!((result.a.simulated, result.b.simulated), (true, false));
    }

    #[test]
    fn simulated_machines_that_differ_are_among_what_changed() {
        let result = crate::difference::diff(&bench(Some(50)), &bench(Some(60)), &[], "0").unwrap();
        let changed: Vec<_> = result.changed.iter().map(|fact| &fact.name).collect();
        assert_eq!(changed, ["machine.simulated.look_ns"]);
        assert!(result.a.simulated && result.b.simulated);
    }
}
