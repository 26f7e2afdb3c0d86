//! Names of processes in records, and the selection of one process's I/Os from a recording.

use crate::import::{Origin, RecordSink};
use crate::{Column, TraceError};
use q2c_model::{Exit, Fault, IoRecord};
use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use thiserror::Error;

/// A process, as a user names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Process {
    /// The process with this id.
    Pid(u32),
    /// A process with this name; several processes may have it.
    Name(String),
}

impl Process {
    const MAX_KERNEL_NAME_BYTES: usize = 15;

    /// The column that identifies the process.
    pub fn column(&self) -> Column {
        match self {
            Process::Pid(_) => Column::Pid,
            Process::Name(_) => Column::Comm,
        }
    }

    /// True if the process submitted the request. The kernel cuts names, so a longer name matches
    /// the name that it was cut to.
    fn submitted(&self, record: &IoRecord) -> bool {
        match self {
            Process::Pid(pid) => record.pid == Some(*pid),
            Process::Name(name) => record.comm.as_deref().is_some_and(|comm| {
                comm == name || comm.len() == Self::MAX_KERNEL_NAME_BYTES && name.starts_with(comm)
            }),
        }
    }

    /// True if the record has the property, id or name, by which this process is selected.
    fn has_property(&self, record: &IoRecord) -> bool {
        match self {
            Process::Pid(_) => record.pid.is_some(),
            Process::Name(_) => record.comm.is_some(),
        }
    }
}

impl FromStr for Process {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.parse() {
            Ok(pid) => Ok(Process::Pid(pid)),
            Err(_) if text.is_empty() => Err("expected the name or the number of a process"),
            Err(_) => Ok(Process::Name(cut_name(text))),
        }
    }
}

impl fmt::Display for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Process::Pid(pid) => write!(f, "{pid}"),
            Process::Name(name) => write!(f, "{name}"),
        }
    }
}

/// Selects the requests of one process, and remembers some other processes for the error message in
/// case there are none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessFilter {
    process: Process,
    has_match: bool,
    /// True if some request has the property, id or name, by which the process is selected.
    has_property: bool,
    /// Some other processes, as text such as `fio (1203)`.
    others: BTreeSet<String>,
}

impl ProcessFilter {
    /// Most other processes that the error message lists.
    const MAX_LISTED: usize = 8;

    /// A filter for this process.
    pub fn new(process: &Process) -> Self {
        ProcessFilter {
            process: process.clone(),
            has_match: false,
            has_property: false,
            others: BTreeSet::new(),
        }
    }

    /// True if the process submitted the request.
    pub fn accepts(&mut self, record: &IoRecord) -> bool {
        let accepts = self.process.submitted(record);
        self.has_match |= accepts;
        self.has_property |= self.process.has_property(record);
        if !accepts && self.others.len() < Self::MAX_LISTED {
            self.others.extend(process_label(record));
        }
        accepts
    }

    /// Fails if no request was of the process. `path` names the recording in the message.
    pub fn check_found(self, path: &Path) -> Result<(), NoSuchProcess> {
        if self.has_match {
            return Ok(());
        }
        let path = path.to_owned();
        Err(NoSuchProcess { path, filter: self })
    }
}

/// The process of a record in words: `fio (1203)`.
fn process_label(record: &IoRecord) -> Option<String> {
    match (&record.comm, record.pid) {
        (Some(comm), Some(pid)) => Some(format!("{comm} ({pid})")),
        (Some(comm), None) => Some(comm.clone()),
        (None, pid) => pid.map(|pid| pid.to_string()),
    }
}

/// The error for a recording without a request of the selected process.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("find process {} in {}: {}", filter.process, path.display(), self.reason())]
pub struct NoSuchProcess {
    /// Path of the recording.
    pub path: PathBuf,
    /// The filter that no request passed.
    pub filter: ProcessFilter,
}

impl From<NoSuchProcess> for Fault {
    fn from(error: NoSuchProcess) -> Fault {
        Fault::from_error(Exit::Input, error)
    }
}

impl NoSuchProcess {
    fn reason(&self) -> String {
        let kind = match self.filter.process {
            Process::Pid(_) => "numbers",
            Process::Name(_) => "names",
        };
        let others = Vec::from_iter(self.filter.others.iter().cloned()).join(", ");
        match (self.filter.has_property, others.is_empty()) {
            (true, false) => format!(
                "expected requests of it, found those of {others}; q2c analyze without --process \
                 lists the processes"
            ),
            (_, true) => format!(
                "expected {kind} of processes in the recording, found none; leave --process out, \
                 or record with q2c trace record DISK, which keeps them"
            ),
            (false, false) => format!(
                "expected {kind} of processes in the recording, found none, but {others}; name \
                 the process so"
            ),
        }
    }
}

