//! Code that all importers share: sources and sinks of records, and the count of bad lines.

use super::error::{BadLine, ImportError, input_error, no_request};
use super::options::ImportOptions;
use crate::{TraceError, TraceWriter};
use q2c_model::{IoRecord, TraceMeta};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::io::{self, BufRead};
use std::path::Path;

/// The source of an import, its options, and the sink that takes its records.
pub struct Import<'a> {
    /// Path of the source, for messages.
    pub path: &'a Path,
    /// Bytes of the source, unpacked.
    pub input: &'a mut dyn BufRead,
    /// Properties that the source lacks, and how to read it.
    pub options: &'a ImportOptions,
    /// Where the records go.
    pub sink: &'a mut dyn RecordSink,
}

impl Import<'_> {
    /// The bytes ahead, at most `max_bytes`, without reading past them.
    pub(super) fn peek(&mut self, max_bytes: usize) -> Result<&[u8], ImportError> {
        let bytes = self.input.fill_buf().map_err(read_error(self.path))?;
        Ok(&bytes[..bytes.len().min(max_bytes)])
    }
}

/// Time zero of the records of a source, on the source's own clock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// Name of the clock, in words.
    pub clock: String,
    /// True if the clock is Unix time (counts from 1970).
    pub unix: bool,
    /// Time of the clock at the records' time zero, ns.
    pub zero_ns: u64,
}

/// Takes imported records: one call of `begin`, then any number of `push`.
pub trait RecordSink {
    /// Called before `begin` if the importer numbered the devices by appearance, although other
    /// sources of the format have device numbers.
    fn number_devices(&mut self) {}

    /// Takes the time zero of the records. Called once, before the first `push`.
    fn begin(&mut self, _: &Origin) -> Result<(), TraceError> {
        Ok(())
    }

    /// Takes records, in the order of the source.
    fn push(&mut self, records: &[IoRecord]) -> Result<(), TraceError>;

    /// As [`RecordSink::push`], but empties `records`. A sink that keeps records can take them
    /// without a copy.
    fn take(&mut self, records: &mut Vec<IoRecord>) -> Result<(), TraceError> {
        self.push(records)?;
        records.clear();
        Ok(())
    }
}

/// A closure is a sink that ignores the time zero of the records.
impl<F: FnMut(&[IoRecord]) -> Result<(), TraceError>> RecordSink for F {
    fn push(&mut self, records: &[IoRecord]) -> Result<(), TraceError> {
        self(records)
    }
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

    fn take(&mut self, records: &mut Vec<IoRecord>) -> Result<(), TraceError> {
        self.append(records);
        Ok(())
    }
}

/// Collects records for a sink and passes them on in batches, which are small enough to stay in a
/// core's cache while they become columns.
#[derive(Default)]
pub(crate) struct RecordBuffer(Vec<IoRecord>);

impl RecordBuffer {
    pub(crate) const LEN: usize = 2 * 1024;

    #[inline]
    pub(crate) fn push(
        &mut self,
        record: IoRecord,
        sink: &mut dyn RecordSink,
    ) -> Result<(), TraceError> {
        self.0.push(record);
        if self.0.len() == Self::LEN {
            self.flush(sink)
        } else {
            Ok(())
        }
    }

    pub(crate) fn flush(&mut self, sink: &mut dyn RecordSink) -> Result<(), TraceError> {
        sink.take(&mut self.0)
    }
}

pub(super) fn read_error(path: &Path) -> impl Fn(io::Error) -> ImportError {
    move |source| ImportError::Read {
        path: path.to_owned(),
        source,
    }
}

/// The error if no thread could be started to read the source.
pub(super) fn no_thread(path: &Path) -> impl Fn(io::Error) -> ImportError {
    move |source| {
        let path = path.to_owned();
        ImportError::Trace(TraceError::Thread { path, source })
    }
}

/// The error for a bad line, or for a bad record at a byte of a binary source.
pub(super) fn refusal(path: &Path, is_binary: bool, position: u64, bad: BadLine) -> ImportError {
    let (field, expected) = (bad.field, bad.expected);
    if is_binary {
        let message = format!(
            ", record at byte {position}, {field}: expected {expected}, found {}; correct it, or skip and count bad records with --skip-bad",
            bad.found
        );
        return input_error(path, message);
    }
    ImportError::Line {
        path: path.to_owned(),
        line: position,
        field,
        expected,
        found: bad.found,
    }
}

pub(super) fn fact(name: &str, value: impl Display) -> (String, String) {
    (name.to_owned(), value.to_string())
}

