//! Finds the files of a trace, and turns them into I/Os in one call.

use super::event::BlktraceEvent;
use super::file::EventFile;
use super::loss::BlktraceLosses;
use super::matching::{Matcher, MatcherCounts};
use super::merge::Merge;
use super::notes::Notes;
use crate::CountedFile;
use crate::container::folder;
use crate::import::unreadable;
use crate::span::Span;
use q2c_model::Fault;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// The files of one blktrace trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSet {
    /// The file, or the common start of the files' names (`BASE`).
    pub base: PathBuf,
    /// The file of one CPU, if the user named that for all files.
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
            return FileSet::of_cpus(path).map_err(unreadable(path));
        }
        let whole = FileSet::base_of(path).and_then(|base| FileSet::of_cpus(&base).ok()?);
        let named = Some(path.to_owned());
        Ok(Some(match whole.filter(|whole| whole.paths.len() > 1) {
            Some(whole) => FileSet { named, ..whole },
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
        let message = format!(
            "find the files of blktrace {base}: expected {base}.blktrace.N or a blktrace file of that name, found none"
        );
        Fault::input(message)
    }

    /// `BASE` of `BASE.blktrace.N`, the name of one CPU's file.
    pub(crate) fn base_of(path: &Path) -> Option<PathBuf> {
        let (base, cpu) = path.file_name()?.to_str()?.rsplit_once(".blktrace.")?;
        let is_cpu = !base.is_empty() && cpu.parse::<u32>().is_ok();
        is_cpu.then(|| path.with_file_name(base))
    }

    fn of_cpus(base: &Path) -> io::Result<Option<FileSet>> {
        let mut files = of_cpus(base)?;
        files.sort_unstable();
        let Some((last, _)) = files.last() else {
            return Ok(None);
        };
        // A stray file with a huge number must not make a huge list.
        let end = (*last).min(1 << 16);
        let has = |cpu: &u32| files.binary_search_by_key(cpu, |(n, _)| *n).is_ok();
        let missing = (0..end).filter(|cpu| !has(cpu)).collect();
        let paths = files.into_iter().map(|(_, path)| path).collect();
        Ok(Some(FileSet {
            base: base.to_owned(),
            named: None,
            paths,
            missing,
        }))
    }

    /// Opens all files and merges them by time. `skip_bad` is as for [`EventFile::new`].
    pub fn open(&self, skip_bad: bool) -> Result<Merge<CountedFile>, Fault> {
        /// Most bytes of all buffers together, and of one buffer.
        const BUFFERS: usize = 64 << 20;
        const BUFFER: usize = 1 << 20;
        let buffer = (BUFFERS / self.paths.len().max(1)).min(BUFFER);
        let open = |path: &PathBuf| {
            let file = File::open(path).map_err(unreadable(path))?;
            Ok(EventFile::new(path, CountedFile(file), buffer, skip_bad))
        };
        let files: Vec<_> = self.paths.iter().map(open).collect::<Result<_, Fault>>()?;
        Merge::new(files)
    }
}

/// Returns the files `BASE.blktrace.N` with their CPU numbers N, unordered.
fn of_cpus(base: &Path) -> io::Result<Vec<(u32, PathBuf)>> {
    let Some(name) = base.file_name() else {
        return Ok(Vec::new());
    };
    let prefix = format!("{}.blktrace.", name.to_string_lossy());
    let mut files = Vec::new();
    for entry in fs::read_dir(folder(base))? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        let cpu = name.and_then(|name| name.strip_prefix(&prefix)?.parse().ok());
        files.extend(cpu.map(|cpu| (cpu, path)));
    }
    Ok(files)
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

/// A source of events in the order of time, which also collects notes and losses.
pub trait EventSource {
    /// Error of the source.
    type Error;

    /// The next event; `None` at the end.
    fn next_event(&mut self) -> Result<Option<BlktraceEvent>, Self::Error>;
    /// Notes and losses so far.
    fn met(&self) -> &BesideEvents;
}

/// What a source holds apart from its events.
#[derive(Debug, Default)]
pub struct BesideEvents {
    /// Notes read so far.
    pub notes: Notes,
    /// Losses found so far.
    pub losses: BlktraceLosses,
    /// Gaps before the events handed out so far, as [`Matcher::event`] needs them.
    pub gaps_passed: u64,
}

/// Spans that wait to be passed on, sorted by start. The rest of a split comes after I/Os that
/// start later.
struct SpanBatch(Vec<Span>);

impl SpanBatch {
    const LEN: usize = 4096;
    /// Number of spans that are held back, so that late ones can still be sorted in.
    const KEPT: usize = 1024;

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
    let mut batch = SpanBatch(Vec::with_capacity(SpanBatch::LEN + SpanBatch::KEPT + 1));
    let mut ends: Option<(u64, u64)> = None;
    while let Some(event) = merge.next_event()? {
        ends = Some((ends.map_or(event.time, |(first, _)| first), event.time));
        matcher.event(&event, merge.met().gaps_passed, &mut |span| {
            batch.push(span)
        });
        if batch.0.len() >= SpanBatch::LEN + SpanBatch::KEPT {
            let some = batch.0.len() - SpanBatch::KEPT;
            out(&batch.0[..some], &merge.met().notes)?;
            batch.0.drain(..some);
        }
    }
    let counts = matcher.finish(&mut |span| batch.push(span));
    for some in batch.0.chunks(SpanBatch::LEN) {
        out(some, &merge.met().notes)?;
    }
    let (first_ns, last_ns) = ends.unwrap_or_default();
    Ok(MatchSummary {
        counts,
        losses: merge.met().losses.clone(),
        notes: merge.met().notes.clone(),
        first_ns,
        last_ns,
    })
}
