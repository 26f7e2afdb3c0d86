//! The command `q2c analyze`.

mod live;

use crate::args::{AnalyzeArgs, Window};
use crate::commands::trace::import_exit;
use crate::failure::{Fails, Failure};
use crate::output::{print, print_json, say, screen, write_new};
use q2c_analyze::{Analyzer, Beside};
use q2c_model::{IoRecord, Layer, TraceMeta};
use q2c_result::analyze::{self, AnalyzeResult};
use q2c_result::{Exit, Warning};
use q2c_trace::blktrace::{BlktraceError, FileSet, Matcher, Notes, spans};
use q2c_trace::import::{Input, RecordSink, blktrace_meta};
use q2c_trace::{Scan, Span, TraceError, TraceReader};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Analyses a recording, or with `--live` a capture, and prints the result.
pub fn run(args: &AnalyzeArgs, stop: &AtomicBool) -> Result<Exit, Failure> {
    args.check()?;
    if args.live {
        return live::run(args, stop);
    }
    let mut feed = Feed::new(&args.trace, args.window, stop);
    let input = Input::recognise(&args.trace, args.format.as_deref()).or_exit_of(import_exit)?;
    let meta = match input {
        Input::Own => of_trace(&args.trace, &mut feed)?,
        Input::Blktrace(files) => of_blktrace(args, &files, &mut feed)?,
        foreign => of_import(args, foreign, &mut feed)?,
    };
    show(args, &feed.result(&args.trace, meta)?)?;
    Ok(Exit::Done)
}

/// Writes the page, if asked for, and prints the result in the form that was asked for.
fn show(args: &AnalyzeArgs, result: &AnalyzeResult) -> Result<(), Failure> {
    if let Some(path) = &args.html {
        let page = q2c_report::html::analyze(result).or_exit(Exit::Internal)?;
        write_new(path, page.as_bytes())?;
        say(&format!("report: {}", path.display()));
    }
    match (args.json, args.btt) {
        (true, _) => print_json(result),
        (_, true) => print(&q2c_report::terminal::btt(result)),
        _ => print(&q2c_report::terminal::analyze(result, screen())),
    }
}

fn of_trace(path: &Path, feed: &mut Feed<'_>) -> Result<TraceMeta, Failure> {
    let trace = TraceReader::open(path).or_exit(Exit::Input)?;
    for records in trace.records(&Scan::new()).or_exit(Exit::Input)? {
        let records = records.or_exit(Exit::Input)?;
        feed.push(&records).or_exit(Exit::Interrupted)?;
    }
    Ok(trace.meta().clone())
}

fn of_import(args: &AnalyzeArgs, input: Input, feed: &mut Feed<'_>) -> Result<TraceMeta, Failure> {
    let stop = feed.stop;
    let options = args.recording.options(args.bs);
    let read = input.import(&args.trace, &options, feed);
    read.or_exit_of(|error| match stop.load(Ordering::Relaxed) {
        true => Exit::Interrupted,
        false => import_exit(error),
    })
}

/// Why the reading of blktrace's files ended early.
enum Ended {
    Bad(BlktraceError),
    Stopped,
}

impl From<BlktraceError> for Ended {
    fn from(error: BlktraceError) -> Self {
        Ended::Bad(error)
    }
}

fn of_blktrace(
    args: &AnalyzeArgs,
    files: &FileSet,
    feed: &mut Feed<'_>,
) -> Result<TraceMeta, Failure> {
    let skip_bad = args.recording.options(args.bs).skip_bad;
    let merge = files.open(skip_bad).or_exit(Exit::Input)?;
    let count = merge.files();
    let mut origin = None;
    let read = spans(merge, Matcher::LIMIT, |some: &[Span], _: &Notes| {
        origin = origin.or_else(|| some.first().map(Span::first_ns));
        feed.block(some);
        match feed.stop.load(Ordering::Relaxed) {
            true => Err(Ended::Stopped),
            false => Ok(()),
        }
    });
    let read = read.map_err(|ended| match ended {
        Ended::Bad(error) => Failure::new(Exit::Input, error),
        Ended::Stopped => stopped(&args.trace),
    })?;
    for (pid, name) in read.notes.names() {
        feed.name(pid, name);
    }
    Ok(blktrace_meta(&read, origin.unwrap_or(0), files, count))
}

fn stopped(path: &Path) -> Failure {
    let why = format!("analyze {}: stopped by a signal", path.display());
    Failure::new(Exit::Interrupted, why)
}

/// Gives records and spans to the analysis. All of them must be of one layer: records of the other
/// layer are counted and left out.
struct Feed<'a> {
    path: &'a Path,
    stop: &'a AtomicBool,
    /// The analysis and its layer, which is that of the first record. `None` before the first
    /// record.
    analyzer: Option<(Layer, Beside)>,
    window: Option<Window>,
    other_layer: u64,
    names: BTreeMap<u32, String>,
    spans: Vec<Span>,
}

impl<'a> Feed<'a> {
    /// Processes whose names are kept at most.
    const NAMES: usize = 1 << 16;

