//! The kinds of results that are compared.

mod analyze;
mod bench;
mod figure;
mod replay;
mod tune;
mod tune_jobs;

pub use figure::FigureKind;

use q2c_result::diff::{Better, DiffSide, FigureUnit};
use q2c_stats::Interval;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::BTreeMap;
use thiserror::Error;

/// A result that was read: its figures, and what they were measured under.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The kind: this version's schema of such results.
    pub kind: &'static str,
    /// Where it was read, and when it was made.
    pub side: DiffSide,
    /// The figures.
    pub figures: Vec<DiffFigure>,
    /// Settings and facts by their places in the result.
    pub facts: BTreeMap<String, String>,
}

/// A figure of a result.
#[derive(Clone, Debug, PartialEq)]
pub struct DiffFigure {
    /// What it is of.
    pub of: String,
    /// Its name.
    pub figure: &'static str,
    /// Its unit.
    pub unit: FigureUnit,
    /// In which direction it is better.
    pub better: Better,
    /// The trials.
    pub value: Interval,
}

/// A result that cannot be compared.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The text is no JSON, or lacks what its kind has.
    #[error("expected a result of q2c, found {0}")]
    NotAResult(#[from] serde_json::Error),
    /// Results of this kind are not compared.
    #[error("expected a result of {expected}, found schema `{}`", found.escape_debug())]
    OtherKind {
        /// The commands whose results are compared.
        expected: String,
        /// The schema that was found.
        found: String,
    },
}

/// What a kind of results gives.
struct Content {
    figures: Vec<DiffFigure>,
    version: String,
    started_unix_s: Option<u64>,
    complete: bool,
    simulated: bool,
    /// The parts of the result that hold settings and facts: `machine`, `runs.0.machine`.
    facts: &'static [&'static str],
}

/// A kind of results.
struct Kind {
    /// The command that leaves such results.
    command: &'static str,
    schema: &'static str,
    /// The figures that such results can have.
    figures: &'static [FigureKind],
    content: fn(&Value) -> Result<Content, serde_json::Error>,
}

/// All kinds that are compared.
const KINDS: &[Kind] = &[
    tune::KIND,
    tune_jobs::KIND,
    bench::KIND,
    replay::KIND,
    analyze::KIND,
];

/// The figures that results of a schema can have; none for a schema whose results are not compared.
#[must_use]
pub fn figures(schema: &str) -> &'static [FigureKind] {
    let mut kinds = KINDS.iter();
    let kind = kinds.find(|kind| kind.schema == schema);
    kind.map_or(&[], |kind| kind.figures)
}

/// Reads a result that was kept as JSON. `path` is where it was read.
///
/// # Errors
/// The text is no result, or one of a kind that is not compared.
pub fn read(path: &str, text: &str) -> Result<Measured, ReadError> {
    measured(path, &serde_json::from_str(text)?)
}

/// As [`read`], of a result that is a JSON value already.
///
/// # Errors
/// As those of [`read`].
pub fn measured(path: &str, value: &Value) -> Result<Measured, ReadError> {
    let schema = value["schema"].as_str().unwrap_or_default().to_owned();
    let Some(kind) = KINDS.iter().find(|kind| kind.schema == schema) else {
        let mut names: Vec<&str> = KINDS.iter().map(|kind| kind.command).collect();
        names.dedup();
        return Err(ReadError::OtherKind {
            expected: names.join(", "),
            found: schema,
        });
    };
    let content = (kind.content)(value)?;
    Ok(Measured {
        kind: kind.schema,
        side: DiffSide {
            path: path.to_owned(),
            version: content.version,
            started_unix_s: content.started_unix_s,
            complete: content.complete,
            simulated: content.simulated,
        },
        figures: content.figures,
        facts: crate::facts::of(value, content.facts),
    })
}

fn typed<T: DeserializeOwned>(value: &Value) -> Result<T, serde_json::Error> {
    serde_json::from_value(value.clone())
}

/// Figures of one thing, as they are collected.
struct Of {
    of: String,
    figures: Vec<DiffFigure>,
}

impl Of {
    fn new(of: String) -> Self {
        Of {
            of,
            figures: Vec::new(),
        }
    }

    /// Adds a figure, unless it has no value.
    fn add(&mut self, figure: FigureKind, value: Interval) {
        if value.trials > 0 && value.median.is_finite() {
            self.figures.push(DiffFigure {
                of: self.of.clone(),
                figure: figure.name,
                unit: figure.unit,
                better: figure.better,
                value,
            });
        }
    }
}

/// A value without trials of its own.
fn single(value: f64) -> Interval {
    Interval::of(&[value])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_names_a_figure_once() {
        for kind in KINDS {
            let names: Vec<&str> = kind.figures.iter().map(|figure| figure.name).collect();
            let once: std::collections::BTreeSet<&&str> = names.iter().collect();
            assert_eq!(once.len(), names.len(), "{}: {names:?}", kind.schema);
            assert_eq!(figures(kind.schema), kind.figures);
        }
        assert!(figures("q2c.poll-sim/1").is_empty());
    }

    /// The kept benchmark on this machine, or on a simulated one whose look takes `look_ns`.
    fn bench(look_ns: Option<u64>) -> Measured {
        let text = include_str!("../../../q2c/tests/kept/bench-4.json");
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
        let result = crate::diff(&bench(Some(50)), &bench(None), &[], "0").unwrap();
        assert_eq!((result.a.simulated, result.b.simulated), (true, false));
    }

    #[test]
    fn simulated_machines_that_differ_are_among_what_changed() {
        let result = crate::diff(&bench(Some(50)), &bench(Some(60)), &[], "0").unwrap();
        let changed: Vec<_> = result
            .changed
            .iter()
            .map(|fact| fact.name.as_str())
            .collect();
        assert_eq!(changed, ["machine.simulated.look_ns"]);
        assert!(result.a.simulated && result.b.simulated);
    }
}
