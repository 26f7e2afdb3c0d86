//! Writes traces in the formats of other tools.
//!
//! There is one file per format, and one line in [`FORMATS`]. Records are streamed: memory grows
//! with the requests in flight, not with the trace. docs/formats.md says how each column is
//! written.

mod blkparse;
mod chrome;
mod csv;
mod fio_iolog;
mod run;

pub use run::{Exported, file, trace};

use q2c_model::{Fault, IoRecord, Nanos, TraceMeta};
use std::io::Write;
use std::ops::Range;
use std::path::Path;
use std::str::FromStr;

/// A format that can be written. The list is [`FORMATS`].
pub struct ExportFormat {
    /// The name of the format on the command line.
    pub name: &'static str,
    /// One line of help.
    pub help: &'static str,
    /// Writes the records, in the order in which they come.
    pub export: ExportFn,
}

/// An exporter. Its memory is bounded for any trace.
pub type ExportFn = fn(Export<'_>) -> Result<Exported, Fault>;

/// All formats that can be written.
pub const FORMATS: &[ExportFormat] = &[
    fio_iolog::FORMAT,
    blkparse::FORMAT,
    csv::FORMAT,
    chrome::FORMAT,
];

/// The format of this name; `None` when there is none.
pub fn by_name(name: &str) -> Option<&'static ExportFormat> {
    FORMATS.iter().find(|format| format.name == name)
}

/// An export to be done: the trace, how it is written, and where to.
pub struct Export<'a> {
    /// The trace's path, for messages.
    pub path: &'a Path,
    /// The description that the trace carries.
    pub meta: &'a TraceMeta,
    /// The trace's records in the order of their starts, some thousands at a time.
    pub records: &'a mut dyn Iterator<Item = Result<Vec<IoRecord>, Fault>>,
    /// The part of the trace that is written, and how it is written.
    pub options: &'a ExportOptions,
    /// Takes the text.
    pub out: &'a mut dyn Write,
}

/// Selects what to export, and how.
#[derive(Clone, Debug, Default)]
pub struct ExportOptions {
    /// Only requests that start in this range; all when `None`.
    pub window: Option<Range<Nanos>>,
    /// Lanes of the timeline; only `chrome` reads it.
    pub lanes: TimelineLanes,
}

/// The lanes of a timeline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimelineLanes {
    /// One lane for each CPU that submits.
    #[default]
    Cpu,
    /// One lane for each hardware queue of each device.
    Hctx,
}

impl FromStr for TimelineLanes {
    type Err = &'static str;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "cpu" => Ok(TimelineLanes::Cpu),
            "hctx" => Ok(TimelineLanes::Hctx),
            _ => Err("expected cpu or hctx"),
        }
    }
}
