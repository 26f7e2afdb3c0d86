//! Reads results that are compared, each by its schema and as a table of figures.

use crate::phrase::{distinct, grouped, listed};
use q2c_model::stats::Interval;
use q2c_model::{Exit, Fault};
use q2c_result::diff::DiffSide;
use q2c_result::figures::{Better, Figure, FigureTable, Measures};
use q2c_result::{Warning, analyze, bench, fs, kernel_tune, place_run, replay, tune, tune_jobs};
use serde::Deserialize;
use serde::de::DeserializeOwned;
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
fn no_result(error: serde_json::Error) -> Fault {
    let text = format!("expected a result of q2c, found {error}");
    Fault::new(Exit::Input, text).with_source(error)
}

/// A kind of result that can be compared.
struct ComparableKind {
    /// The command that leaves such results.
    command: &'static str,
    schema: &'static str,
    figures: fn(&Value) -> Result<FigureTable, serde_json::Error>,
    /// The figures that such results can have.
    declared: fn() -> Vec<Figure>,
}

const KINDS: [ComparableKind; 8] = [
    kind::<tune::TuneResult>("q2c tune", tune::SCHEMA),
    kind::<tune_jobs::TuneJobsResult>("q2c tune", tune_jobs::SCHEMA),
    kind::<bench::BenchResult>("q2c bench", bench::SCHEMA),
    kind::<replay::ReplayResult>("q2c replay", replay::SCHEMA),
    kind::<analyze::AnalyzeResult>("q2c analyze", analyze::SCHEMA),
    kind::<fs::FsResult>("q2c fs bench", fs::SCHEMA),
    kind::<kernel_tune::KernelTuneResult>("q2c poll tune-kernel", kernel_tune::SCHEMA),
    kind::<place_run::PlaceRunResult>("q2c place run", place_run::SCHEMA),
];

const fn kind<T: DeserializeOwned + Measures>(
    command: &'static str,
    schema: &'static str,
) -> ComparableKind {
    ComparableKind {
        command,
        schema,
        figures: |value| T::deserialize(value).map(|result| result.figures()),
        declared: T::declared,
    }
}

/// The figures that results of a schema can have; empty for a schema that cannot be compared.
pub fn declared(schema: &str) -> Vec<Figure> {
    let kind = KINDS.iter().find(|kind| kind.schema == schema);
    kind.map_or_else(Vec::new, |kind| (kind.declared)())
}

/// Reads a stored result from JSON text. `path` is the file it came from, for messages.
pub fn read(path: &str, text: &str) -> Result<ComparableResult, Fault> {
    measured(path, &serde_json::from_str(text).map_err(no_result)?)
}

/// As [`read`], from a JSON value that was parsed already.
pub fn measured(path: &str, value: &Value) -> Result<ComparableResult, Fault> {
    let schema = value["schema"].as_str().unwrap_or_default().to_owned();
    let Some(kind) = KINDS.iter().find(|kind| kind.schema == schema) else {
        let names = listed(distinct(KINDS.iter().map(|kind| kind.command)));
        let schema = schema.escape_debug();
        let text = format!("expected a result of {names}, found schema `{schema}`");
        return Err(Fault::new(Exit::Input, text));
    };
    Ok(ComparableResult {
        schema,
        side: side(path, value),
        figures: figures_with_values(&(kind.figures)(value).map_err(no_result)?),
        facts: crate::difference::facts::settings(value),
    })
}

/// The facts that all kinds of result have, wherever each kind stores them.
pub(crate) fn side(path: &str, value: &Value) -> DiffSide {
    let started = ["/provenance/started_unix_s", "/started_unix_s"].into_iter();
    let mut started = started.filter_map(|place| value.pointer(place)?.as_u64());
    let mut machines = with_runs(value).map(|run| &run["machine"]["simulated"]);
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
fn with_runs(value: &Value) -> impl Iterator<Item = &Value> {
    let runs = value["runs"].as_array().into_iter().flatten();
    runs.chain([value])
}

/// The warnings of a result and of the runs in it, each once.
fn warnings(value: &Value) -> Vec<Warning> {
    let lists = with_runs(value).filter_map(|run| run["warnings"].as_array());
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
        for kind in KINDS {
            let figures = (kind.declared)().into_iter();
            let mut names: Vec<_> = figures.map(|figure| figure.name).collect();
            let count = names.len();
            names.sort();
            names.dedup();
            assert_eq!(names.len(), count, "{}", kind.schema);
            assert_eq!(declared(kind.schema).len(), count);
        }
        assert!(declared("q2c.poll-sim/1").is_empty());
    }

    /// A stored benchmark: on this machine, or on a simulated one whose look takes `look_ns`.
    fn bench(look_ns: Option<u64>) -> ComparableResult {
        let text = include_str!("../../../q2c/tests/kept/bench-5.json");
        let mut result: Value = serde_json::from_str(text).unwrap();
        if let Some(look_ns) = look_ns {
            result["machine"]["simulated"] = serde_json::json!({
                "name": "mine", "cpus": 8, "speed": 1.0, "slice_ns": 3_000_000, "submission_ns": 500,
                "turnaround_ns": 100, "look_ns": look_ns, "switch_ns": 1_487, "timer_ns": 500,
                "wake_delay_ns": 2_500, "interrupt_ns": 1_076, "interrupt_delay_ns": 3_000
            });
        }
        measured("result.json", &result).unwrap()
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
