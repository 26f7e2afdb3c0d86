//! A complete result from a q2c trace, blktrace's files, or a recording of another tool.

use crate::balance::complete;
use crate::group::FIRST_STAND_IN_PID;
use crate::names::ProcessNames;
use crate::queue_map::QueueMap;
use crate::warnings::{UNSORTED, UNTIMED, incomplete_ios, names_left_out, warnings};
use crate::{Analyzer, AnalyzerThread};
use q2c_model::facts::{ONE_PROCESS, STATED_SECTOR, queue_map};
use q2c_model::{DevId, Exit, Fault, IoRecord, Layer, Nanos, TraceMeta};
use q2c_result::analyze::{self, AnalyzeResult, DeviceQueues};
use q2c_trace::blktrace::{FileSet, Matcher, Notes, match_events};
use q2c_trace::import::{ImportError, ImportOptions, Input, RecordSink, blktrace_meta};
use q2c_trace::process::{Process, ProcessSink};
use q2c_trace::{Scan, Span, TraceError, TraceReader};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// How a recording is read and analysed.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Name of the format; `None` to detect it from the file's first bytes.
    pub format: Option<String>,
    /// Properties that a recording of another tool does not state.
    pub import: ImportOptions,
    /// Times since the first start. The result lists the I/Os in flight within them one by one.
    pub window: Option<Range<Nanos>>,
    /// The process whose I/Os are analysed; `None` for all processes.
    pub process: Option<Process>,
}

/// Analyses the recording at `path`: a file, or the base name of blktrace's files. Facts that only
/// the caller knows are left to the caller. Fails soon after `stop` is set.
pub fn recording(
    path: &Path,
    options: &Options,
    stop: &AtomicBool,
) -> Result<AnalyzeResult, Fault> {
    let mut analysis = RecordingAnalysis::new(path, options.window.clone(), stop);
    let input = Input::with_options(path, options.format.as_deref(), &options.import)?;
    analysis.has_thread_ids = ids_are_of_threads(path, &input)?;
    if let Some(process) = &options.process {
        let mut sink = ProcessSink::new(process, &mut analysis);
        let mut meta = input.read(path, &options.import, &Scan::new(), &mut sink)?;
        sink.check_found(path)?;
        let fact = ONE_PROCESS.to_owned();
        meta.facts.insert(fact, process.to_string());
        return analysis.finish(meta);
    }
    let meta = match input {
        Input::Blktrace(files) => analyse_blktrace(&files, options.import.skip_bad, &mut analysis)?,
        input => input.read(path, &options.import, &Scan::new(), &mut analysis)?,
    };
    analysis.finish(meta)
}

/// True if ids are those of threads. Only then does another name for an id mean another program
/// (exec), or another thread that reused the id: threads of one process have different names.
fn ids_are_of_threads(path: &Path, input: &Input) -> Result<bool, Fault> {
    const THREADS: [&str; 2] = ["blktrace", "blkparse"];
    if let Some(format) = input.format() {
        return Ok(THREADS.contains(&format));
    }
    let reader = TraceReader::open(path).map_err(ImportError::BadTrace)?;
    Ok(THREADS.contains(&reader.meta().source.as_str()))
}

/// Analyses the I/Os of blktrace's files as they are matched, without making records.
fn analyse_blktrace(
    files: &FileSet,
    skip_bad: bool,
    analysis: &mut RecordingAnalysis<'_>,
) -> Result<TraceMeta, ImportError> {
    let merge = files.open(skip_bad)?;
    let count = merge.files();
    let mut origin_ns = None;
    let mut timed = Vec::new();
    let read = match_events(merge, Matcher::LIMIT, |spans: &[Span], notes: &Notes| {
        origin_ns = origin_ns.or_else(|| spans.first().map(Span::first_ns));
        let mut spans = spans;
        if notes.are_renamed() || spans.iter().any(Span::is_untimed) {
            timed.clear();
            timed.extend(spans.iter().filter(|span| !span.is_untimed()).copied());
            analysis.intake.untimed += (spans.len() - timed.len()) as u64;
            for span in &mut timed {
                analysis.set_process(span, notes);
            }
            spans = &timed;
        }
        analysis.analyzer(Layer::Block)?.1.update(spans);
        Ok::<(), ImportError>(analysis.check_stop()?)
    })?;
    for (pid, name) in read.notes.names() {
        analysis.intake.names.add(pid, 0, name);
    }
    Ok(blktrace_meta(&read, origin_ns.unwrap_or(0), files, count))
}

