//! Results that were kept as JSON, one entry for each command that leaves one, and the forms in
//! which they are drawn again.

use crate::document::{Document, Reported};
use crate::html::RenderError;
use crate::terminal::Screen;
use crate::{csv, terminal};
use q2c_model::{Exit, Fault};
use q2c_result::diff::{self, DiffResult};
use q2c_result::figures::{FigureTable, Measures};
use q2c_result::kernel_watch::{self, KernelWatchResult};
use q2c_result::live::LineKind;
use q2c_result::ramdisk::{self, RamDevices};
use q2c_result::steer::{self, SteerResult};
use q2c_result::{
    analyze, bench, compare, corun, doctor, fs, kernel_tune, place, place_run, place_watch,
    poll_search, poll_study, replay, reproduce, scale, sim, sweep, tune, tune_jobs, watch,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// All kinds of results.
const KINDS: &[&dyn Kind] = &[
    &reported::<tune::TuneResult>(tune::SCHEMA),
    &reported::<tune_jobs::TuneJobsResult>(tune_jobs::SCHEMA),
    &reported::<bench::BenchResult>(bench::SCHEMA),
    &reported::<analyze::AnalyzeResult>(analyze::SCHEMA),
    &reported::<replay::ReplayResult>(replay::SCHEMA),
    &reported::<compare::CompareResult>(compare::SCHEMA),
    &shown::<DiffResult>(diff::SCHEMA),
    &reported::<kernel_tune::KernelTuneResult>(kernel_tune::SCHEMA),
    &reported::<fs::FsResult>(fs::SCHEMA),
    &reported::<scale::ScaleResult>(scale::SCHEMA),
    &reported::<place::PlaceSimResult>(place::SCHEMA),
    &reported::<corun::CalibrateResult>(corun::SCHEMA),
    &reported::<place_run::PlaceRunResult>(place_run::SCHEMA),
    &reported::<place_watch::PlaceWatchResult>(place_watch::SCHEMA),
    &reported::<sweep::SweepResult>(sweep::SCHEMA),
    &shown::<sim::SimResult>(sim::SCHEMA),
    &shown::<watch::WatchResult>(watch::SCHEMA),
    &shown::<KernelWatchResult>(kernel_watch::SCHEMA),
    &shown::<SteerResult>(steer::SCHEMA),
    &shown::<RamDevices>(ramdisk::SCHEMA),
    &shown::<doctor::DoctorReport>(doctor::SCHEMA),
    &plain(doctor::FIX_SCHEMA, terminal::fix),
    &reported::<poll_study::PollStudyResult>(poll_study::SCHEMA),
    &reported::<poll_search::PollSearchResult>(poll_search::SCHEMA),
    &reported::<reproduce::ReproduceResult>(reproduce::SCHEMA),
    &reported::<reproduce::AllResult>(reproduce::ALL_SCHEMA),
];

/// A form that a result could not be drawn in.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DrawError {
    /// The page could not be made.
    #[error(transparent)]
    Page(#[from] RenderError),
    /// The table of CSV could not be made.
    #[error(transparent)]
    Csv(#[from] ::csv::Error),
    /// Results of this kind do not have the form.
    #[error("draw {form}: a result of {schema} has a table and JSON only")]
    NoForm {
        /// The form.
        form: &'static str,
        /// Schema of the result.
        schema: &'static str,
    },
    /// The result could not be written as JSON.
    #[error("write a result as JSON: {0}")]
    Json(#[from] serde_json::Error),
}

impl From<DrawError> for Fault {
    fn from(error: DrawError) -> Fault {
        let exit = match error {
            DrawError::NoForm { .. } => Exit::Usage,
            _ => Exit::Internal,
        };
        Fault::from_error(exit, error)
    }
}

/// A text that is no result of this version. The message continues "read FILE: ".
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum NotKept {
    /// It is no JSON, or has no schema.
    #[error(
        "expected a result of q2c, found no JSON of one ({0}); q2c runs lists the runs that are here"
    )]
    NoResult(#[source] serde_json::Error),
    /// It has lines of a live view, and the last one is not its result.
    #[error(
        "expected a last line of kind `summary`, found none: the live view was ended before it wrote its result"
    )]
    NoSummary,
    /// It has a schema that this version does not read.
    #[error("expected schema {}, found `{}`; use the q2c that wrote it", schemas(), found.escape_debug())]
    Schema {
        /// The schema.
        found: String,
    },
    /// It has not the content that its schema promises.
    #[error("expected schema {schema}, found {source}")]
    Content {
        /// The schema.
        schema: String,
        /// The error of the JSON parser.
        source: serde_json::Error,
    },
}

/// The field that every result has, whatever its version.
#[derive(Deserialize)]
struct Head {
    schema: String,
}

/// A line of a live view, whatever its schema.
#[derive(Deserialize)]
struct Line {
    kind: LineKind,
}

/// The result in a text. A live view leaves lines of intervals and its result as the last line.
fn result_in(text: &str) -> Result<&str, NotKept> {
    let kind = |line: &str| {
        serde_json::from_str::<Line>(line)
            .ok()
            .map(|line| line.kind)
    };
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    if lines.next().and_then(kind) != Some(LineKind::Interval) {
        return Ok(text);
    }
    let last = lines
        .next_back()
        .filter(|line| kind(line) == Some(LineKind::Summary));
    last.ok_or(NotKept::NoSummary)
}

