//! blktrace: the kernel's binary records, one file for each CPU or all in one (`blkparse -d`).

use super::Format;
use super::error::ImportError;
use super::options::ImportOptions;
use super::run::{RecordSink, Source};
use crate::blktrace::{
    BlktraceError, EventFile, FileSet, Layout, Matcher, Merge, Notes, Spans, spans,
};
use crate::span::Span;
use q2c_model::{IoRecord, TraceMeta};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

pub(super) const FORMAT: Format = Format {
    name: "blktrace",
    help: "binary blktrace, versions 7 and 8: a file of blkparse -d, or the base name of BASE.blktrace.N",
    sniff,
    import,
};

fn sniff(head: &[u8]) -> bool {
    head.first_chunk().copied().and_then(Layout::of).is_some()
}

fn import(
    source: &mut Source<'_>,
    options: &ImportOptions,
    sink: &mut dyn RecordSink,
) -> Result<TraceMeta, ImportError> {
    let file = EventFile::new(source.path, &mut *source.input, 1 << 20, options.skip_bad);
    take(Merge::new([file])?, source.path, sink)
}

/// Imports the files of a trace.
///
/// # Errors
/// When one cannot be read, or the records not be taken.
pub fn blktrace_files(
    files: &FileSet,
    options: &ImportOptions,
    sink: &mut dyn RecordSink,
) -> Result<TraceMeta, ImportError> {
    let mut meta = take(files.open(options.skip_bad)?, &files.base, sink)?;
    name_missing(&mut meta, files);
    Ok(meta)
}

/// The description of a trace that was read from so many of its files; `origin` is its time zero, ns.
#[must_use]
pub fn blktrace_meta(read: &Spans, origin: u64, files: &FileSet, count: usize) -> TraceMeta {
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
}

fn take<R: Read>(
    merge: Merge<R>,
    path: &Path,
    sink: &mut dyn RecordSink,
) -> Result<TraceMeta, ImportError> {
    let files = merge.files();
    let mut origin = None;
    let mut records: Vec<IoRecord> = Vec::new();
    let read = spans(merge, Matcher::LIMIT, |some: &[Span], notes: &Notes| {
        let origin = *origin.get_or_insert(some.first().map_or(0, Span::start));
        let name = |span: &Span| notes.name(span.pid).map(ToString::to_string);
        records.clear();
        records.extend(some.iter().map(|span| span.record(origin, name(span))));
        sink.push(&records).map_err(ImportError::from)
    })?;
    match origin {
        Some(origin) => Ok(describe(&read, origin, path, files)),
        None => Err(ImportError::Blktrace(BlktraceError::Empty {
            base: path.to_owned(),
            files,
        })),
    }
}

fn describe(read: &Spans, origin: u64, path: &Path, files: usize) -> TraceMeta {
    let (notes, counts) = (&read.notes, &read.counts);
    let both = counts.unmatched.iter().chain(&read.losses.reasons);
    let unmatched: BTreeMap<String, u64> = both.map(|(why, n)| ((*why).to_owned(), *n)).collect();
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
    let since = |start: u64| origin.saturating_sub(start);
    TraceMeta {
        start_unix_ns: notes
            .start_unix_ns
            .zip(notes.start_ns)
            .map(|(unix, ns)| unix.saturating_add(since(ns))),
        clock: "CLOCK_MONOTONIC of the traced machine".to_owned(),
        source: FORMAT.name.to_owned(),
        lost: read.losses.lost,
        unmatched,
        facts: facts.map(|(name, value)| (name.to_owned(), value)).into(),
        ..TraceMeta::default()
    }
}