/// Analyses the records of one recording, in the order of time. The first record sets the layer.
/// Times of two layers do not compare, so records of the other layer are counted and left out.
pub struct RecordingAnalysis<'a> {
    path: &'a Path,
    stop: &'a AtomicBool,
    window: Option<Range<Nanos>>,
    analyzer: Option<(Layer, AnalyzerThread)>,
    intake: RecordIntake,
    /// The latest begin so far, ns.
    latest_ns: u64,
    has_thread_ids: bool,
    /// Stand-in numbers, by name, for processes whose ids the recording lacks or reuses.
    by_name: BTreeMap<String, u32>,
}

/// Names and counts of the records, apart from the figures of their I/Os. Stored states keep this
/// order of fields.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(crate) struct RecordIntake {
    /// Number of I/Os of the other layer.
    pub(crate) other_layer: u64,
    pub(crate) names: ProcessNames,
    /// Number of I/Os of which a later stage has an earlier time.
    pub(crate) untimed: u64,
    /// Number of I/Os after one that began later. `PartialAnalysis` does not count them.
    #[serde(skip)]
    unsorted: u64,
    /// The spans of the last records, kept to reuse their memory.
    #[serde(skip)]
    pub(crate) spans: Vec<Span>,
}

impl<'a> RecordingAnalysis<'a> {
    /// Once `stop` is set, further records fail. `window` is as in [`Options`].
    pub fn new(path: &'a Path, window: Option<Range<Nanos>>, stop: &'a AtomicBool) -> Self {
        RecordingAnalysis {
            path,
            stop,
            window,
            analyzer: None,
            intake: RecordIntake::default(),
            latest_ns: 0,
            has_thread_ids: false,
            by_name: BTreeMap::new(),
        }
    }

    /// Returns the result of all records. `meta` describes the recording.
    pub fn finish(self, meta: TraceMeta) -> Result<AnalyzeResult, Fault> {
        let Some((_, analyzer)) = self.analyzer else {
            return Err(no_request(self.path));
        };
        let result = analyzer.finish(&self.intake.names.by_id());
        self.intake.complete(result, self.path, meta)
    }

    fn check_stop(&self) -> Result<(), TraceError> {
        TraceError::unless_stopped(self.stop, "analyze", self.path)
    }

    /// Keeps a process's name and returns its id. A process without an id, and a second name of one
    /// id, get a number from [`FIRST_STAND_IN_PID`] on. `None` if there are too many names.
    fn process_number(&mut self, pid: Option<u32>, comm: &str, at: u64) -> Option<u32> {
        match pid {
            Some(pid) if self.has_thread_ids && self.intake.names.has_other_name(pid, comm) => {
                self.stand_in_pid(&format!("{comm} ({pid})"), at)
            }
            Some(pid) => {
                self.intake.names.add(pid, at, comm);
                Some(pid)
            }
            None => self.stand_in_pid(comm, at),
        }
    }

    fn stand_in_pid(&mut self, name: &str, at: u64) -> Option<u32> {
        if let Some(number) = self.by_name.get(name) {
            return Some(*number);
        }
        if self.by_name.len() >= ProcessNames::MAX_NAMES {
            return None;
        }
        let new = FIRST_STAND_IN_PID + self.by_name.len() as u32;
        self.by_name.insert(name.to_owned(), new);
        self.intake.names.add(new, at, name);
        Some(new)
    }

    /// Gives the I/O the number of the process that had this id at that time.
    fn set_process(&mut self, span: &mut Span, notes: &Notes) {
        let (pid, at) = (span.pid, span.first_ns());
        if let Some(first_name) = notes.name(pid, 0) {
            self.intake.names.add(pid, 0, first_name);
        }
        let name = notes.name(pid, at);
        let process = name.and_then(|name| self.process_number(Some(pid), name, at));
        span.pid = process.unwrap_or(pid);
    }

    fn analyzer(&mut self, layer: Layer) -> Result<&mut (Layer, AnalyzerThread), TraceError> {
        if self.analyzer.is_none() {
            let mut analyzer = Analyzer::new(layer);
            if let Some(Range { start, end }) = &self.window {
                analyzer.set_excerpt_window(start.0..end.0);
            }
            let path = self.path.to_owned();
            let thread = AnalyzerThread::new(analyzer);
            let thread = thread.map_err(|source| TraceError::Thread { path, source })?;
            self.analyzer = Some((layer, thread));
        }
        Ok(self.analyzer.as_mut().expect("it was just made"))
    }
}

