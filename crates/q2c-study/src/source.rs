//! Reads traces for simulation: q2c's own, or any recording that can be imported.

use super::lanes::{Holding, RecordedLanes};
use q2c_model::{Bytes, IoRecord, Nanos, Op};
use q2c_result::sweep::SweepInput;
use q2c_sim::{Recording, RecordingError};
use q2c_stats::{Histogram, percentile};
use q2c_trace::import::{ImportError, ImportOptions, Input, RecordSink};
use q2c_trace::{Column, Scan, TraceError};
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use thiserror::Error;

/// How to read a source that is not a q2c trace.
#[derive(Clone, Debug)]
pub struct SourceOptions {
    /// Format of the source; `None` recognises it by its first bytes.
    pub format: Option<String>,
    /// Facts that the source does not state. Requests without an operation and a length are taken
    /// as reads of 4 KiB, and [`SweepInput::taken_as`] says so.
    pub import: ImportOptions,
    /// How much of the trace is held in memory, and where the rest goes.
    pub holding: Holding,
}

/// A trace that is ready for simulation.
#[derive(Clone, Debug)]
pub struct Trace {
    /// Description of the trace for the result.
    pub input: SweepInput,
    /// The recorded requests of each lane.
    pub lanes: Vec<Recording>,
}

/// The reasons for which a trace cannot be simulated.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SourceError {
    /// The q2c trace cannot be read, or the recording of another tool cannot be imported.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// The records of the trace cannot be simulated.
    #[error("{path}: {source}")]
    Recording {
        /// Path of the trace.
        path: PathBuf,
        /// The reason.
        source: RecordingError,
    },
    /// The part of the trace that does not fit into memory cannot be written to a file.
    #[error(
        "read {path}: put what --memory leaves no room for into a file in {folder}: {source}; name another folder with --spill"
    )]
    Spill {
        /// Path of the trace.
        path: PathBuf,
        /// Folder in which the file was to be made.
        folder: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A signal or the caller stopped the reading.
    #[error("read {path}: stopped by a signal")]
    Stopped {
        /// Path of the trace.
        path: PathBuf,
    },
}

/// Up to this number, the latencies are sorted for exact percentiles.
const EXACT: usize = 1 << 22;
/// Operation and length of requests whose source states neither.
const ASSUMED: (Op, Bytes) = (Op::Read, Bytes(4096));
/// The columns of a q2c trace that a simulation needs.
const COLUMNS: [Column; 5] = [
    Column::SubmitNs,
    Column::SubmitEndNs,
    Column::ReapNs,
    Column::SleptNs,
    Column::Error,
];

/// Reads a trace into lanes. Raising `stop` ends the reading early.
///
/// # Errors
/// A [`SourceError`].
pub fn read(path: &Path, options: &SourceOptions, stop: &AtomicBool) -> Result<Trace, SourceError> {
    let spilled = |source| SourceError::Spill {
        path: path.to_owned(),
        folder: options.holding.folder.clone(),
        source,
    };
    let input = Input::recognise(path, options.format.as_deref())?;
    let mut taken = Taken {
        lanes: RecordedLanes::new(&options.holding),
        full: None,
        sizes: BTreeSet::new(),
        path,
        stop,
    };
    let read = records(path, input, &options.import, &mut taken);
    if let Some(full) = taken.full {
        return Err(spilled(full));
    }
    let taken_as = read?;
    let Taken { lanes, sizes, .. } = taken;
    let lanes = lanes.finish().map_err(spilled)?;
    let (lanes, in_files) = lanes.map_err(|source| SourceError::Recording {
        path: path.to_owned(),
        source,
    })?;
    let taken_as = match in_files.0 {
        0 => taken_as,
        _ => {
            let files = format!("{in_files} of it in unnamed files");
            let both = [taken_as, files]
                .into_iter()
                .filter(|words| !words.is_empty());
            both.collect::<Vec<_>>().join(", ")
        }
    };
    Ok(Trace {
        input: described(path, taken_as, &lanes, sizes),
        lanes,
    })
}

