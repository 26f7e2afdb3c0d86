//! Stored results: reads the JSON of any command that writes some, for the forms in which a result
//! is shown again.

use crate::csv;
use crate::document::{Document, Reported};
use q2c_model::{Exit, Fault, OrFault};
use q2c_result::diff::{self, DiffResult};
use q2c_result::figures::{FigureTable, Measures};
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
use thiserror::Error;

const KINDS: &[ResultKind] = &[
    reported::<tune::TuneResult>(tune::SCHEMA),
    reported::<tune_jobs::TuneJobsResult>(tune_jobs::SCHEMA),
    reported::<bench::BenchResult>(bench::SCHEMA),
    reported::<analyze::AnalyzeResult>(analyze::SCHEMA),
    reported::<replay::ReplayResult>(replay::SCHEMA),
    reported::<compare::CompareResult>(compare::SCHEMA),
    shown::<DiffResult>(diff::SCHEMA),
    reported::<kernel_tune::KernelTuneResult>(kernel_tune::SCHEMA),
    reported::<fs::FsResult>(fs::SCHEMA),
    reported::<scale::ScaleResult>(scale::SCHEMA),
    reported::<place::PlaceSimResult>(place::SCHEMA),
    reported::<corun::CalibrateResult>(corun::SCHEMA),
    reported::<place_run::PlaceRunResult>(place_run::SCHEMA),
    reported::<place_watch::PlaceWatchResult>(place_watch::SCHEMA),
    reported::<sweep::SweepResult>(sweep::SCHEMA),
    shown::<sim::SimResult>(sim::SCHEMA),
    shown::<VolumesResult>(volumes::SCHEMA),
    shown::<VolumesChoice>(volumes::CHOICE_SCHEMA),
    shown::<watch::WatchResult>(watch::SCHEMA),
    shown::<KernelWatchResult>(kernel_watch::SCHEMA),
    shown::<SteerResult>(steer::SCHEMA),
    shown::<RamDevices>(ramdisk::SCHEMA),
    shown::<doctor::DoctorReport>(doctor::SCHEMA),
    shown::<doctor::DoctorFix>(doctor::FIX_SCHEMA),
    reported::<poll_study::PollStudyResult>(poll_study::SCHEMA),
    reported::<poll_search::PollSearchResult>(poll_search::SCHEMA),
    reported::<reproduce::ReproduceResult>(reproduce::SCHEMA),
    reported::<reproduce::AllResult>(reproduce::ALL_SCHEMA),
];

/// A text that is not a result of this version. The message continues "read FILE: ".
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum NotKept {
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
fn result_in(text: &str) -> Result<&str, NotKept> {
    /// A line of a live view, whatever its schema.
    #[derive(Deserialize)]
    struct LiveViewLine {
        kind: LineKind,
    }
    let is = |line: &str, kind| {
        serde_json::from_str::<LiveViewLine>(line).is_ok_and(|parsed| parsed.kind == kind)
    };
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let first = lines.next();
    if !first.is_some_and(|first| is(first, LineKind::Interval)) {
        return Ok(text);
    }
    let last = lines.next_back();
    last.filter(|line| is(line, LineKind::Summary))
        .ok_or(NotKept::NoSummary)
}

/// Reads a result from JSON, or from the lines of a live view.
///
/// # Errors
/// Returns [`NotKept`] if the text is not a result of this version.
pub fn read(text: &str) -> Result<Box<dyn StoredResult>, NotKept> {
    #[derive(Deserialize)]
    #[serde(expecting = "an object with the kind of the result")]
    struct ResultHead {
        schema: String,
    }
    let text = result_in(text)?;
    let ResultHead { schema } = serde_json::from_str(text).map_err(NotKept::NoResult)?;
    let Some(kind) = KINDS.iter().find(|kind| kind.schema == schema) else {
        return Err(NotKept::Schema { found: schema });
    };
    (kind.read)(kind.schema, text).map_err(|source| NotKept::Content { schema, source })
}

/// The names of all schemas that this version reads: `a, b or c`.
fn schemas() -> String {
    let names: Vec<&str> = KINDS.iter().map(|kind| kind.schema).collect();
    let (last, rest) = names.split_last().unwrap_or((&"", &[]));
    format!("{} or {last}", rest.join(", "))
}

/// A result of any type that has a report and JSON.
pub trait Shown: Send + Sync {
    /// Makes the content of its report.
    fn document(&self) -> Document<'_>;
    /// The result as JSON, as every command prints it.
    ///
    /// # Errors
    /// Returns a fault if the JSON cannot be written, which the types rule out.
    fn json(&self) -> Result<String, Fault>;
}

impl<T: Reported + Serialize + Send + Sync> Shown for T {
    fn document(&self) -> Document<'_> {
        Reported::document(self)
    }

    fn json(&self) -> Result<String, Fault> {
        serde_json::to_string_pretty(self).or_fault(Exit::Internal, "write a result as JSON")
    }
}

/// A result that was read from a file.
pub trait StoredResult: Shown {
    /// The CSV table.
    ///
    /// # Errors
    /// Returns a fault if results of this kind have no table, or if it cannot be written.
    fn csv(&self) -> Result<String, Fault>;
}

trait Readable: Reported + Serialize + DeserializeOwned + Send + Sync + 'static {}

impl<T: Reported + Serialize + DeserializeOwned + Send + Sync + 'static> Readable for T {}

/// A kind of result: its schema in this version, and the function that reads it from JSON.
struct ResultKind {
    schema: &'static str,
    read: fn(&'static str, &str) -> serde_json::Result<Box<dyn StoredResult>>,
}

const fn reported<T: Measures + Readable>(schema: &'static str) -> ResultKind {
    ResultKind {
        schema,
        read: |schema, text| read_as::<T>(schema, Some(T::figures), text),
    }
}

const fn shown<T: Readable>(schema: &'static str) -> ResultKind {
    ResultKind {
        schema,
        read: |schema, text| read_as::<T>(schema, None, text),
    }
}

fn read_as<T: Readable>(
    schema: &'static str,
    figures: Option<fn(&T) -> FigureTable>,
    text: &str,
) -> serde_json::Result<Box<dyn StoredResult>> {
    let result: T = serde_json::from_str(text)?;
    if let Some(what) = result.points_nowhere() {
        return Err(serde::de::Error::custom(what));
    }
    Ok(Box::new(KeptResult {
        schema,
        figures,
        result,
    }))
}

#[derive(Serialize)]
#[serde(transparent)]
struct KeptResult<T> {
    #[serde(skip)]
    schema: &'static str,
    #[serde(skip)]
    figures: Option<fn(&T) -> FigureTable>,
    result: T,
}

impl<T: Reported> Reported for KeptResult<T> {
    fn document(&self) -> Document<'_> {
        self.result.document()
    }
}

impl<T: Reported + Serialize + Send + Sync> StoredResult for KeptResult<T> {
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
