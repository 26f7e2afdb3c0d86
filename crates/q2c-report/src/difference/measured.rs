//! Results that are compared: read by their schema, each as a table of figures.

use q2c_model::stats::Interval;
use q2c_model::{Exit, Fault};
use q2c_result::Warning;
use q2c_result::analyze::{self, AnalyzeResult};
use q2c_result::bench::{self, BenchResult};
use q2c_result::diff::DiffSide;
use q2c_result::figures::{Better, Figure, FigureRow, FigureTable, Measures};
use q2c_result::fs::{self, FsResult};
use q2c_result::kernel_tune::{self, KernelTuneResult};
use q2c_result::place_run::{self, PlaceRunResult};
use q2c_result::replay::{self, ReplayResult};
use q2c_result::tune::{self, TuneResult};
use q2c_result::tune_jobs::{self, TuneJobsResult};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::BTreeMap;

/// A result that was read: its figures, and what they were measured under.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparableResult {
    /// The schema of the result.
    pub schema: String,
    /// Where it was read, and when it was made.
    pub side: DiffSide,
    /// The figures that have a value.
    pub figures: Vec<NamedFigure>,
    /// Settings and facts by their places in the result.
    pub facts: BTreeMap<String, String>,
}

/// A figure of a thing in a result.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedFigure {
    /// The thing that the figure is of: a method, a point or a stage.
    pub of: String,
    /// The figure, with the direction in which it is better for this thing.
    pub figure: Figure,
    /// The trials.
    pub value: Interval,
}

/// The fault of a text that is no JSON, or lacks what its kind has.
fn no_result(error: serde_json::Error) -> Fault {
    let text = format!("expected a result of q2c, found {error}");
    Fault::new(Exit::Input, text).with_source(error)
}

/// A kind of results that are compared.
struct ComparableKind {
    /// The command that leaves such results.
    command: &'static str,
    schema: &'static str,
    figures: fn(&Value) -> Result<FigureTable, serde_json::Error>,
    /// The figures that such results can have.
    declared: fn() -> Vec<Figure>,
}

const KINDS: [ComparableKind; 8] = [
    kind::<TuneResult>("q2c tune", tune::SCHEMA),
    kind::<TuneJobsResult>("q2c tune", tune_jobs::SCHEMA),
    kind::<BenchResult>("q2c bench", bench::SCHEMA),
    kind::<ReplayResult>("q2c replay", replay::SCHEMA),
    kind::<AnalyzeResult>("q2c analyze", analyze::SCHEMA),
    kind::<FsResult>("q2c fs bench", fs::SCHEMA),
    kind::<KernelTuneResult>("q2c poll tune-kernel", kernel_tune::SCHEMA),
    kind::<PlaceRunResult>("q2c place run", place_run::SCHEMA),
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

/// The figures that results of a schema can have; none for a schema whose results are not compared.
pub fn declared(schema: &str) -> Vec<Figure> {
    let kind = KINDS.iter().find(|kind| kind.schema == schema);
    kind.map_or_else(Vec::new, |kind| (kind.declared)())
}

/// Reads a result that was kept as JSON. `path` is where it was read.
pub fn read(path: &str, text: &str) -> Result<ComparableResult, Fault> {
    measured(path, &serde_json::from_str(text).map_err(no_result)?)
}

/// As [`read`], of a result that is a JSON value already.
pub fn measured(path: &str, value: &Value) -> Result<ComparableResult, Fault> {
    let schema = value["schema"].as_str().unwrap_or_default().to_owned();
    let Some(kind) = KINDS.iter().find(|kind| kind.schema == schema) else {
        let mut names: Vec<&str> = KINDS.iter().map(|kind| kind.command).collect();
        names.dedup();
        let text = format!(
            "expected a result of {}, found schema `{}`",
            names.join(", "),
            schema.escape_debug()
        );
        return Err(Fault::new(Exit::Input, text));
    };
    let figures = figures_with_values(&(kind.figures)(value).map_err(no_result)?);
    Ok(ComparableResult {
        schema,
        side: side(path, value),
        figures,
        facts: crate::difference::facts::settings(value),
    })
}

/// The facts that all results have, wherever they stand in one.
pub(crate) fn side(path: &str, value: &Value) -> DiffSide {
    let started = ["/provenance/started_unix_s", "/started_unix_s"];
    let mut machines = with_runs(value).map(|run| &run["machine"]["simulated"]);
    DiffSide {
        path: path.to_owned(),
        version: value["version"].as_str().unwrap_or_default().to_owned(),
        started_unix_s: started
            .into_iter()
            .find_map(|at| value.pointer(at)?.as_u64()),
        complete: value["complete"].as_bool().unwrap_or(true),
        simulated: machines.any(|simulated| !simulated.is_null()),
        warnings: warnings(value),
    }
}

/// The result, and the runs in it.
fn with_runs(value: &Value) -> impl Iterator<Item = &Value> {
    let runs = value["runs"].as_array().into_iter().flatten();
    runs.chain([value])
}

/// The warnings of a result and of the runs in it, each once.
fn warnings(value: &Value) -> Vec<Warning> {
    let lists = with_runs(value).filter_map(|run| run["warnings"].as_array());
    let mut warnings = Vec::new();
    for warning in lists
        .flatten()
        .filter_map(|it| Warning::deserialize(it).ok())
    {
        if !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }
    warnings
}

/// The figures that have a value. Rows of one name are trials of one thing.
fn figures_with_values(table: &FigureTable) -> Vec<NamedFigure> {
    let mut things: Vec<(&str, Vec<&FigureRow>)> = Vec::new();
    for row in &table.rows {
        let Some(name) = row.of.as_deref() else {
            continue;
        };
        match things.iter_mut().find(|(known, _)| *known == name) {
            Some((_, rows)) => rows.push(row),
            None => things.push((name, vec![row])),
        }
    }
    let figures = things.iter().flat_map(|(name, rows)| {
        let columns = table.figures.iter().enumerate();
        columns.filter_map(|(column, figure)| named_figure(name, figure, rows, column))
    });
    figures.collect()
}

fn named_figure(
    name: &str,
    figure: &Figure,
    rows: &[&FigureRow],
    column: usize,
) -> Option<NamedFigure> {
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
        of: name.to_owned(),
        figure,
        value,
    })
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

    /// The kept benchmark on this machine, or on a simulated one whose look takes `look_ns`.
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
