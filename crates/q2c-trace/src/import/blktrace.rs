//! blktrace: the kernel's binary records, in one file for each CPU or in a single file (`blkparse
//! -d`).

use super::error::ImportResult;
use super::{Import, ImportError, ImportFormat, ImportOptions, Origin, RecordSink, fact};
use crate::blktrace::{
    BlktraceLayout, EventFile, EventSource, FileSet, MatchSummary, Matcher, Merge, Notes,
    match_events,
};
use crate::span::Span;
use q2c_model::facts::LOST;
use q2c_model::{Fault, IoRecord, TraceMeta};
use std::io::Read;
use std::path::Path;

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: "blktrace",
    help: "binary blktrace, versions 7 and 8: a file of blkparse -d, or the base name of BASE.blktrace.N",
    sniff: |head| BlktraceLayout::at_start(head).is_some(),
    by_shape: false,
    uses: &[],
    import,
};

const CLOCK: &str = "CLOCK_MONOTONIC of the traced machine";
const LOST_UNKNOWN: &str =
    "not told: numbers of events are missing, which a filter may have left out";

fn import(from: &mut Import<'_>) -> Result<TraceMeta, ImportError> {
    let file = EventFile::new(from.path, &mut *from.input, 1 << 20, from.options.skip_bad);
    import_merge(Merge::new([file])?, from.path, from.sink)
}

/// Imports the files of one blktrace trace.
pub fn blktrace_files(
    files: &FileSet,
    options: &ImportOptions,
    sink: &mut dyn RecordSink,
) -> Result<TraceMeta, ImportError> {
    let mut meta = import_merge(files.open(options.skip_bad)?, &files.base, sink)?;
    add_file_facts(&mut meta, files);
    Ok(meta)
}

/// Returns the description of a trace that was read from `count` of its files. `origin` is its time
/// zero on the traced machine's clock, ns.
pub fn blktrace_meta(read: &MatchSummary, origin: u64, files: &FileSet, count: usize) -> TraceMeta {
    let mut meta = describe(read, origin, &files.base, count);
    add_file_facts(&mut meta, files);
    meta
}

fn add_file_facts(meta: &mut TraceMeta, files: &FileSet) {
    if !files.missing.is_empty() {
        let missing: Vec<String> = files.missing.iter().map(u32::to_string).collect();
        let missing = fact("cpus_without_file", missing.join(","));
        meta.facts.extend([missing]);
    }
    if let Some(named) = &files.named {
        let name = |path: &Path| path.file_name().unwrap_or_default().display().to_string();
        let (named, base, count) = (name(named), name(&files.base), files.paths.len());
        let how = format!("{named} is of one CPU; all {count} files {base}.blktrace.N were read");
        meta.facts.extend([fact("recognised", how)]);
    }
}

fn import_merge<R: Read>(merge: Merge<R>, path: &Path, sink: &mut dyn RecordSink) -> ImportResult {
    let files = merge.files();
    let meta = import_events(merge, path, files, sink)?;
    meta.ok_or_else(|| {
        let path = path.display();
        let message = format!("read blktrace {path}: expected at least one event, found none in {files} files; was anything done on the device?");
        Fault::input(message).into()
    })
}

/// Matches events and passes their I/Os on as records. Returns `None` if there is no I/O.
pub(super) fn import_events<S: EventSource>(
    events: S,
    path: &Path,
    files: usize,
    sink: &mut dyn RecordSink,
) -> Result<Option<TraceMeta>, ImportError>
where
    ImportError: From<S::Error>,
{
    let mut origin = None;
    let mut records: Vec<IoRecord> = Vec::new();
    let summary = match_events(events, Matcher::LIMIT, |spans: &[Span], notes: &Notes| {
        let origin = match origin {
            Some(origin) => origin,
            None => {
                let first = spans.first().map_or(0, Span::first_ns);
                sink.begin(&origin_of(notes, first))?;
                *origin.insert(first)
            }
        };
        let name = |span: &Span| Some(notes.name(span.pid, span.first_ns())?.to_string());
        records.extend(spans.iter().map(|span| span.record(origin, name(span))));
        Ok::<_, ImportError>(sink.take(&mut records)?)
    })?;
    Ok(origin.map(|origin| describe(&summary, origin, path, files)))
}

/// The origin of times that are relative to `zero`: in Unix time if the trace has a timestamp note,
/// else on the traced machine's clock.
fn origin_of(notes: &Notes, zero: u64) -> Origin {
    let unix = unix_ns(notes, zero);
    Origin {
        clock: CLOCK.to_owned(),
        unix: unix.is_some(),
        zero_ns: unix.unwrap_or(zero),
    }
}

fn unix_ns(notes: &Notes, time: u64) -> Option<u64> {
    let (unix_start, start) = notes.start_unix_ns.zip(notes.start_ns)?;
    Some(unix_start.saturating_add(time).saturating_sub(start))
}

fn describe(summary: &MatchSummary, origin: u64, path: &Path, files: usize) -> TraceMeta {
    let (notes, counts) = (&summary.notes, &summary.counts);
    let unmatched = counts.unmatched.iter().chain(&summary.losses.reasons);
    let unmatched = unmatched.map(|(reason, n)| ((*reason).to_owned(), *n));
    let name = path.file_name().unwrap_or_default().display();
    let facts = [
        fact("imported_from", name),
        fact("blktrace.files", files),
        fact("blktrace.events", counts.events),
        fact("blktrace.splits", counts.splits),
        fact("blktrace.requeues", counts.requeues),
        fact("blktrace.remaps", counts.remaps),
        fact("blktrace.issued", counts.issued),
    ];
    let lost_fact = (summary.losses.lost_unknown).then(|| fact(LOST, LOST_UNKNOWN));
    TraceMeta {
        start_unix_ns: unix_ns(notes, origin),
        clock: CLOCK.to_owned(),
        source: FORMAT.name.to_owned(),
        lost: summary.losses.lost,
        unmatched: unmatched.collect(),
        facts: facts.into_iter().chain(lost_fact).collect(),
        ..TraceMeta::default()
    }
}
