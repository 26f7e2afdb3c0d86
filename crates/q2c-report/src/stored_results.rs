//! Stored results: reads the JSON of any command that writes some, for the forms in which a result
//! is shown again. Also tables of figures as CSV, where the unit stands in the column's name.

use crate::document::{Document, Reported};
use q2c_model::{Exit, Fault, OrFault};
use q2c_result::diff::{self, DiffResult};
use q2c_result::figures::{Figure, FigureTable, Measures};
use q2c_result::kernel_watch::{self, KernelWatchResult};
use q2c_result::live::LineKind;
use q2c_result::ramdisk::{self, RamDevices};
use q2c_result::steer::{self, SteerResult};
use q2c_result::volumes::{self, VolumesChoice, VolumesResult};
use q2c_result::{
    analyze, bench, compare, corun, doctor, fs, kernel_tune, place, place_run, place_watch,
    poll_search, poll_study, replay, reproduce, scale, sim, sweep, tune, tune_jobs, watch,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

/// All kinds of results, in the order in which a refusal lists their schemas.
pub(crate) const KINDS: &[ResultKind] = &[
    comparable_kind::<tune::TuneResult>(tune::SCHEMA, "q2c tune"),
    comparable_kind::<tune_jobs::TuneJobsResult>(tune_jobs::SCHEMA, "q2c tune"),
    comparable_kind::<bench::BenchResult>(bench::SCHEMA, "q2c bench"),
    comparable_kind::<analyze::AnalyzeResult>(analyze::SCHEMA, "q2c analyze"),
    comparable_kind::<replay::ReplayResult>(replay::SCHEMA, "q2c replay"),
    measured_kind::<compare::CompareResult>(compare::SCHEMA),
    plain_kind::<DiffResult>(diff::SCHEMA),
    comparable_kind::<kernel_tune::KernelTuneResult>(kernel_tune::SCHEMA, "q2c poll tune-kernel"),
    comparable_kind::<fs::FsResult>(fs::SCHEMA, "q2c fs bench"),
    measured_kind::<scale::ScaleResult>(scale::SCHEMA),
    measured_kind::<place::PlaceSimResult>(place::SCHEMA),
    measured_kind::<corun::CalibrateResult>(corun::SCHEMA),
    comparable_kind::<place_run::PlaceRunResult>(place_run::SCHEMA, "q2c place run"),
    measured_kind::<place_watch::PlaceWatchResult>(place_watch::SCHEMA),
    measured_kind::<sweep::SweepResult>(sweep::SCHEMA),
    plain_kind::<sim::SimResult>(sim::SCHEMA),
    plain_kind::<VolumesResult>(volumes::SCHEMA),
    plain_kind::<VolumesChoice>(volumes::CHOICE_SCHEMA),
    plain_kind::<watch::WatchResult>(watch::SCHEMA),
    plain_kind::<KernelWatchResult>(kernel_watch::SCHEMA),
    plain_kind::<SteerResult>(steer::SCHEMA),
    plain_kind::<RamDevices>(ramdisk::SCHEMA),
    plain_kind::<doctor::DoctorReport>(doctor::SCHEMA),
    plain_kind::<doctor::DoctorFix>(doctor::FIX_SCHEMA),
    measured_kind::<poll_study::PollStudyResult>(poll_study::SCHEMA),
    measured_kind::<poll_search::PollSearchResult>(poll_search::SCHEMA),
    measured_kind::<reproduce::ReproduceResult>(reproduce::SCHEMA),
    measured_kind::<reproduce::AllResult>(reproduce::ALL_SCHEMA),
];

/// A text that is not a result of this version. The message continues "read FILE: ".
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum UnreadableResult {
    /// It is not JSON, or has no schema.
    #[error(
        "expected a result of q2c, found no JSON of one ({0}); q2c runs lists the runs that are here"
    )]
    NoResult(#[source] serde_json::Error),
    /// It has lines of a live view, but its last line is not their summary.
    #[error(
        "expected a last line of kind `summary`, found none: the live view was ended before it wrote its result"
    )]
    NoSummary,
    /// Its schema is unknown to this version.
    #[error("expected schema {}, found `{}`; use the q2c that wrote it", schemas(), found.escape_debug())]
    Schema {
        /// The schema that was found.
        found: String,
    },
    /// Its content does not fit its schema.
    #[error("expected schema {schema}, found {source}")]
    Content {
        /// The schema.
        schema: String,
        /// The error of the JSON parser.
        source: serde_json::Error,
    },
}

