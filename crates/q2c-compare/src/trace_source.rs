//! The trace that is replayed: a q2c trace, or an import that is removed after the replay.

use super::ReplayRequest;
use q2c_model::{Fault, IoRecord, Nanos};
use q2c_replay::{ReplayError, ReplayFacts, ReplaySelection, ShareBy, check, prepare};
use q2c_trace::import::{ImportOptions, Input};
use q2c_trace::process::NoSuchProcess;
use q2c_trace::{TraceError, TraceReader, TraceWriter};
use std::fs::{File, remove_file};
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Requests read per second, rather too low than too high, to estimate how long a reading takes.
const REQUESTS_PER_S: f64 = 2e6;
/// A reading that is expected to take longer than this, seconds, is announced.
const MIN_ANNOUNCED_S: f64 = 5.0;

/// An open trace and its facts.
#[derive(Debug)]
pub struct TraceSource {
    /// The path as it was given.
    pub name: String,
    /// Format of an imported recording, or the source that the q2c trace names.
    pub made_by: String,
    /// Facts of the trace, or of its replayed part.
    pub facts: ReplayFacts,
    _imported: Option<ImportedTrace>,
}

/// The trace that the user asks for.
#[derive(Clone, Copy, Debug)]
pub struct SourceRequest<'a> {
    /// Path of the trace, or of a recording that can be imported.
    pub path: &'a Path,
    /// Name of the recording's format; `None` recognises it by its first bytes.
    pub format: Option<&'a str>,
    /// How a recording is imported.
    pub import: &'a ImportOptions,
    /// Folder for an imported trace.
    pub temporary: &'a Path,
}

/// A file without a name, which vanishes however the process ends.
#[derive(Debug)]
struct ImportedTrace(File);

impl ImportedTrace {
    fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.0.as_raw_fd()))
    }

    fn open_and_remove(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        remove_file(path)?;
        Ok(ImportedTrace(file))
    }
}

impl TraceSource {
    /// Opens the trace, imports it if necessary, and reads its facts. `announce` tells of long
    /// steps.
    pub fn open(
        asked: &SourceRequest<'_>,
        selection: &ReplaySelection,
        stop: &AtomicBool,
        announce: &dyn Fn(&str),
    ) -> Result<Self, Fault> {
        let path = asked.path;
        let input = Input::with_options(path, asked.format, asked.import)?;
        let made_by = input.format();
        let imported = match input {
            Input::Trace => None,
            foreign => Some(import(asked, foreign, stop, announce)?),
        };
        let trace = imported.as_ref().map(ImportedTrace::path);
        let trace = trace.as_deref().unwrap_or(path);
        let reader = TraceReader::open(trace).map_err(TraceError::into_read_fault)?;
        let rows = reader.rows();
        let expected = rows as f64 / REQUESTS_PER_S;
        if expected > MIN_ANNOUNCED_S {
            let text = "requests once before the replay: about";
            announce(&format!("reading {rows} {text} {expected:.0} s"));
        }
        let started = Instant::now();
        let facts = facts(trace, path, selection, stop)?;
        announce(&facts_message(&facts, started.elapsed().as_secs_f64()));
        Ok(TraceSource {
            name: path.display().to_string(),
            made_by: made_by.map_or_else(|| reader.meta().source.clone(), str::to_owned),
            facts,
            _imported: imported,
        })
    }

    /// Fails if the trace lacks facts that the mode, or the division among threads, needs.
    pub fn fits(&self, request: &ReplayRequest) -> Result<(), ReplayError> {
        check(&request.mode, &self.facts)?;
        let missing_key = match request.share {
            ShareBy::Cpu if self.facts.with_cpu == 0 => Some("CPU"),
            ShareBy::Hctx if self.facts.with_hctx == 0 => Some("hardware queue"),
            _ => None,
        };
        missing_key.map_or(Ok(()), |key| Err(ReplayError::NoKey(key)))
    }

    /// Opens the recording of this trace's replay as a source, which removes the file when dropped.
    pub(crate) fn open_recording(
        &self,
        recording: &Path,
        stop: &AtomicBool,
    ) -> Result<TraceSource, Fault> {
        let imported = ImportedTrace::open_and_remove(recording).map_err(|source| {
            let (doing, path) = ("read trace", recording.to_owned());
            TraceError::Io {
                doing,
                path,
                source,
            }
            .into_read_fault()
        })?;
        let path = imported.path();
        let facts = facts(&path, &path, &ReplaySelection::default(), stop)?;
        Ok(TraceSource {
            name: self.name.clone(),
            made_by: self.made_by.clone(),
            facts,
            _imported: Some(imported),
        })
    }
}

/// Reads the trace once, for its facts. Errors name the path `user_path`, as the user knows it.
fn facts(
    trace: &Path,
    user_path: &Path,
    selection: &ReplaySelection,
    stop: &AtomicBool,
) -> Result<ReplayFacts, Fault> {
    let facts = prepare(trace, selection, stop, |_| {}).map_err(|error| match error {
        ReplayError::Empty { .. } => empty(user_path, selection.range),
        ReplayError::Process(error) => {
            let path = user_path.to_owned();
            NoSuchProcess { path, ..error }.into()
        }
        error => error.into(),
    })?;
    if stop.load(Ordering::Relaxed) {
        return Err(stopped());
    }
    Ok(facts)
}

/// The fault of a trace, or of a range of its time, in which no request has a time.
fn empty(path: &Path, range: Option<(Nanos, Nanos)>) -> Fault {
    let path = path.display();
    let (within, instead) = match range {
        Some((from, to)) => (
            format!(" between {from} and {to}"),
            "give another --part, in times from the trace's first request",
        ),
        None => (
            String::new(),
            "record one with times, as q2c trace record does",
        ),
    };
    let expected = format!("expected at least one request with a time{within}");
    Fault::input(format_args!(
        "replay {path}: {expected}, found none; {instead}"
    ))
}

fn stopped() -> Fault {
    Fault::stopped("replay: stopped by a signal while reading the trace")
}

fn facts_message(facts: &ReplayFacts, seconds: f64) -> String {
    let idle = facts.idle_share().map_or(String::new(), |share| {
        format!(", nothing in flight {:.0} % of the time", share * 100.0)
    });
    let slow = (seconds > 1.0).then(|| format!("; read in {seconds:.1} s"));
    let (took, devices) = (slow.unwrap_or_default(), facts.devices.len());
    let s = if devices == 1 { "" } else { "s" };
    let (requests, length) = (facts.requests, facts.length());
    format!("the trace has {requests} requests over {length} to {devices} device{s}{idle}{took}")
}

fn import(
    asked: &SourceRequest<'_>,
    input: Input,
    stop: &AtomicBool,
    announce: &dyn Fn(&str),
) -> Result<ImportedTrace, Fault> {
    let format = input.format().unwrap_or_default();
    announce(&format!(
        "importing {} ({format}) into a file in {} meanwhile",
        asked.path.display(),
        asked.temporary.display()
    ));
    let (writer, file) = TraceWriter::create_nameless(asked.temporary)?;
    let mut writer = writer.with_threads()?;
    let mut sink = |records: &[IoRecord]| {
        TraceError::unless_stopped(stop, "import trace", Path::new(""))?;
        writer.push(records)
    };
    let imported = input.import(asked.path, asked.import, &mut sink);
    if stop.load(Ordering::Relaxed) {
        return Err(stopped());
    }
    let meta = imported?;
    writer.meta_mut().clone_from(&meta);
    writer.finish_nameless()?;
    Ok(ImportedTrace(file))
}

#[cfg(test)]
mod tests;