/// The lanes and block sizes read so far. As a sink it refuses records once `stop` is raised or
/// there is no room.
struct Taken<'a> {
    lanes: RecordedLanes,
    /// The error of the file that could not take more.
    full: Option<io::Error>,
    sizes: BTreeSet<Bytes>,
    path: &'a Path,
    stop: &'a AtomicBool,
}

impl RecordSink for Taken<'_> {
    fn push(&mut self, records: &[IoRecord]) -> Result<(), TraceError> {
        let (doing, path) = ("read trace", self.path.to_owned());
        if self.stop.load(Ordering::Relaxed) {
            return Err(TraceError::Stopped { doing, path });
        }
        self.sizes.extend(records.iter().map(|record| record.bytes));
        self.full = self.lanes.take(records).err();
        match &self.full {
            None => Ok(()),
            Some(_) => Err(TraceError::Io {
                doing,
                path,
                source: io::Error::other("no room"),
            }),
        }
    }
}

/// Reads the records of `input`. Returns in words how a recording of another tool was taken; the
/// words are empty for a q2c trace.
fn records(
    path: &Path,
    input: Input,
    options: &ImportOptions,
    sink: &mut Taken<'_>,
) -> Result<String, SourceError> {
    let format = input.format();
    let (op, bytes) = ASSUMED;
    let import = ImportOptions {
        op: options.op.or(Some(op)),
        bytes: options.bytes.or(Some(bytes)),
        ..options.clone()
    };
    let scan = Scan::new().columns(&COLUMNS);
    let meta = input.read(path, &import, &scan, sink);
    if sink.stop.load(Ordering::Relaxed) {
        let path = path.to_owned();
        return Err(SourceError::Stopped { path });
    }
    let left_out: u64 = meta?.unmatched.values().sum();
    let Some(format) = format else {
        return Ok(String::new());
    };
    let mut taken = vec![format.to_owned()];
    if options.op.is_none() && options.bytes.is_none() {
        taken.push(format!(
            "requests without operation and length as {op}s of {bytes}"
        ));
    }
    if left_out > 0 {
        taken.push(format!("{left_out} bad lines left out"));
    }
    Ok(taken.join(", "))
}

fn described(
    path: &Path,
    taken_as: String,
    lanes: &[Recording],
    sizes: BTreeSet<Bytes>,
) -> SweepInput {
    let sum = |times: &[f32]| times.iter().map(|&t| f64::from(t)).sum::<f64>();
    let span = |lane: &Recording| sum(&lane.submit) + sum(&lane.wait) + sum(&lane.gap);
    SweepInput {
        path: path.display().to_string(),
        taken_as,
        lanes: lanes.len(),
        ios: lanes.iter().map(|lane| lane.len() as u64).sum(),
        sizes: sizes.into_iter().collect(),
        span_ns: Nanos(lanes.iter().map(span).fold(0.0, f64::max) as u64),
        latency_ns: latencies(lanes),
    }
}

/// The minimum, the 10th, 50th and 99th percentile and the maximum of all latencies. Above
/// [`EXACT`] latencies the percentiles are the middles of classes that are 1.6 % wide.
fn latencies(lanes: &[Recording]) -> [f64; 5] {
    let all = || lanes.iter().flat_map(|lane| lane.wait.iter().copied());
    if all().count() <= EXACT {
        let mut waits: Vec<f32> = all().collect();
        waits.sort_unstable_by(f32::total_cmp);
        return [0.0, 0.1, 0.5, 0.99, 1.0].map(|q| f64::from(percentile(&waits, q)));
    }
    let mut classes = Histogram::default();
    all().for_each(|wait| classes.record(wait as u64));
    let [least, greatest] = [f32::min as fn(f32, f32) -> f32, f32::max].map(|of| all().reduce(of));
    let [p10, p50, p99] = [0.1, 0.5, 0.99].map(|q| classes.percentile(q));
    let exact = |value: Option<f32>| f64::from(value.unwrap_or_default());
    [exact(least), p10, p50, p99, exact(greatest)]
}
