//! A trace as other tools read it.
//!
//! One file per format, and one line in [`FORMATS`]. Records are streamed: memory grows with the requests in flight, not with the
//! trace. What becomes of which column is in docs/formats.md.

mod blkparse;
mod chrome;
mod csv;
mod error;
mod fio_iolog;
mod run;

pub use error::ExportError;
pub use run::{Exported, file, trace};

use crate::TraceError;
use q2c_model::{IoRecord, Nanos, TraceMeta};
use std::io::Write;
use std::ops::Range;
use std::path::Path;
use std::str::FromStr;

/// A format that can be written.
pub struct Format {
    /// Its name on the command line.
    pub name: &'static str,
    /// One line of help.
    pub help: &'static str,
    /// Writes the records, in the order in which they come.
    pub export: ExportFn,
}

/// An exporter. Memory stays bounded whatever the trace holds.
pub type ExportFn =
    fn(&mut Source<'_>, &ExportOptions, &mut dyn Write) -> Result<Exported, ExportError>;

/// All formats.
pub const FORMATS: &[Format] = &[
    fio_iolog::FORMAT,
    blkparse::FORMAT,
    csv::FORMAT,
    chrome::FORMAT,
];

/// The format of this name.
#[must_use]
pub fn by_name(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}

/// What is exported.
pub struct Source<'a> {
    /// Its name, for messages.
    pub path: &'a Path,
    /// What it says of itself.
    pub meta: &'a TraceMeta,
    /// Its records in the order of their starts, some thousands at a time.
    pub records: &'a mut dyn Iterator<Item = Result<Vec<IoRecord>, TraceError>>,
}

/// What to export, and how.
#[derive(Clone, Debug, Default)]
pub struct ExportOptions {
    /// Only requests that start in this range; all when `None`.
    pub window: Option<Range<Nanos>>,
    /// `chrome`: what a lane is.
    pub lanes: Lanes,
}

/// What the lanes of a timeline are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lanes {
    /// The CPUs that submit.
    #[default]
    Cpu,
    /// The hardware queues of each device.
    Hctx,
}

impl FromStr for Lanes {
    type Err = &'static str;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "cpu" => Ok(Lanes::Cpu),
            "hctx" => Ok(Lanes::Hctx),
            _ => Err("expected cpu or hctx"),
        }
    }
}
