//! Finds the files of a trace, and turns them into I/Os in one call.

use super::context::{BlktraceLosses, EventSource, Notes};
use super::file::EventFile;
use super::matching::{Matcher, MatcherCounts};
use super::merge::Merge;
use crate::CountedFile;
use crate::container::folder_of;
use crate::import::unreadable;
use crate::span::Span;
use q2c_model::Fault;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// The files of one blktrace trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSet {
    /// The file, or the common start of the files' names (`BASE`).
    pub base: PathBuf,
    /// The file of one CPU, if the user named only this file, which stands for all.
    pub named: Option<PathBuf>,
    /// One file for each CPU, in the order of CPUs; or a single file, as `blkparse -d` writes it.
    pub paths: Vec<PathBuf>,
    /// CPUs below the highest one that have no file.
    pub missing: Vec<u32>,
}

impl FileSet {
    /// Finds the file at `path`, or the files `path.blktrace.N`; `None` if there are none. One
    /// CPU's file stands for all, because I/Os may end on another CPU.
    pub fn find(path: &Path) -> Result<Option<FileSet>, Fault> {
        if !path.is_file() {
            return FileSet::find_by_cpu(path).map_err(unreadable(path));
        }
        let set = FileSet::base_of(path).and_then(|base| FileSet::find_by_cpu(&base).ok()?);
        let named = Some(path.to_owned());
        Ok(Some(match set.filter(|set| set.paths.len() > 1) {
            Some(set) => FileSet { named, ..set },
            None => FileSet {
                base: path.to_owned(),
                named: None,
                paths: vec![path.to_owned()],
                missing: Vec::new(),
            },
        }))
    }

    /// The error for a path without files.
    pub(crate) fn absent(base: &Path) -> Fault {
        let base = base.display();
        Fault::input(format_args!(
            "find the files of blktrace {base}: expected {base}.blktrace.N or a blktrace file of that name, found none"
        ))
    }

    /// `BASE` of `BASE.blktrace.N`, the name of one CPU's file.
    pub(crate) fn base_of(path: &Path) -> Option<PathBuf> {
        let (base, cpu) = path.file_name()?.to_str()?.rsplit_once(".blktrace.")?;
        let is_cpu = !base.is_empty() && cpu.parse::<u32>().is_ok();
        is_cpu.then(|| path.with_file_name(base))
    }

    /// Finds the files `BASE.blktrace.N` of all CPUs.
    fn find_by_cpu(base: &Path) -> io::Result<Option<FileSet>> {
        let Some(name) = base.file_name() else {
            return Ok(None);
        };
        let prefix = format!("{}.blktrace.", name.to_string_lossy());
        let mut files: BTreeSet<(u32, PathBuf)> = BTreeSet::new();
        for entry in fs::read_dir(folder_of(base))? {
            let path = entry?.path();
            let name = path.file_name().and_then(|name| name.to_str());
            let cpu = name.and_then(|name| name.strip_prefix(&prefix)?.parse().ok());
            files.extend(cpu.map(|cpu| (cpu, path)));
        }
        // A stray file with a huge number must not make a huge list.
        let end = files.last().map(|(cpu, _)| (*cpu).min(1 << 16));
        let cpus: BTreeSet<u32> = files.iter().map(|(cpu, _)| *cpu).collect();
        Ok(end.map(|end| FileSet {
            base: base.to_owned(),
            named: None,
            missing: (0..end).filter(|cpu| !cpus.contains(cpu)).collect(),
            paths: files.into_iter().map(|(_, path)| path).collect(),
        }))
    }

    /// Opens all files and merges them by time. `skip_bad` is as for [`EventFile::new`].
    pub fn open(&self, skip_bad: bool) -> Result<Merge<CountedFile>, Fault> {
        /// Most bytes of all buffers together, and of one buffer.
        const MAX_BYTES: usize = 64 << 20;
        const MAX_BUFFER_BYTES: usize = 1 << 20;
        let buffer = (MAX_BYTES / self.paths.len().max(1)).min(MAX_BUFFER_BYTES);
        let open = |path: &PathBuf| {
            let file = File::open(path).map_err(unreadable(path))?;
            Ok(EventFile::new(path, CountedFile(file), buffer, skip_bad))
        };
        let files: Vec<_> = self.paths.iter().map(open).collect::<Result<_, Fault>>()?;
        Merge::new(files)
    }
}

/// The result of reading a trace, apart from its I/Os: counts, losses, notes, range of time.
#[derive(Clone, Debug, Default)]
pub struct MatchSummary {
    /// Counts of the matcher.
    pub counts: MatcherCounts,
    /// Records that reading found missing, damaged or out of order.
    pub losses: BlktraceLosses,
    /// Process names and the start of the trace.
    pub notes: Notes,
    /// Time of the first event, ns on the traced machine's clock.
    pub first_ns: u64,
    /// Time of the last event, ns on the same clock.
    pub last_ns: u64,
}

/// Spans that wait to be passed on, sorted by start. The rest of a split comes after I/Os that
/// start later.
struct SpanBatch(Vec<Span>);

impl SpanBatch {
    const LEN: usize = 4096;
    /// Number of spans that are held back, so that late ones can still be sorted in.
    const HELD_BACK: usize = 1024;

    #[inline]
    fn push(&mut self, span: &Span) {
        self.0.push(*span);
        let mut at = self.0.len() - 1;
        let start = span.first_ns();
        while at > 0 && self.0[at - 1].first_ns() > start {
            self.0.swap(at - 1, at);
            at -= 1;
        }
    }
}

/// Reads all events and passes the I/Os on, some thousands at a time, in the order of queueing.
/// `limit` is as for [`Matcher::with_limit`].
pub fn match_events<S: EventSource, E: From<S::Error>>(
    mut merge: S,
    limit: usize,
    mut out: impl FnMut(&[Span], &Notes) -> Result<(), E>,
) -> Result<MatchSummary, E> {
    let mut matcher = Matcher::with_limit(limit);
    let full = SpanBatch::LEN + SpanBatch::HELD_BACK;
    let mut batch = SpanBatch(Vec::with_capacity(full + 1));
    let mut time_range: Option<(u64, u64)> = None;
    while let Some(event) = merge.next_event()? {
        let first_ns = time_range.map_or(event.time, |(first, _)| first);
        time_range = Some((first_ns, event.time));
        matcher.handle_event(&event, merge.context().gaps_passed, &mut |span| {
            batch.push(span)
        });
        if batch.0.len() >= full {
            let ready = batch.0.len() - SpanBatch::HELD_BACK;
            out(&batch.0[..ready], &merge.context().notes)?;
            batch.0.drain(..ready);
        }
    }
    let counts = matcher.finish(&mut |span| batch.push(span));
    for spans in batch.0.chunks(SpanBatch::LEN) {
        out(spans, &merge.context().notes)?;
    }
    let (first_ns, last_ns) = time_range.unwrap_or_default();
    Ok(MatchSummary {
        counts,
        losses: merge.context().losses.clone(),
        notes: merge.context().notes.clone(),
        first_ns,
        last_ns,
    })
}
