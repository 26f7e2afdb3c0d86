//! What all importers share: where records come from and go to, and the count of bad lines.

use super::Format;
use super::error::{BadLine, ImportError};
use super::options::ImportOptions;
use super::unpack::open;
use crate::{TraceError, TraceWriter};
use q2c_model::{IoRecord, TraceMeta};
use std::collections::BTreeMap;
use std::io::{self, BufRead};
use std::path::Path;

/// What is imported.
pub struct Source<'a> {
    /// Its name, for messages.
    pub path: &'a Path,
    /// Its bytes.
    pub input: &'a mut dyn BufRead,
}

/// Time zero of the records of a source, on the source's own clock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The clock, in words.
    pub clock: String,
    /// Whether it counts from 1970.
    pub unix: bool,
    /// What it shows at time zero, ns.
    pub zero_ns: u64,
}

/// Where imported records go.
pub trait RecordSink {
    /// Told once, before the first records: what their times count from.
    ///
    /// # Errors
    /// When no records are wanted.
    fn begin(&mut self, _: &Origin) -> Result<(), TraceError> {
        Ok(())
    }

    /// Takes records, in the order of the source.
    ///
    /// # Errors
    /// When they cannot be written.
    fn push(&mut self, records: &[IoRecord]) -> Result<(), TraceError>;
}

impl RecordSink for TraceWriter {
    fn push(&mut self, records: &[IoRecord]) -> Result<(), TraceError> {
        TraceWriter::push(self, records)
    }
}

impl RecordSink for Vec<IoRecord> {
    fn push(&mut self, records: &[IoRecord]) -> Result<(), TraceError> {
        self.extend_from_slice(records);
        Ok(())
    }
}

/// Imports a file into a new trace. Returns the trace's description; its `unmatched` holds the lines that were
/// left out.
///
/// # Errors
/// When the source cannot be read or used, or the trace not be written; no trace appears then.
pub fn file(
    format: &Format,
    path: &Path,
    options: &ImportOptions,
    trace: &Path,
) -> Result<TraceMeta, ImportError> {
    let (_, mut input) = open(path)?;
    let mut writer = TraceWriter::create(trace, TraceMeta::default())?.with_threads()?;
    let mut source = Source {
        path,
        input: &mut *input,
    };
    let meta = (format.import)(&mut source, options, &mut writer)?;
    writer.meta_mut().clone_from(&meta);
    writer.finish()?;
    Ok(meta)
}

pub(super) fn read_error(path: &Path) -> impl Fn(io::Error) -> ImportError + use<> {
    let path = path.to_owned();
    move |source| ImportError::Read {
        path: path.clone(),
        source,
    }
}

/// Where in a source something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In a line, from 1.
    Line(u64),
    /// In the record at this byte, from 0.
    Offset(u64),
}

/// The error of a line or a record that cannot be used.
pub(super) fn refused(path: &Path, place: Place, bad: BadLine) -> ImportError {
    let (path, field) = (path.to_owned(), bad.field.to_owned());
    let (expected, found) = (bad.expected.to_owned(), bad.found);
    match place {
        Place::Line(line) => ImportError::Line {
            path,
            line,
            field,
            expected,
            found,
        },
        Place::Offset(offset) => ImportError::Record {
            path,
            offset,
            field,
            expected,
            found,
        },
    }
}

/// Records on their way to the sink, and lines that did not become any.
pub(super) struct Intake<'a> {
    path: &'a Path,
    sink: &'a mut dyn RecordSink,
    skip_bad: bool,
    batch: Vec<IoRecord>,
    /// Until the sink was told.
    origin: Option<Origin>,
    taken: u64,
    skipped: BTreeMap<String, u64>,
}

impl<'a> Intake<'a> {
    /// Records handed on at once: few enough to stay in a core's cache while they become columns.
    const BATCH: usize = 2 * 1024;

    pub(super) fn new(path: &'a Path, skip_bad: bool, sink: &'a mut dyn RecordSink) -> Self {
        Intake {
            path,
            sink,
            skip_bad,
            batch: Vec::with_capacity(Self::BATCH),
            origin: Some(Origin::default()),
            taken: 0,
            skipped: BTreeMap::new(),
        }
    }

    /// Says what times count from; before the first record is taken.
    pub(super) fn begin(&mut self, origin: Origin) {
        self.origin = Some(origin);
    }

    /// Takes a record and numbers it.
    #[inline]
    pub(super) fn take(&mut self, mut record: IoRecord) -> Result<(), ImportError> {
        record.id = self.taken;
        self.taken += 1;
        self.batch.push(record);
        if self.batch.len() == Self::BATCH {
            self.flush()?;
        }
        Ok(())
    }

    /// Counts a bad line or record, or stops at it.
    pub(super) fn bad(&mut self, place: Place, bad: BadLine) -> Result<(), ImportError> {
        if self.skip_bad {
            self.skipped(bad.reason, 1);
            return Ok(());
        }
        Err(self.refused(place, bad))
    }

    /// Counts what was left out for a reason.
    pub(super) fn skipped(&mut self, reason: &str, count: u64) {
        *self.skipped.entry(reason.to_owned()).or_default() += count;
    }

    /// The error of a line or a record that cannot be used.
    pub(super) fn refused(&self, place: Place, bad: BadLine) -> ImportError {
        refused(self.path, place, bad)
    }

    /// The description of an import that is done, with the counts of skipped lines.
    pub(super) fn finish(
        mut self,
        source: &str,
        clock: &str,
        lines: u64,
    ) -> Result<TraceMeta, ImportError> {
        if self.taken == 0 {
            return Err(ImportError::Empty {
                path: self.path.to_owned(),
                lines,
                skipped: self.skipped.values().sum(),
            });
        }
        self.flush()?;
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        Ok(TraceMeta {
            source: source.to_owned(),
            clock: clock.to_owned(),
            unmatched: self.skipped,
            facts: BTreeMap::from([("imported_from".to_owned(), name.into_owned())]),
            ..TraceMeta::default()
        })
    }

    fn flush(&mut self) -> Result<(), ImportError> {
        if let Some(origin) = self.origin.take() {
            self.sink.begin(&origin)?;
        }
        self.sink.push(&self.batch)?;
        self.batch.clear();
        Ok(())
    }
}

/// An option that this source needs.
pub(super) fn needed<T>(
    given: Option<T>,
    path: &Path,
    option: &'static str,
    why: &'static str,
) -> Result<T, ImportError> {
    given.ok_or_else(|| ImportError::Option {
        path: path.to_owned(),
        option,
        why,
    })
}