pub(crate) fn no_request(path: &Path) -> Fault {
    let text = format!(
        "analyze {}: expected at least one request, found none; record it again for longer, as with q2c trace record DISK --seconds 10",
        path.display()
    );
    Fault::new(Exit::Input, text)
}

impl RecordIntake {
    /// True if an analysis of `layer` uses this I/O. If not, the I/O is counted by its reason.
    pub(crate) fn admit(&mut self, span: &Span, layer: Layer) -> bool {
        let (has_other_layer, is_untimed) = (span.layer != layer, span.is_untimed());
        self.other_layer += u64::from(has_other_layer);
        self.untimed += u64::from(!has_other_layer && is_untimed);
        !has_other_layer && !is_untimed
    }

    pub(crate) fn merge(&mut self, other: RecordIntake) {
        self.names.merge(other.names);
        self.other_layer = self.other_layer.saturating_add(other.other_layer);
        self.untimed = self.untimed.saturating_add(other.untimed);
    }

    /// Adds the recording's facts, counts of left-out I/Os and warnings to a result.
    pub(crate) fn complete(
        &self,
        mut result: AnalyzeResult,
        path: &Path,
        meta: TraceMeta,
    ) -> Result<AnalyzeResult, Fault> {
        if result.requests == 0 {
            let text = format!(
                "analyze {}: expected times that rise from stage to stage, found {} I/Os whose times fall and no other; record it again with one clock",
                path.display(),
                self.untimed
            );
            return Err(Fault::input(text));
        }
        env!("CARGO_PKG_VERSION").clone_into(&mut result.version);
        complete_queues(&mut result.queues, &meta.facts);
        result.lost = meta.lost;
        result.unmatched = meta.unmatched;
        let counts = [
            ("of the other layer", self.other_layer),
            (UNTIMED, self.untimed),
            (UNSORTED, self.unsorted),
        ];
        let counts = counts.into_iter().filter(|(_, n)| *n > 0);
        let counts = counts.map(|(reason, n)| (reason.to_owned(), n));
        result.unmatched.extend(counts);
        result.not_whole = incomplete_ios(&result);
        result.input = analyze::AnalysisInput {
            path: path.display().to_string(),
            source: meta.source,
            clock: meta.clock,
            facts: meta.facts,
        };
        if result.input.facts.contains_key(STATED_SECTOR) {
            result.seeks.clear();
            result.offsets.clear();
        }
        result.warnings = warnings(&result);
        let (cut, nameless) = self.names.left_out_counts();
        result.warnings.extend(names_left_out(cut, nameless));
        Ok(result)
    }
}

/// Adds figures that need the queue maps, which are among the recording's facts.
pub(crate) fn complete_queues(devices: &mut [DeviceQueues], facts: &BTreeMap<String, String>) {
    for queues in devices {
        let device = queues.device.parse::<DevId>().ok();
        let fact = device.and_then(|device| facts.get(&queue_map(device)));
        if let Some(map) = fact.and_then(|fact| QueueMap::parse(fact)) {
            complete(queues, &map);
        }
    }
}

impl RecordSink for RecordingAnalysis<'_> {
    fn push(&mut self, records: &[IoRecord]) -> Result<(), TraceError> {
        self.check_stop()?;
        let Some(first) = records.first() else {
            return Ok(());
        };
        let mut spans = std::mem::take(&mut self.intake.spans);
        spans.clear();
        let &mut (layer, _) = self.analyzer(first.layer)?;
        for record in records {
            let mut span = Span::from_record(record);
            if !self.intake.admit(&span, layer) {
                continue;
            }
            let begin_ns = span.first_ns();
            self.intake.unsorted += u64::from(begin_ns < self.latest_ns);
            self.latest_ns = self.latest_ns.max(begin_ns);
            let comm = record.comm.as_deref();
            let process = comm.and_then(|comm| self.process_number(record.pid, comm, begin_ns));
            span.pid = process.unwrap_or(span.pid);
            spans.push(span);
        }
        self.analyzer(first.layer)?.1.update(&spans);
        self.intake.spans = spans;
        Ok(())
    }
}
