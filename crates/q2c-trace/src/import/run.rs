//! Code that all importers share: where records come from and go to, and the count of bad lines.

use super::error::{BadLine, ImportError};
use super::options::ImportOptions;
use crate::{TraceError, TraceWriter};
use q2c_model::{IoRecord, TraceMeta};
use std::collections::BTreeMap;
use std::io::{self, BufRead};
use std::path::Path;

/// An import to be done: the source, what the user states of it, and where its records go.
pub struct Import<'a> {
    /// Path of the source, for messages.
    pub path: &'a Path,
    /// Bytes of the source, unpacked.
    pub input: &'a mut dyn BufRead,
    /// Properties that the source does not tell, and how it is read.
    pub options: &'a ImportOptions,
    /// Takes the records.
    pub sink: &'a mut dyn RecordSink,
}

/// Time zero of the records of a source, on the source's own clock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// Name of the clock, in words.
    pub clock: String,
    /// Whether the clock is Unix time (counts from 1970).
    pub unix: bool,
    /// Time of the clock at the records' time zero, ns.
    pub zero_ns: u64,
}

/// Takes imported records: first `begin` once, then `push` any number of times.
pub trait RecordSink {
    /// Is told, before `begin`, that the devices were numbered by the importer, in order of their
    /// appearance, in a format that has other sources with numbers of their own.
    fn number_devices(&mut self) {}

    /// Takes the time zero of the records. It is called once, before the first `push`.
    fn begin(&mut self, _: &Origin) -> Result<(), TraceError> {
        Ok(())
    }

    /// Takes records, in the order of the source.
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

pub(super) fn read_error(path: &Path) -> impl Fn(io::Error) -> ImportError + use<> {
    let path = path.to_owned();
    move |source| ImportError::Read {
        path: path.clone(),
        source,
    }
}

/// The error of a thread that could not be started to read the source.
pub(super) fn no_thread(path: &Path) -> impl Fn(io::Error) -> ImportError + use<> {
    let path = path.to_owned();
    move |source| {
        ImportError::Trace(TraceError::Thread {
            path: path.clone(),
            source,
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SourcePosition {
    Line(u64),
    /// Offset of a record in bytes, from 0.
    Offset(u64),
}

impl std::fmt::Display for SourcePosition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            SourcePosition::Line(line) => write!(f, "line {line}"),
            SourcePosition::Offset(offset) => write!(f, "record at byte {offset}"),
        }
    }
}

pub(super) fn refused(path: &Path, position: SourcePosition, bad: BadLine) -> ImportError {
    let (path, field) = (path.to_owned(), bad.field.to_owned());
    let (expected, found) = (bad.expected.to_owned(), bad.found);
    match position {
        SourcePosition::Line(line) => ImportError::Line {
            path,
            line,
            field,
            expected,
            found,
        },
        SourcePosition::Offset(offset) => ImportError::Record {
            path,
            offset,
            field,
            expected,
            found,
        },
    }
}

/// Lines or records that were left out for one reason: how many, and where the first of them are.
#[derive(Clone, Debug, Default)]
pub(super) struct Skipped {
    pub(super) count: u64,
    first: Vec<u64>,
}

impl Skipped {
    const MOST: usize = 10;

    pub(super) fn add(&mut self, number: u64) {
        self.count += 1;
        if self.first.len() < Self::MOST {
            self.first.push(number);
        }
    }

    /// Takes those of a later part, whose lines count from `before`.
    pub(super) fn append(&mut self, part: &Skipped, before: u64) {
        self.count += part.count;
        let room = Self::MOST - self.first.len();
        let numbers = part.first.iter().take(room).map(|line| before + line);
        self.first.extend(numbers);
    }

    /// The fact that says where the first ones are.
    pub(super) fn fact(&self, reason: &str, numbers: &str) -> (String, String) {
        let first: Vec<String> = self.first.iter().map(u64::to_string).collect();
        (format!("skipped.{reason}.{numbers}"), first.join(","))
    }
}

/// Numbers records, hands them to the sink in batches, and counts bad lines by reason.
pub(super) struct Intake<'a> {
    path: &'a Path,
    sink: &'a mut dyn RecordSink,
    skip_bad: bool,
    batch: Vec<IoRecord>,
    origin: Option<Origin>,
    taken: u64,
    skipped: BTreeMap<&'static str, Skipped>,
    /// What the numbers of those left out are.
    numbers: &'static str,
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
            numbers: "lines",
        }
    }

    pub(super) fn path(&self) -> &'a Path {
        self.path
    }

    /// Sets what times count from. It must be called before the first record is taken.
    pub(super) fn begin(&mut self, origin: Origin) {
        self.origin = Some(origin);
    }

    pub(super) fn number_devices(&mut self) {
        self.sink.number_devices();
    }

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

    pub(super) fn bad(
        &mut self,
        position: SourcePosition,
        bad: BadLine,
    ) -> Result<(), ImportError> {
        if self.skip_bad {
            let number = match position {
                SourcePosition::Line(line) => line,
                SourcePosition::Offset(offset) => {
                    self.numbers = "bytes";
                    offset
                }
            };
            self.skipped.entry(bad.reason).or_default().add(number);
            return Ok(());
        }
        Err(self.refused(position, bad))
    }

    /// Takes the lines of a part that were left out for a reason. Its lines count from `before`.
    pub(super) fn skipped(&mut self, reason: &'static str, part: &Skipped, before: u64) {
        let skipped = self.skipped.entry(reason).or_default();
        skipped.append(part, before);
    }

    pub(super) fn refused(&self, position: SourcePosition, bad: BadLine) -> ImportError {
        refused(self.path, position, bad)
    }

    /// Hands the last records on. Returns the description, with the counts of skipped lines.
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
                skipped: self.skipped.values().map(|skipped| skipped.count).sum(),
            });
        }
        self.flush()?;
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let skipped = self.skipped.iter();
        let mut facts: BTreeMap<String, String> = skipped
            .clone()
            .map(|(reason, skipped)| skipped.fact(reason, self.numbers))
            .collect();
        facts.insert("imported_from".to_owned(), name.into_owned());
        Ok(TraceMeta {
            source: source.to_owned(),
            clock: clock.to_owned(),
            unmatched: skipped
                .map(|(reason, skipped)| ((*reason).to_owned(), skipped.count))
                .collect(),
            facts,
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

/// The value of an option that this source needs, or the error that asks for it.
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

/// Refuses an option that states what the rows of this source tell themselves.
pub(super) fn not_told_twice<T>(
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
