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
    /// Most bytes of a name that the kernel keeps.
    const KERNEL: usize = 15;

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
                comm == name || comm.len() == Self::KERNEL && name.starts_with(comm)
            }),
        }
    }

    /// True if the record has the property, id or name, by which this process is selected.
    fn is_told_by(&self, record: &IoRecord) -> bool {
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
            Err(_) => Ok(Process::Name(kept_name(text))),
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
#[derive(Clone, Debug)]
pub struct ProcessFilter {
    process: Process,
    taken: bool,
    told: bool,
    others: BTreeSet<String>,
}

impl ProcessFilter {
    /// Most other processes that the error message lists.
    const OTHERS: usize = 8;

    /// A filter for this process.
    pub fn new(process: &Process) -> Self {
        ProcessFilter {
            process: process.clone(),
            taken: false,
            told: false,
            others: BTreeSet::new(),
        }
    }

    /// True if the process submitted the request.
    pub fn takes(&mut self, record: &IoRecord) -> bool {
        let takes = self.process.submitted(record);
        self.taken |= takes;
        self.told |= self.process.is_told_by(record);
        if !takes && self.others.len() < Self::OTHERS {
            self.others.extend(other(record));
        }
        takes
    }

    /// Fails if no request was of the process. `path` names the recording in the message.
    pub fn found(self, path: &Path) -> Result<(), NoSuchProcess> {
        if self.taken {
            return Ok(());
        }
        Err(NoSuchProcess {
            path: path.to_owned(),
            process: self.process,
            told: self.told,
            others: self.others.into_iter().collect(),
        })
    }
}

/// The process of a record in words: `fio (1203)`.
fn other(record: &IoRecord) -> Option<String> {
    match (&record.comm, record.pid) {
        (Some(comm), Some(pid)) => Some(format!("{comm} ({pid})")),
        (Some(comm), None) => Some(comm.clone()),
        (None, pid) => pid.map(|pid| pid.to_string()),
    }
}

/// The error for a recording without a request of the selected process.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("find process {process} in {}: {}", path.display(), self.why())]
pub struct NoSuchProcess {
    /// Path of the recording.
    pub path: PathBuf,
    /// The process.
    pub process: Process,
    /// True if some request has the property, id or name, by which the process is selected.
    pub told: bool,
    /// Some other processes, as text such as `fio (1203)`.
    pub others: Vec<String>,
}

impl From<NoSuchProcess> for Fault {
    fn from(error: NoSuchProcess) -> Fault {
        Fault::from_error(Exit::Input, error)
    }
}

impl NoSuchProcess {
    fn why(&self) -> String {
        let kind = match self.process {
            Process::Pid(_) => "numbers",
            Process::Name(_) => "names",
        };
        let others = self.others.join(", ");
        match (self.told, others.is_empty()) {
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
pub struct OfProcess<'a> {
    filter: ProcessFilter,
    sink: &'a mut dyn RecordSink,
}

impl<'a> OfProcess<'a> {
    /// Passes the records of `process` on to `sink`.
    pub fn new(process: &Process, sink: &'a mut dyn RecordSink) -> Self {
        OfProcess {
            filter: ProcessFilter::new(process),
            sink,
        }
    }

    /// Fails if no record was of the process, as [`ProcessFilter::found`].
    pub fn found(self, path: &Path) -> Result<(), NoSuchProcess> {
        self.filter.found(path)
    }
}

impl RecordSink for OfProcess<'_> {
    fn begin(&mut self, origin: &Origin) -> Result<(), TraceError> {
        self.sink.begin(origin)
    }

    fn push(&mut self, records: &[IoRecord]) -> Result<(), TraceError> {
        let taken = records.iter().filter(|record| self.filter.takes(record));
        let mut taken: Vec<IoRecord> = taken.cloned().collect();
        self.sink.take(&mut taken)
    }

    fn take(&mut self, records: &mut Vec<IoRecord>) -> Result<(), TraceError> {
        records.retain(|record| self.filter.takes(record));
        self.sink.take(records)
    }
}

/// Most characters of a kept process name; kernel names have 15. Each record has a copy, so a small
/// file with a name of megabytes would otherwise fill the memory.
const MOST: usize = 64;
/// The suffix of a name that was cut.
const CUT: &str = "... (cut)";

pub(crate) fn kept_name(name: &str) -> String {
    match name.char_indices().nth(MOST) {
        None => name.to_owned(),
        Some((end, _)) => name[..end].to_owned() + CUT,
    }
}

/// True if a name was cut: it is longer than the limit, and ends with the suffix.
pub fn is_cut_name(name: &str) -> bool {
    name.len() > MOST && name.ends_with(CUT)
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

    fn takes(process: &str, record: &IoRecord) -> bool {
        let process = process.parse().expect("a process");
        ProcessFilter::new(&process).takes(record)
    }

    #[test]
    fn a_process_is_named_by_its_number_or_its_name() {
        let fio = record(Some("fio"), Some(7));
        assert!(takes("fio", &fio) && takes("7", &fio));
        assert!(!takes("fi", &fio) && !takes("8", &fio) && !takes("fio2", &fio));
        assert!("".parse::<Process>().is_err());
        // The kernel keeps 15 bytes.
        let cut = record(Some("kworker/u8:2-ev"), Some(9));
        assert!(takes("kworker/u8:2-events", &cut) && takes("kworker/u8:2-ev", &cut));
    }

    #[test]
    fn a_process_that_is_not_there_is_told_with_what_to_do() {
        let message_for = |process: &str, records: &[IoRecord]| {
            let mut filter = ProcessFilter::new(&process.parse().expect("a process"));
            for record in records {
                assert!(!filter.takes(record));
            }
            filter.found(Path::new("t")).unwrap_err().to_string()
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
        assert_eq!(kept_name("fio"), "fio");
        let whole = "ä".repeat(MOST);
        assert_eq!(kept_name(&whole), whole);
        assert!(!is_cut_name(&whole) && !is_cut_name(CUT));
        let cut = kept_name(&"ä".repeat(5_000_000));
        assert_eq!(cut, whole + CUT);
        assert!(is_cut_name(&cut));
        // A name that was cut and written to a file is read back unchanged.
        assert_eq!(kept_name("fio... (cut)"), "fio... (cut)");
    }
}