/// Reads a result from JSON, or from the lines of a live view.
///
/// # Errors
/// The text is no result of this version.
pub fn read(text: &str) -> Result<Box<dyn Kept>, NotKept> {
    let text = result_in(text)?;
    let Head { schema } = serde_json::from_str(text).map_err(NotKept::NoResult)?;
    let mut kinds = KINDS.iter();
    let Some(kind) = kinds.find(|kind| kind.schema() == schema) else {
        return Err(NotKept::Schema { found: schema });
    };
    let read = kind.read(text);
    read.map_err(|source| NotKept::Content { schema, source })
}

/// The schemas of this version in words: `a, b or c`.
fn schemas() -> String {
    let all: Vec<&str> = KINDS.iter().map(|kind| kind.schema()).collect();
    match all.split_last() {
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        None => String::new(),
    }
}

/// A kind of result, whatever its type.
trait Kind: Sync {
    /// This version's schema.
    fn schema(&self) -> &'static str;
    /// Reads a result from JSON.
    fn read(&'static self, text: &str) -> serde_json::Result<Box<dyn Kept>>;
}

/// A result that was read from a file.
pub trait Kept: Send + Sync {
    /// The schema, in this version.
    fn schema(&self) -> &'static str;
    /// The HTML page.
    ///
    /// # Errors
    /// Results of this kind have none, or it could not be made.
    fn page(&self) -> Result<String, DrawError>;
    /// The report as Markdown.
    ///
    /// # Errors
    /// Results of this kind have none.
    fn markdown(&self) -> Result<String, DrawError>;
    /// The CSV table.
    ///
    /// # Errors
    /// Results of this kind have none, or it could not be made.
    fn csv(&self) -> Result<String, DrawError>;
    /// The tables for a terminal.
    fn table(&self, screen: Screen) -> String;
    /// The result as JSON, as every command prints it.
    ///
    /// # Errors
    /// It could not be written; its types leave no way for that.
    fn json(&self) -> Result<String, DrawError>;
}

/// How a kind is shown.
enum Shown<T> {
    /// As a document, in all of its forms.
    Document(fn(&T) -> Document),
    /// In a terminal alone.
    Table(fn(&T, Screen) -> String),
}

/// A kind of result by its type: its schema, and the forms in which it is drawn.
struct KindOf<T> {
    schema: &'static str,
    shown: Shown<T>,
    figures: Option<fn(&T) -> FigureTable>,
}

/// A kind that makes a document, and has figures.
const fn reported<T: Measures + Reported>(schema: &'static str) -> KindOf<T> {
    KindOf {
        figures: Some(T::figures),
        ..shown(schema)
    }
}

/// A kind that makes a document.
const fn shown<T: Reported>(schema: &'static str) -> KindOf<T> {
    KindOf {
        schema,
        shown: Shown::Document(T::document),
        figures: None,
    }
}

/// A kind that is drawn in a terminal alone.
const fn plain<T>(schema: &'static str, table: fn(&T, Screen) -> String) -> KindOf<T> {
    KindOf {
        schema,
        shown: Shown::Table(table),
        figures: None,
    }
}

impl<T: Serialize + DeserializeOwned + Send + Sync + 'static> Kind for KindOf<T> {
    fn schema(&self) -> &'static str {
        self.schema
    }

    fn read(&'static self, text: &str) -> serde_json::Result<Box<dyn Kept>> {
        let result: T = serde_json::from_str(text)?;
        Ok(Box::new(KeptResult { kind: self, result }))
    }
}

struct KeptResult<T: 'static> {
    kind: &'static KindOf<T>,
    result: T,
}

impl<T> KeptResult<T> {
    /// The refusal of a form that results of this kind do not have.
    fn none(&self, form: &'static str) -> DrawError {
        let schema = self.kind.schema;
        DrawError::NoForm { form, schema }
    }

    fn document(&self, form: &'static str) -> Result<Document, DrawError> {
        match self.kind.shown {
            Shown::Document(document) => Ok(document(&self.result)),
            Shown::Table(_) => Err(self.none(form)),
        }
    }
}

impl<T: Serialize + Send + Sync> Kept for KeptResult<T> {
    fn schema(&self) -> &'static str {
        self.kind.schema
    }

    fn page(&self) -> Result<String, DrawError> {
        Ok(self.document("a page")?.page()?)
    }

    fn markdown(&self) -> Result<String, DrawError> {
        Ok(self.document("Markdown")?.markdown())
    }

    fn csv(&self) -> Result<String, DrawError> {
        let figures = self.kind.figures.ok_or_else(|| self.none("CSV"))?;
        Ok(csv(&figures(&self.result))?)
    }

    fn table(&self, screen: Screen) -> String {
        match self.kind.shown {
            Shown::Document(document) => document(&self.result).text(screen),
            Shown::Table(table) => table(&self.result, screen),
        }
    }

    fn json(&self) -> Result<String, DrawError> {
        Ok(serde_json::to_string_pretty(&self.result)?)
    }
}