/// Lines or records that were left out, by reason: their number, and the first positions.
#[derive(Clone, Debug, Default)]
pub(super) struct Skipped(BTreeMap<&'static str, (u64, Vec<u64>)>);

impl Skipped {
    /// Most positions that are listed for each reason.
    const MAX_LISTED_LINES: usize = 10;

    pub(super) fn add(&mut self, reason: &'static str, position: u64) {
        let (count, first) = self.0.entry(reason).or_default();
        *count += 1;
        if first.len() < Self::MAX_LISTED_LINES {
            first.push(position);
        }
    }

    /// Adds the lines that were skipped in a block, which comes after `before` other lines.
    pub(super) fn append(&mut self, block: &Skipped, before: u64) {
        for (reason, (more, positions)) in &block.0 {
            let (count, first) = self.0.entry(reason).or_default();
            *count += more;
            let unused = Self::MAX_LISTED_LINES - first.len();
            first.extend(positions.iter().take(unused).map(|line| before + line));
        }
    }

    pub(super) fn total(&self) -> u64 {
        self.0.values().map(|(count, _)| count).sum()
    }

    fn counts(&self) -> impl Iterator<Item = (String, u64)> {
        let counts = self.0.iter();
        counts.map(|(reason, (count, _))| ((*reason).to_owned(), *count))
    }

    /// The facts with the first positions. `unit` says what the positions count.
    pub(super) fn facts(&self, unit: &str) -> impl Iterator<Item = (String, String)> {
        self.0.iter().map(move |(reason, (_, first))| {
            let first: Vec<String> = first.iter().map(u64::to_string).collect();
            (format!("skipped.{reason}.{unit}"), first.join(","))
        })
    }
}

/// Numbers records, passes them to the sink in batches, and counts bad lines by reason.
pub(super) struct Intake<'a> {
    pub(super) path: &'a Path,
    sink: &'a mut dyn RecordSink,
    skip_bad: bool,
    /// True if positions are bytes of a binary source, not lines.
    pub(super) is_binary: bool,
    batch: RecordBuffer,
    /// The time zero of the records. Set it before the first record is taken.
    pub(super) origin: Origin,
    pub(super) record_count: u64,
    pub(super) skipped: Skipped,
}

impl<'a> Intake<'a> {
    pub(super) fn new(path: &'a Path, skip_bad: bool, sink: &'a mut dyn RecordSink) -> Self {
        Intake {
            path,
            sink,
            skip_bad,
            is_binary: false,
            batch: RecordBuffer(Vec::with_capacity(RecordBuffer::LEN)),
            origin: Origin::default(),
            record_count: 0,
            skipped: Skipped::default(),
        }
    }

    pub(super) fn number_devices(&mut self) {
        self.sink.number_devices();
    }

    /// Does as little as possible before the push, so that the large record is built in the batch.
    #[inline]
    pub(super) fn take(&mut self, mut record: IoRecord) -> Result<(), ImportError> {
        record.id = self.record_count;
        self.record_count += 1;
        self.batch.0.push(record);
        if self.batch.0.len() == RecordBuffer::LEN {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), TraceError> {
        let is_first = self.record_count == self.batch.0.len() as u64;
        if is_first {
            self.sink.begin(&self.origin)?;
        }
        self.batch.flush(self.sink)
    }

    pub(super) fn bad(&mut self, position: u64, bad: BadLine) -> Result<(), ImportError> {
        if self.skip_bad {
            self.skipped.add(bad.reason, position);
            return Ok(());
        }
        Err(refusal(self.path, self.is_binary, position, bad))
    }

    /// Passes the last records on. Returns the description, with the counts of skipped lines.
    pub(super) fn finish(
        mut self,
        source: &str,
        clock: &str,
        lines: u64,
    ) -> Result<TraceMeta, ImportError> {
        if self.record_count == 0 {
            return Err(no_request(self.path, lines, self.skipped.total()));
        }
        self.flush()?;
        let unit = if self.is_binary { "bytes" } else { "lines" };
        let name = self.path.file_name().unwrap_or_default().display();
        let facts = self.skipped.facts(unit);
        Ok(TraceMeta {
            source: source.to_owned(),
            clock: clock.to_owned(),
            unmatched: self.skipped.counts().collect(),
            facts: facts.chain([fact("imported_from", name)]).collect(),
            ..TraceMeta::default()
        })
    }
}

/// Returns the value of an option that this source needs, or the error that asks for it.
pub(super) fn require<T>(
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

/// Fails if an option states what the rows of this source contain.
pub(super) fn refuse_stated<T>(
    given: Option<T>,
    path: &Path,
    format: &'static str,
    flag: &'static str,
) -> Result<(), ImportError> {
    given.map_or(Ok(()), |_| {
        Err(ImportError::Unused {
            path: path.to_owned(),
            format,
            flag,
            users: "rows that do not tell it".to_owned(),
        })
    })
}