/// Passes on only the records of one process.
pub struct ProcessSink<'a> {
    filter: ProcessFilter,
    sink: &'a mut dyn RecordSink,
}

impl<'a> ProcessSink<'a> {
    /// Passes the records of `process` on to `sink`.
    pub fn new(process: &Process, sink: &'a mut dyn RecordSink) -> Self {
        let filter = ProcessFilter::new(process);
        ProcessSink { filter, sink }
    }

    /// Fails if no record was of the process, as [`ProcessFilter::check_found`].
    pub fn check_found(self, path: &Path) -> Result<(), NoSuchProcess> {
        self.filter.check_found(path)
    }
}

impl RecordSink for ProcessSink<'_> {
    fn begin(&mut self, origin: &Origin) -> Result<(), TraceError> {
        self.sink.begin(origin)
    }

    fn push(&mut self, records: &[IoRecord]) -> Result<(), TraceError> {
        let accepted = records.iter().filter(|record| self.filter.accepts(record));
        let mut accepted: Vec<IoRecord> = accepted.cloned().collect();
        self.sink.take(&mut accepted)
    }

    fn take(&mut self, records: &mut Vec<IoRecord>) -> Result<(), TraceError> {
        records.retain(|record| self.filter.accepts(record));
        self.sink.take(records)
    }
}

/// Most characters of a kept process name; kernel names have 15. Each record has a copy, so a small
/// file with a name of megabytes would otherwise fill the memory.
const MAX_NAME_CHARS: usize = 64;
const CUT_SUFFIX: &str = "... (cut)";

pub(crate) fn cut_name(name: &str) -> String {
    match name.char_indices().nth(MAX_NAME_CHARS) {
        None => name.to_owned(),
        Some((end, _)) => name[..end].to_owned() + CUT_SUFFIX,
    }
}

/// True if a name was cut: it is longer than the limit, and ends with the suffix.
pub fn is_cut_name(name: &str) -> bool {
    name.len() > MAX_NAME_CHARS && name.ends_with(CUT_SUFFIX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_model::{Bytes, DevId, Layer, Op, Sectors};

    fn record(comm: Option<&str>, pid: Option<u32>) -> IoRecord {
        let device = DevId::default();
        IoRecord {
            comm: comm.map(str::to_owned),
            pid,
            ..IoRecord::new(0, Layer::Block, device, Op::Read, Sectors(0), Bytes(512))
        }
    }

    fn accepts(process: &str, record: &IoRecord) -> bool {
        let process = process.parse().expect("a process");
        ProcessFilter::new(&process).accepts(record)
    }

    #[test]
    fn a_process_is_named_by_its_number_or_its_name() {
        let fio = record(Some("fio"), Some(7));
        assert!(accepts("fio", &fio) && accepts("7", &fio));
        assert!(!accepts("fi", &fio) && !accepts("8", &fio) && !accepts("fio2", &fio));
        assert!("".parse::<Process>().is_err());
        // The kernel keeps 15 bytes.
        let cut = record(Some("kworker/u8:2-ev"), Some(9));
        assert!(accepts("kworker/u8:2-events", &cut) && accepts("kworker/u8:2-ev", &cut));
    }

    #[test]
    fn a_process_that_is_not_there_is_told_with_what_to_do() {
        let message_for = |process: &str, records: &[IoRecord]| {
            let mut filter = ProcessFilter::new(&process.parse().expect("a process"));
            for record in records {
                assert!(!filter.accepts(record));
            }
            filter.check_found(Path::new("t")).unwrap_err().to_string()
        };
        let dd = record(Some("dd"), Some(3));
        let others = message_for("fio", &[dd, record(Some("cp"), None)]);
        assert!(others.starts_with("find process fio in t: "), "{others}");
        assert!(
            others.contains("found those of cp, dd (3); q2c analyze"),
            "{others}"
        );
        let none = message_for("fio", &[record(None, None)]);
        assert!(none.contains("found none; leave --process out"), "{none}");
        assert!(none.contains("q2c trace record DISK"), "{none}");
        let numbers = message_for("fio", &[record(None, Some(3))]);
        assert!(numbers.contains("found none, but 3; name"), "{numbers}");
    }

    #[test]
    fn a_name_of_megabytes_is_cut_and_says_so() {
        assert_eq!(cut_name("fio"), "fio");
        let whole = "ä".repeat(MAX_NAME_CHARS);
        assert_eq!(cut_name(&whole), whole);
        assert!(!is_cut_name(&whole) && !is_cut_name(CUT_SUFFIX));
        let cut = cut_name(&"ä".repeat(5_000_000));
        assert_eq!(cut, whole + CUT_SUFFIX);
        assert!(is_cut_name(&cut));
        // A name that was cut and written to a file is read back unchanged.
        assert_eq!(cut_name("fio... (cut)"), "fio... (cut)");
    }
}
