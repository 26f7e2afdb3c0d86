//! Results that were kept as JSON, one entry for each command that leaves one, and the forms in
//! which they are drawn again.

use crate::html::RenderError;
use crate::terminal::Screen;
use crate::{csv, html, terminal};
use q2c_result::Exit;
use q2c_result::analyze::{self, AnalyzeResult};
use q2c_result::bench::{self, BenchResult};
use q2c_result::compare::{self, CompareResult};
use q2c_result::corun::{self, CalibrateResult};
use q2c_result::diff::{self, DiffResult};
use q2c_result::doctor::{self, DoctorFix, DoctorReport};
use q2c_result::fs::{self, FsResult};
use q2c_result::kernel_tune::{self, KernelTuneResult};
use q2c_result::kernel_watch::{self, KernelWatchResult};
use q2c_result::live::LineKind;
use q2c_result::place::{self, PlaceSimResult};
use q2c_result::place_run::{self, PlaceRunResult};
use q2c_result::place_watch::{self, PlaceWatchResult};
use q2c_result::poll_search::{self, PollSearchResult};
use q2c_result::poll_study::{self, PollStudyResult};
use q2c_result::ramdisk::{self, RamDevices};
use q2c_result::replay::{self, ReplayResult};
use q2c_result::reproduce::{self, AllResult, ReproduceResult};
use q2c_result::scale::{self, ScaleResult};
use q2c_result::sim::{self, SimResult};
use q2c_result::steer::{self, SteerResult};
use q2c_result::sweep::{self, SweepResult};
use q2c_result::tune::{self, TuneResult};
use q2c_result::tune_jobs::{self, TuneJobsResult};
use q2c_result::watch::{self, WatchResult};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// All kinds of results.
const KINDS: &[&dyn Kind] = &[
    &KindOf {
        schema: tune::SCHEMA,
        read: |text| serde_json::from_str::<TuneResult>(text),
        page: |result| html::tune(result).map_err(DrawError::from),
        csv: |result| csv::cells(result).map_err(DrawError::from),
        table: terminal::tune,
    },
    &KindOf {
        schema: tune_jobs::SCHEMA,
        read: |text| serde_json::from_str::<TuneJobsResult>(text),
        page: |result| html::tune_jobs(result).map_err(DrawError::from),
        csv: |result| csv::tune_jobs(result).map_err(DrawError::from),
        table: terminal::tune_jobs,
    },
    &KindOf {
        schema: bench::SCHEMA,
        read: |text| serde_json::from_str::<BenchResult>(text),
        page: |result| html::bench(result).map_err(DrawError::from),
        csv: |result| csv::bench(result).map_err(DrawError::from),
        table: terminal::bench,
    },
    &KindOf {
        schema: analyze::SCHEMA,
        read: |text| serde_json::from_str::<AnalyzeResult>(text),
        page: |result| html::analyze(result).map_err(DrawError::from),
        csv: |result| csv::analyze(result).map_err(DrawError::from),
        table: terminal::analyze,
    },
    &KindOf {
        schema: replay::SCHEMA,
        read: |text| serde_json::from_str::<ReplayResult>(text),
        page: |result| html::replay(result).map_err(DrawError::from),
        csv: |result| csv::replay(result).map_err(DrawError::from),
        table: terminal::replay,
    },
    &KindOf {
        schema: compare::SCHEMA,
        read: |text| serde_json::from_str::<CompareResult>(text),
        page: |result| html::compare(result).map_err(DrawError::from),
        csv: |result| csv::compare(result).map_err(DrawError::from),
        table: terminal::compare,
    },
    &KindOf {
        schema: diff::SCHEMA,
        read: |text| serde_json::from_str::<DiffResult>(text),
        page: |_| none("a page", diff::SCHEMA),
        csv: |_| none("CSV", diff::SCHEMA),
        table: |result, screen| terminal::diff(result, true, screen),
    },
    &KindOf {
        schema: kernel_tune::SCHEMA,
        read: |text| serde_json::from_str::<KernelTuneResult>(text),
        page: |result| html::kernel_tune(result).map_err(DrawError::from),
        csv: |result| csv::kernel_tune(result).map_err(DrawError::from),
        table: terminal::kernel_tune,
    },
    &KindOf {
        schema: fs::SCHEMA,
        read: |text| serde_json::from_str::<FsResult>(text),
        page: |result| html::fs(result).map_err(DrawError::from),
        csv: |result| csv::fs(result).map_err(DrawError::from),
        table: terminal::fs,
    },
    &KindOf {
        schema: scale::SCHEMA,
        read: |text| serde_json::from_str::<ScaleResult>(text),
        page: |result| html::scale(result).map_err(DrawError::from),
        csv: |result| csv::scale(result).map_err(DrawError::from),
        table: terminal::scale,
    },
    &KindOf {
        schema: place::SCHEMA,
        read: |text| serde_json::from_str::<PlaceSimResult>(text),
        page: |result| html::place_sim(result).map_err(DrawError::from),
        csv: |result| csv::place_sim(result).map_err(DrawError::from),
        table: terminal::place_sim,
    },
    &KindOf {
        schema: corun::SCHEMA,
        read: |text| serde_json::from_str::<CalibrateResult>(text),
        page: |result| html::place_calibrate(result).map_err(DrawError::from),
        csv: |result| csv::place_calibrate(result).map_err(DrawError::from),
        table: terminal::place_calibrate,
    },
    &KindOf {
        schema: place_run::SCHEMA,
        read: |text| serde_json::from_str::<PlaceRunResult>(text),
        page: |result| html::place_run(result).map_err(DrawError::from),
        csv: |result| csv::place_run(result).map_err(DrawError::from),
        table: terminal::place_run,
    },
    &KindOf {
        schema: place_watch::SCHEMA,
        read: |text| serde_json::from_str::<PlaceWatchResult>(text),
        page: |result| html::place_watch(result).map_err(DrawError::from),
        csv: |result| csv::place_watch(result).map_err(DrawError::from),
        table: terminal::place_watch,
    },
    &KindOf {
        schema: sweep::SCHEMA,
        read: |text| serde_json::from_str::<SweepResult>(text),
        page: |result| html::sweep(result).map_err(DrawError::from),
        csv: |result| csv::sweep(result).map_err(DrawError::from),
        table: terminal::sweep,
    },
    &KindOf {
        schema: sim::SCHEMA,
        read: |text| serde_json::from_str::<SimResult>(text),
        page: |_| none("a page", sim::SCHEMA),
        csv: |_| none("CSV", sim::SCHEMA),
        table: terminal::sim,
    },
    &KindOf {
        schema: watch::SCHEMA,
        read: |text| serde_json::from_str::<WatchResult>(text),
        page: |_| none("a page", watch::SCHEMA),
        csv: |_| none("CSV", watch::SCHEMA),
        table: terminal::watch,
    },
    &KindOf {
        schema: kernel_watch::SCHEMA,
        read: |text| serde_json::from_str::<KernelWatchResult>(text),
        page: |_| none("a page", kernel_watch::SCHEMA),
        csv: |_| none("CSV", kernel_watch::SCHEMA),
        table: |result, _| terminal::kernel_watch(result),
    },
    &KindOf {
        schema: steer::SCHEMA,
        read: |text| serde_json::from_str::<SteerResult>(text),
        page: |_| none("a page", steer::SCHEMA),
        csv: |_| none("CSV", steer::SCHEMA),
        table: |result, _| terminal::steer(result),
    },
    &KindOf {
        schema: ramdisk::SCHEMA,
        read: |text| serde_json::from_str::<RamDevices>(text),
        page: |_| none("a page", ramdisk::SCHEMA),
        csv: |_| none("CSV", ramdisk::SCHEMA),
        table: |result, screen| terminal::ram_devices(&result.devices, screen),
    },
    &KindOf {
        schema: doctor::SCHEMA,
        read: |text| serde_json::from_str::<DoctorReport>(text),
        page: |_| none("a page", doctor::SCHEMA),
        csv: |_| none("CSV", doctor::SCHEMA),
        table: terminal::doctor,
    },
    &KindOf {
        schema: doctor::FIX_SCHEMA,
        read: |text| serde_json::from_str::<DoctorFix>(text),
        page: |_| none("a page", doctor::FIX_SCHEMA),
        csv: |_| none("CSV", doctor::FIX_SCHEMA),
        table: terminal::fix,
    },
    &KindOf {
        schema: poll_study::SCHEMA,
        read: |text| serde_json::from_str::<PollStudyResult>(text),
        page: |result| html::poll_study(result).map_err(DrawError::from),
        csv: |result| csv::poll_study(result).map_err(DrawError::from),
        table: terminal::poll_study,
    },
    &KindOf {
        schema: poll_search::SCHEMA,
        read: |text| serde_json::from_str::<PollSearchResult>(text),
        page: |result| html::poll_search(result).map_err(DrawError::from),
        csv: |result| csv::poll_search(result).map_err(DrawError::from),
        table: terminal::poll_search,
    },
    &KindOf {
        schema: reproduce::SCHEMA,
        read: |text| serde_json::from_str::<ReproduceResult>(text),
        page: |result| html::reproduce(result).map_err(DrawError::from),
        csv: |result| csv::reproduce(result).map_err(DrawError::from),
        table: terminal::reproduce,
    },
    &KindOf {
        schema: reproduce::ALL_SCHEMA,
        read: |text| serde_json::from_str::<AllResult>(text),
        page: |result| html::reproduce_all(result).map_err(DrawError::from),
        csv: |result| csv::reproduce_all(result).map_err(DrawError::from),
        table: terminal::reproduce_all,
    },
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

impl DrawError {
    /// The exit code of a command that this error ends.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self {
            DrawError::NoForm { .. } => Exit::Usage,
            _ => Exit::Internal,
        }
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

/// The refusal of a form that results of this schema do not have.
fn none(form: &'static str, schema: &'static str) -> Result<String, DrawError> {
    Err(DrawError::NoForm { form, schema })
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

/// A kind of result by its type: its schema, how it is read, and the forms in which it is drawn.
struct KindOf<T> {
    schema: &'static str,
    read: fn(&str) -> serde_json::Result<T>,
    page: fn(&T) -> Result<String, DrawError>,
    csv: fn(&T) -> Result<String, DrawError>,
    table: fn(&T, Screen) -> String,
}

impl<T: Serialize + Send + Sync + 'static> Kind for KindOf<T> {
    fn schema(&self) -> &'static str {
        self.schema
    }

    fn read(&'static self, text: &str) -> serde_json::Result<Box<dyn Kept>> {
        let result = (self.read)(text)?;
        Ok(Box::new(KeptResult { kind: self, result }))
    }
}

struct KeptResult<T: 'static> {
    kind: &'static KindOf<T>,
    result: T,
}

impl<T: Serialize + Send + Sync> Kept for KeptResult<T> {
    fn schema(&self) -> &'static str {
        self.kind.schema
    }

    fn page(&self) -> Result<String, DrawError> {
        (self.kind.page)(&self.result)
    }

    fn csv(&self) -> Result<String, DrawError> {
        (self.kind.csv)(&self.result)
    }

    fn table(&self, screen: Screen) -> String {
        (self.kind.table)(&self.result, screen)
    }

    fn json(&self) -> Result<String, DrawError> {
        Ok(serde_json::to_string_pretty(&self.result)?)
    }
}