    fn new(path: &'a Path, window: Option<Window>, stop: &'a AtomicBool) -> Self {
        Feed {
            path,
            stop,
            analyzer: None,
            window,
            other_layer: 0,
            names: BTreeMap::new(),
            spans: Vec::new(),
        }
    }

    fn name(&mut self, pid: u32, name: &str) {
        if self.names.len() < Self::NAMES && !self.names.contains_key(&pid) {
            self.names.insert(pid, name.to_owned());
        }
    }

    /// The analysis, which is made for `layer` when there is none yet.
    fn analyzer(&mut self, layer: Layer) -> &mut (Layer, Beside) {
        let window = self.window;
        self.analyzer.get_or_insert_with(|| {
            let mut new = Analyzer::new(layer);
            if let Some(Window { from, to }) = window {
                new.window(from.0..to.0);
            }
            (layer, Beside::new(new))
        })
    }

    fn block(&mut self, spans: &[Span]) {
        self.analyzer(Layer::Block).1.add(spans);
    }

    fn result(self, path: &Path, meta: TraceMeta) -> Result<AnalyzeResult, Failure> {
        let Some((_, analyzer)) = self.analyzer else {
            let path = path.display();
            let why = format!("analyze {path}: expected at least one request, found none");
            return Err(Failure::new(Exit::Input, why));
        };
        let mut result = analyzer.finish(&self.names);
        result.version = env!("CARGO_PKG_VERSION").to_owned();
        result.lost = meta.lost;
        result.unmatched = meta.unmatched;
        if self.other_layer > 0 {
            result
                .unmatched
                .insert("of the other layer".to_owned(), self.other_layer);
        }
        result.input = analyze::Input {
            path: path.display().to_string(),
            source: meta.source,
            clock: meta.clock,
            facts: meta.facts,
        };
        result.warnings = warnings(&result);
        Ok(result)
    }
}

impl RecordSink for Feed<'_> {
    fn push(&mut self, records: &[IoRecord]) -> Result<(), TraceError> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(TraceError::Io {
                doing: "analyze",
                path: self.path.to_owned(),
                source: io::Error::other("stopped by a signal"),
            });
        }
        let Some(first) = records.first() else {
            return Ok(());
        };
        let layer = self.analyzer(first.layer).0;
        let mut spans = std::mem::take(&mut self.spans);
        spans.clear();
        spans.extend(records.iter().filter(|r| r.layer == layer).map(Span::of));
        self.other_layer += (records.len() - spans.len()) as u64;
        for record in records {
            if let (Some(pid), Some(comm)) = (record.pid, &record.comm) {
                self.name(pid, comm);
            }
        }
        if let Some((_, analyzer)) = &mut self.analyzer {
            analyzer.add(&spans);
        }
        self.spans = spans;
        Ok(())
    }
}

fn warnings(result: &AnalyzeResult) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let mut warn = |id: &str, found: String, means: &str, todo: &str| {
        let (id, means, todo) = (id.to_owned(), means.to_owned(), todo.to_owned());
        warnings.push(Warning {
            id,
            found,
            means,
            todo,
        });
    };
    let by_bpf = result
        .input
        .facts
        .get("capture")
        .is_some_and(|by| by == "bpf");
    if result.lost > 0 && by_bpf {
        warn(
            "lost-ios",
            format!("{} I/Os have no record", result.lost),
            "counts are too low by these, whose times are not known; the others are whole",
            "see why under unmatched; docs/capture.md says what each reason asks for",
        );
    } else if result.lost > 0 {
        warn(
            "lost-events",
            format!("the source lost {} events", result.lost),
            "some I/Os lack stages or are missing, and some completions may be those of others on the same sector",
            "record with larger or more buffers, or fewer events",
        );
    }
    if let Some(cpus) = result.input.facts.get("cpus_without_file") {
        warn(
            "missing-cpu-files",
            format!("no file of CPUs {cpus}"),
            "events of these CPUs are missing",
            "copy the files of all CPUs",
        );
    }
    let never = result
        .unmatched
        .get("never completed")
        .copied()
        .unwrap_or(0);
    if never * 100 > result.requests {
        warn(
            "unfinished",
            format!(
                "{never} of {} I/Os never complete in the trace",
                result.requests
            ),
            "latencies are of the others alone",
            "record until the device is idle",
        );
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A recording by BPF lacks whole I/Os. Where events were lost from a buffer, parts of I/Os may
    /// be missing.
    #[test]
    fn losses_are_told_as_what_they_are() {
        let told = |capture: Option<&str>| {
            let mut result = AnalyzeResult {
                lost: 32,
                ..AnalyzeResult::default()
            };
            let fact = capture.map(|by| ("capture".to_owned(), by.to_owned()));
            result.input.facts.extend(fact);
            let ids = warnings(&result).into_iter().map(|warning| warning.id);
            ids.collect::<Vec<_>>()
        };
        assert_eq!(told(Some("bpf")), ["lost-ios"]);
        assert_eq!(told(Some("tracefs")), ["lost-events"]);
        assert_eq!(told(None), ["lost-events"]);
    }
}