/// The JSON of the result in a text. A live view writes intervals, and its result as last line.
fn result_text(text: &str) -> Result<&str, UnreadableResult> {
    /// A line of a live view, whatever its schema.
    #[derive(Deserialize)]
    struct LiveViewLine {
        kind: LineKind,
    }
    let has_kind = |line: &str, kind| {
        serde_json::from_str::<LiveViewLine>(line).is_ok_and(|parsed| parsed.kind == kind)
    };
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let first_line = lines.next();
    if !first_line.is_some_and(|first_line| has_kind(first_line, LineKind::Interval)) {
        return Ok(text);
    }
    let last = lines.next_back();
    last.filter(|line| has_kind(line, LineKind::Summary))
        .ok_or(UnreadableResult::NoSummary)
}

/// Reads a result from JSON, or from the lines of a live view.
///
/// # Errors
/// Returns [`UnreadableResult`] if the text is not a result of this version.
pub fn read(text: &str) -> Result<Box<dyn StoredResult>, UnreadableResult> {
    #[derive(Deserialize)]
    #[serde(expecting = "an object with the kind of the result")]
    struct ResultHead {
        schema: String,
    }
    let text = result_text(text)?;
    let ResultHead { schema } = serde_json::from_str(text).map_err(UnreadableResult::NoResult)?;
    let Some(kind) = KINDS.iter().find(|kind| kind.schema == schema) else {
        return Err(UnreadableResult::Schema { found: schema });
    };
    (kind.read)(kind.schema, text).map_err(|source| UnreadableResult::Content { schema, source })
}

/// The names of all schemas that this version reads: `a, b or c`.
fn schemas() -> String {
    let names: Vec<&str> = KINDS.iter().map(|kind| kind.schema).collect();
    let (last, others) = names.split_last().unwrap_or((&"", &[]));
    format!("{} or {last}", others.join(", "))
}

/// A result of any type that has a report and JSON.
pub trait ReportedResult: Reported + Send + Sync {
    /// The result as JSON, as every command prints it.
    ///
    /// # Errors
    /// Returns a fault if the JSON cannot be written, which the types rule out.
    fn json(&self) -> Result<String, Fault>;
}

impl<T: Reported + Serialize + Send + Sync> ReportedResult for T {
    fn json(&self) -> Result<String, Fault> {
        serde_json::to_string_pretty(self).or_fault(Exit::Internal, "write a result as JSON")
    }
}

/// A result that was read from a file.
pub trait StoredResult: ReportedResult {
    /// The CSV table.
    ///
    /// # Errors
    /// Returns a fault if results of this kind have no table, or if it cannot be written.
    fn csv(&self) -> Result<String, Fault>;
}

trait Readable: Reported + Serialize + DeserializeOwned + Send + Sync + 'static {}

impl<T: Reported + Serialize + DeserializeOwned + Send + Sync + 'static> Readable for T {}

