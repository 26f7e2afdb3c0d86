//! Writes traces in the formats of other tools.
//!
//! There is one file per format, and one line in [`FORMATS`]. Records are streamed: memory grows
//! with the requests in flight, not with the trace. docs/formats.md says how each column is
//! written.

mod blkparse;
mod chrome;
mod csv;
mod fio_iolog;

use crate::container::UnfinishedFile;
use crate::{Scan, TraceReader};
use q2c_model::{Exit, Fault, IoRecord, Nanos, OrFault, TraceMeta};
use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};
use std::ops::Range;
use std::path::Path;
use std::str::FromStr;

/// A format that can be written; [`FORMATS`] lists all of them.
pub struct ExportFormat {
    /// The name of the format on the command line.
    pub name: &'static str,
    /// One line of help.
    pub help: &'static str,
    /// Writes the records in the order in which they come. Its memory must be bounded for any
    /// trace.
    pub export: fn(Export<'_>) -> Result<ExportCounts, Fault>,
}

/// All formats that can be written.
pub const FORMATS: &[ExportFormat] = &[
    fio_iolog::FORMAT,
    blkparse::FORMAT,
    csv::FORMAT,
    chrome::FORMAT,
];

/// Returns the export format of this name, if there is one.
pub fn by_name(name: &str) -> Option<&'static ExportFormat> {
    FORMATS.iter().find(|format| format.name == name)
}

/// The trace to export, the options, and the output.
pub struct Export<'a> {
    /// The trace's path, for messages.
    pub path: &'a Path,
    /// The description that the trace carries.
    pub meta: &'a TraceMeta,
    /// The trace's records in the order of their starts, some thousands at a time.
    pub records: &'a mut dyn Iterator<Item = Result<Vec<IoRecord>, Fault>>,
    /// Which part of the trace is written, and how.
    pub options: &'a ExportOptions,
    /// Where the text goes.
    pub out: &'a mut dyn Write,
}

/// Selects what to export, and how.
#[derive(Clone, Debug, Default)]
pub struct ExportOptions {
    /// Writes only requests that start in this range of the trace's time; `None` means all.
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

/// Counts of what an export wrote and left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExportCounts {
    /// Requests that were written.
    pub written: u64,
    /// Requests that were left out, by reason.
    pub left_out: BTreeMap<&'static str, u64>,
}

impl ExportCounts {
    fn leave_out(&mut self, reason: &'static str) {
        *self.left_out.entry(reason).or_default() += 1;
    }
}

impl Export<'_> {
    /// Calls `write` with each record and the output.
    fn write_each(
        &mut self,
        mut write: impl FnMut(&IoRecord, &mut dyn Write) -> io::Result<()>,
    ) -> Result<(), Fault> {
        let to_fault = write_fault(self.path);
        for records in &mut *self.records {
            for record in &records? {
                write(record, self.out).map_err(&to_fault)?;
            }
        }
        Ok(())
    }
}

/// Exports a trace to `out`. Row groups outside the window are not read. `go_on` is called once for
/// each batch of records; false stops the export with an error. An export without any request is an
/// error too.
pub fn trace(
    format: &ExportFormat,
    path: &Path,
    reader: &TraceReader,
    options: &ExportOptions,
    go_on: &dyn Fn() -> bool,
    out: &mut dyn Write,
) -> Result<ExportCounts, Fault> {
    let window = options.window.clone();
    let scan = window.map_or_else(Scan::new, |window| Scan::new().starting_in(window));
    let records = reader.records(&scan).or_exit(Exit::Input)?;
    let records = records.map(|records| {
        if !go_on() {
            let text = format!("export trace {}: stopped by a signal", path.display());
            return Err(Fault::stopped(text));
        }
        records.or_exit(Exit::Input)
    });
    // An empty selection must not write even a header.
    let mut records = records.peekable();
    if records.peek().is_none() {
        return Err(nothing_to_export(path, 0));
    }
    let mut out = BufWriter::with_capacity(1 << 20, out);
    let counts = (format.export)(Export {
        path,
        meta: reader.meta(),
        records: &mut records,
        options,
        out: &mut out,
    })?;
    out.flush().map_err(write_fault(path))?;
    match counts.written {
        0 => Err(nothing_to_export(path, counts.left_out.values().sum())),
        _ => Ok(counts),
    }
}

/// Exports a trace into the new file `to`, which gets its name only when it is complete.
pub fn file(
    format: &ExportFormat,
    path: &Path,
    reader: &TraceReader,
    options: &ExportOptions,
    go_on: &dyn Fn() -> bool,
    to: &Path,
) -> Result<ExportCounts, Fault> {
    let name = to.display();
    let to_fault = |source: io::Error| {
        let text = format!("export to {name}: {source}");
        Fault::new(Exit::from_output_error(&source), text).with_source(source)
    };
    let name_exists = || {
        let text = "expected a new name, found an existing file; remove it or name another";
        Fault::usage(format_args!("export to {name}: {text}"))
    };
    if to.symlink_metadata().is_ok() {
        return Err(name_exists());
    }
    let mut file = UnfinishedFile::create_for(to).map_err(to_fault)?;
    let counts = trace(format, path, reader, options, go_on, &mut file)?;
    file.as_file().sync_all().map_err(to_fault)?;
    match file.name_finished(to) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(name_exists()),
        named => named.map_err(to_fault).map(|()| counts),
    }
}

fn nothing_to_export(path: &Path, left_out: u64) -> Fault {
    let path = path.display();
    Fault::input(format_args!(
        "export {path}: expected at least one request that can be exported, found none ({left_out} left out); widen --from and --to"
    ))
}

fn write_fault(path: &Path) -> impl Fn(io::Error) -> Fault + use<> {
    let path = path.display().to_string();
    move |source| {
        let text = format!("write the export of {path}: {source}");
        Fault::new(Exit::Device, text).with_source(source)
    }
}

/// Reason for leaving out requests without any time.
const NO_START: &str = "no start";

/// The start of a record: its first time, as defined by [`Scan::starting_in`].
fn start_of(record: &IoRecord) -> Option<Nanos> {
    let block = record.queue_ns.or(record.getrq_ns).or(record.issue_ns);
    record.submit_ns.or(block)
}
