//! blktrace: the kernel's binary records, in one file for each CPU or all in one file (`blkparse
//! -d`).

use super::ImportFormat;
use super::error::ImportError;
use super::options::ImportOptions;
use super::run::{Import, Origin, RecordSink};
use crate::blktrace::{
    BlktraceError, BlktraceLayout, EventFile, EventSource, FileSet, MatchSummary, Matcher, Merge,
    Notes, match_events,
};
use crate::span::Span;
use q2c_model::facts::LOST;
use q2c_model::{IoRecord, TraceMeta};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: "blktrace",
    help: "binary blktrace, versions 7 and 8: a file of blkparse -d, or the base name of BASE.blktrace.N",
    sniff,
    own_device_numbers: false,
    by_shape: false,
    uses: &[],
    import,
};

const CLOCK: &str = "CLOCK_MONOTONIC of the traced machine";
const NOT_TOLD: &str = "not told: numbers of events are missing, which a filter may have left out";

fn sniff(head: &[u8]) -> bool {
    head.first_chunk()
        .copied()
        .and_then(BlktraceLayout::from_magic)
        .is_some()
}

fn import(from: &mut Import<'_>) -> Result<TraceMeta, ImportError> {
    let file = EventFile::new(from.path, &mut *from.input, 1 << 20, from.options.skip_bad);
    take_merge(Merge::new([file])?, from.path, from.sink)
}

/// Imports the files of a trace.
pub fn blktrace_files(
    files: &FileSet,
    options: &ImportOptions,
    sink: &mut dyn RecordSink,
) -> Result<TraceMeta, ImportError> {
    let mut meta = take_merge(files.open(options.skip_bad)?, &files.base, sink)?;
    name_missing(&mut meta, files);
    Ok(meta)
}

/// The description of a trace that was read from `count` of its files. `origin` is its time zero on
/// the traced machine's clock, ns.
pub fn blktrace_meta(read: &MatchSummary, origin: u64, files: &FileSet, count: usize) -> TraceMeta {
    let mut meta = describe(read, origin, &files.base, count);
    name_missing(&mut meta, files);
    meta
}

fn name_missing(meta: &mut TraceMeta, files: &FileSet) {
    if !files.missing.is_empty() {
        let missing: Vec<String> = files.missing.iter().map(u32::to_string).collect();
        meta.facts
            .insert("cpus_without_file".to_owned(), missing.join(","));
    }
    if let Some(named) = &files.named {
        let name = |path: &Path| path.file_name().unwrap_or_default().display().to_string();
        let (named, base, count) = (name(named), name(&files.base), files.paths.len());
        let fact = format!("{named} is of one CPU; all {count} files {base}.blktrace.N were read");
        meta.facts.insert("recognised".to_owned(), fact);
    }
}

fn take_merge<R: Read>(
    merge: Merge<R>,
    path: &Path,
    sink: &mut dyn RecordSink,
) -> Result<TraceMeta, ImportError> {
    let files = merge.files();
    let meta = take(merge, path, files, sink)?;
    let base = path.to_owned();
    meta.ok_or_else(|| BlktraceError::Empty { base, files }.into())
}

/// Matches events and hands their I/Os on as records. Returns `None` when there is no I/O.
pub(super) fn take<S: EventSource>(
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
    let read = match_events(events, Matcher::LIMIT, |some: &[Span], notes: &Notes| {
        let origin = match origin {
            Some(origin) => origin,
            None => {
                let first = some.first().map_or(0, Span::first_ns);
                sink.begin(&begin(notes, first))
                    .map_err(ImportError::Trace)?;
                *origin.insert(first)
            }
        };
        let name = |span: &Span| {
            let name = notes.name(span.pid, span.first_ns());
            name.map(ToString::to_string)
        };
        records.clear();
        records.extend(some.iter().map(|span| span.record(origin, name(span))));
        sink.push(&records).map_err(ImportError::Trace)
    })?;
    Ok(origin.map(|origin| describe(&read, origin, path, files)))
}

/// The origin of times that count from `zero`: in Unix time when the trace has a timestamp note,
/// else on the traced machine's clock.
fn begin(notes: &Notes, zero: u64) -> Origin {
    let unix = unix(notes, zero);
    Origin {
        clock: CLOCK.to_owned(),
        unix: unix.is_some(),
        zero_ns: unix.unwrap_or(zero),
    }
}

fn unix(notes: &Notes, time: u64) -> Option<u64> {
    let (unix, at) = notes.start_unix_ns.zip(notes.start_ns)?;
    Some(unix.saturating_add(time).saturating_sub(at))
}

fn describe(read: &MatchSummary, origin: u64, path: &Path, files: usize) -> TraceMeta {
    let (notes, counts) = (&read.notes, &read.counts);
    let both = counts.unmatched.iter().chain(&read.losses.reasons);
    let unmatched: BTreeMap<String, u64> =
        both.map(|(reason, n)| ((*reason).to_owned(), *n)).collect();
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let facts = [
        ("imported_from", name.into_owned()),
        ("blktrace.files", files.to_string()),
        ("blktrace.events", counts.events.to_string()),
        ("blktrace.splits", counts.splits.to_string()),
        ("blktrace.requeues", counts.requeues.to_string()),
        ("blktrace.remaps", counts.remaps.to_string()),
        ("blktrace.issued", counts.issued.to_string()),
    ];
    let not_told = (read.losses.not_told).then(|| (LOST.to_owned(), NOT_TOLD.to_owned()));
    let facts = facts.map(|(name, value)| (name.to_owned(), value));
    TraceMeta {
        start_unix_ns: unix(notes, origin),
        clock: CLOCK.to_owned(),
        source: FORMAT.name.to_owned(),
        lost: read.losses.lost,
        unmatched,
        facts: facts.into_iter().chain(not_told).collect(),
        ..TraceMeta::default()
    }
}