/// A kind of result: its schema in this version, and the function that reads it from JSON.
pub(crate) struct ResultKind {
    pub schema: &'static str,
    read: fn(&'static str, &str) -> serde_json::Result<Box<dyn StoredResult>>,
    /// `None` for a kind of which no two results are compared.
    pub comparison: Option<KindComparison>,
}

/// How results of a kind are compared.
pub(crate) struct KindComparison {
    pub figures: fn(&Value) -> serde_json::Result<FigureTable>,
    /// The figures that such results can have.
    pub declared: fn() -> Vec<Figure>,
    /// The command that makes such results, for messages.
    pub command: &'static str,
}

const fn comparable_kind<T: Measures + Readable>(
    schema: &'static str,
    command: &'static str,
) -> ResultKind {
    ResultKind {
        comparison: Some(KindComparison {
            command,
            figures: |value| T::deserialize(value).map(|result| result.figures()),
            declared: T::declared,
        }),
        ..measured_kind::<T>(schema)
    }
}

const fn measured_kind<T: Measures + Readable>(schema: &'static str) -> ResultKind {
    ResultKind {
        schema,
        read: |schema, text| read_as::<T>(schema, Some(T::figures), text),
        comparison: None,
    }
}

const fn plain_kind<T: Readable>(schema: &'static str) -> ResultKind {
    ResultKind {
        schema,
        read: |schema, text| read_as::<T>(schema, None, text),
        comparison: None,
    }
}

fn read_as<T: Readable>(
    schema: &'static str,
    figures: Option<fn(&T) -> FigureTable>,
    text: &str,
) -> serde_json::Result<Box<dyn StoredResult>> {
    let result: T = serde_json::from_str(text)?;
    if let Some(what) = result.dangling_part() {
        return Err(serde::de::Error::custom(what));
    }
    Ok(Box::new(TypedResult {
        schema,
        figures,
        result,
    }))
}

#[derive(Serialize)]
#[serde(transparent)]
struct TypedResult<T> {
    #[serde(skip)]
    schema: &'static str,
    #[serde(skip)]
    figures: Option<fn(&T) -> FigureTable>,
    result: T,
}

impl<T: Reported> Reported for TypedResult<T> {
    fn document(&self) -> Document<'_> {
        self.result.document()
    }
}

impl<T: Reported + Serialize + Send + Sync> StoredResult for TypedResult<T> {
    fn csv(&self) -> Result<String, Fault> {
        let Some(figures) = self.figures else {
            let message = format!(
                "draw CSV: a result of {} has no table of figures; a page, Markdown and JSON show it",
                self.schema
            );
            return Err(Fault::new(Exit::Usage, message));
        };
        csv(&figures(&self.result)).or_exit(Exit::Internal)
    }
}

/// The table as CSV text. A figure over trials has three columns: median, minimum and maximum; any
/// other has one. A value that does not exist is an empty field.
///
/// # Errors
/// Returns the CSV writer's error, which the types of the rows rule out.
pub fn csv(table: &FigureTable) -> Result<String, ::csv::Error> {
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    let has_trials = table.figures.iter().any(|figure| figure.over_trials);
    let trials = has_trials.then(|| "trials".to_owned());
    let figures = table.figures.iter().flat_map(|figure| {
        let suffixes = ["", "_min", "_max"].into_iter().take(numbers_of(figure));
        suffixes.map(move |suffix| format!("{}{suffix}", figure.column()))
    });
    let keys = table.keys.iter().map(|key| key.to_string());
    writer.write_record(keys.chain(trials).chain(figures))?;
    for row in &table.rows {
        let values = || table.figures.iter().zip(&row.values);
        // The first figure over trials is the main one; its trials are counted.
        let main = values().find(|(figure, _)| figure.over_trials);
        let trials = main.map(|(_, value)| value.trials);
        let trials = has_trials.then(|| trials.unwrap_or(0).to_string());
        let fields = values().flat_map(|(figure, value)| {
            let numbers = [value.median, value.min, value.max].into_iter();
            let is_known = move |number: &f64| value.trials > 0 && number.is_finite();
            let shown = numbers.take(numbers_of(figure));
            shown.map(move |number| Some(number).filter(is_known).map(|n| n.to_string()))
        });
        let fields = fields.map(Option::unwrap_or_default);
        writer.write_record(row.keys.iter().cloned().chain(trials).chain(fields))?;
    }
    Ok(String::from_utf8_lossy(&writer.into_inner().map_err(|e| e.into_error())?).into_owned())
}

/// The number of columns of a figure: median, minimum and maximum, or the number alone.
fn numbers_of(figure: &Figure) -> usize {
    if figure.over_trials { 3 } else { 1 }
}
