//! Merges several recordings by time into one trace.
//!
//! Each recording is imported by its own thread, which hands its records on in small batches; the
//! records of one recording are sorted already. All times must be of one clock: Unix time, or a
//! clock that all recordings describe by the same words. Times are then taken as they are. Lanes
//! are kept apart, and so are devices that a source only numbers itself. Memory: what one import
//! needs (some 20 MB), for each recording.

mod feed;
mod renumbering;

use super::error::ImportError;
use super::options::ImportOptions;
use super::run::{Origin, RecordSink};
use super::unpack::{is_stdin, source_name};
use crate::span::{NONE, Span};
use feed::RecordingFeed;
use q2c_model::{IoRecord, Nanos, TraceMeta};
use renumbering::Renumbering;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::path::{Path, PathBuf};
use std::thread;

/// Most recordings at once. A merged trace can be merged again.
const MOST: usize = 256;
const BATCH: usize = 2048;
/// Starts that lie further apart, ns, are of two clocks, even if these have the same name.
const TEN_YEARS: u64 = 10 * 365 * 86_400 * 1_000_000_000;

/// Imports recordings, q2c traces among them, and hands their records on in the order of time.
///
/// The id of a record is its id in its own recording times the number of recordings, plus the index
/// of the recording. Returns the description for a trace of all recordings.
pub fn several(
    paths: &[PathBuf],
    format: Option<&str>,
    options: &ImportOptions,
    sink: &mut dyn RecordSink,
) -> Result<TraceMeta, ImportError> {
    let first = paths.first().cloned().unwrap_or_default();
    if paths.is_empty() || paths.len() > MOST {
        return Err(ImportError::Merge {
            path: first,
            expected: format!("1 to {MOST} recordings (merge some first, then the traces)"),
            found: paths.len().to_string(),
        });
    }
    if paths.iter().filter(|path| is_stdin(path)).count() > 1 {
        return Err(ImportError::Merge {
            path: source_name(&first).to_owned(),
            expected: "standard input (-) once".to_owned(),
            found: "it more than once".to_owned(),
        });
    }
    let options = options.for_recordings(paths);
    thread::scope(|scope| {
        let start = |path| RecordingFeed::start(scope, path, format, &options);
        let mut feeds: Vec<RecordingFeed<'_>> =
            paths.iter().map(start).collect::<Result<_, _>>()?;
        let base = base(&mut feeds)?;
        let mut merged = Merged {
            renumbering: Renumbering::new(paths.len() as u64),
            batch: Vec::with_capacity(BATCH),
            sink,
        };
        merged.sink.begin(&base)?;
        merged.merge_feeds(&mut feeds, base.zero_ns)?;
        let ends = feeds.into_iter().map(|feed| {
            let path = feed.path;
            feed.finish().map(|meta| (source_name(path), meta))
        });
        let metas = ends.collect::<Result<Vec<_>, _>>()?;
        Ok(describe(&metas, &base, &merged.renumbering))
    })
}

/// The clock that all recordings have in common, at the earliest of their time zeros.
fn base(feeds: &mut [RecordingFeed<'_>]) -> Result<Origin, ImportError> {
    let mut base: Option<(&Path, Origin)> = None;
    for feed in feeds {
        let path = feed.path;
        let Some(origin) = feed.begin()? else {
            continue;
        };
        let Some((first, so_far)) = &mut base else {
            base = Some((path, origin));
            continue;
        };
        let same = so_far.unix == origin.unix && (origin.unix || so_far.clock == origin.clock);
        if !same {
            let clock_label = |origin: &Origin| {
                if origin.unix {
                    "Unix time".to_owned()
                } else {
                    format!("`{}`", origin.clock)
                }
            };
            return Err(ImportError::Merge {
                path: path.to_owned(),
                expected: format!(
                    "times of one clock: {} in {}",
                    clock_label(so_far),
                    first.display()
                ),
                found: clock_label(&origin),
            });
        }
        let distance_ns = so_far.zero_ns.abs_diff(origin.zero_ns);
        if distance_ns > TEN_YEARS {
            return Err(ImportError::Merge {
                path: path.to_owned(),
                expected: format!(
                    "times within ten years of those in {} (import each alone: one clock may \
                     count from 1970, the other from its own start)",
                    first.display()
                ),
                found: format!("a start {} years away", distance_ns / (TEN_YEARS / 10)),
            });
        }
        so_far.zero_ns = so_far.zero_ns.min(origin.zero_ns);
    }
    Ok(base.map(|(_, origin)| origin).unwrap_or_default())
}

struct Merged<'a> {
    renumbering: Renumbering,
    batch: Vec<IoRecord>,
    sink: &'a mut dyn RecordSink,
}

impl Merged<'_> {
    fn merge_feeds(
        &mut self,
        feeds: &mut [RecordingFeed<'_>],
        base_ns: u64,
    ) -> Result<(), ImportError> {
        let mut next = BinaryHeap::new();
        for (at, feed) in feeds.iter_mut().enumerate() {
            feed.shift = feed.zero_ns - base_ns;
            next.extend(feed.peek()?.map(|start| Reverse((start, at))));
        }
        while let Some(Reverse((_, at))) = next.pop() {
            // Up to the next record of another recording the heap is not needed.
            let limit = next.peek().map(|Reverse(other)| *other);
            let feed = &mut feeds[at];
            while let Some(start) = feed.peek()? {
                if limit.is_some_and(|limit| (start, at) > limit) {
                    next.push(Reverse((start, at)));
                    break;
                }
                let Some(mut record) = feed.next() else { break };
                shift(&mut record, Nanos(feed.shift));
                self.renumbering.renumber(&mut record, at, feed)?;
                self.batch.push(record);
                if self.batch.len() == BATCH {
                    self.flush()?;
                }
            }
        }
        self.flush()
    }

    fn flush(&mut self) -> Result<(), ImportError> {
        self.sink.push(&self.batch)?;
        self.batch.clear();
        Ok(())
    }
}

/// The start of a record; `None` for a record without any time, which then follows the one before.
fn start(record: &IoRecord) -> Option<u64> {
    Some(Span::from_record(record).first_ns()).filter(|start| *start != NONE)
}

fn shift(record: &mut IoRecord, by: Nanos) {
    let times = [
        &mut record.queue_ns,
        &mut record.getrq_ns,
        &mut record.insert_ns,
        &mut record.issue_ns,
        &mut record.complete_ns,
        &mut record.submit_ns,
        &mut record.submit_end_ns,
        &mut record.reap_ns,
    ];
    for time in times.into_iter().flatten() {
        time.0 = time.0.saturating_add(by.0);
    }
}

fn describe(metas: &[(&Path, TraceMeta)], base: &Origin, renumbering: &Renumbering) -> TraceMeta {
    let mut merged = TraceMeta {
        start_unix_ns: base.unix.then_some(base.zero_ns),
        ..TraceMeta::default()
    };
    let (mut sources, mut clocks) = (BTreeSet::new(), BTreeSet::new());
    for (at, (path, meta)) in metas.iter().enumerate() {
        merged.lost += meta.lost;
        for (reason, n) in &meta.unmatched {
            *merged.unmatched.entry(reason.clone()).or_default() += n;
        }
        sources.insert(meta.source.as_str());
        clocks.insert(meta.clock.as_str());
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        merged
            .facts
            .insert(format!("input.{at}"), name.into_owned());
        let facts = meta.facts.iter().filter(|(key, _)| *key != "imported_from");
        let facts = facts.map(|(key, value)| (format!("input.{at}.{key}"), value.clone()));
        merged.facts.extend(facts);
    }
    merged.source = joined(&sources);
    merged.clock = joined(&clocks);
    let zero = base.zero_ns.to_string();
    merged
        .facts
        .insert("source_time_of_zero_ns".to_owned(), zero);
    merged.facts.extend(devices(renumbering, metas));
    merged
}

fn joined(names: &BTreeSet<&str>) -> String {
    names.iter().copied().collect::<Vec<_>>().join(" and ")
}

fn devices(renumbering: &Renumbering, metas: &[(&Path, TraceMeta)]) -> BTreeMap<String, String> {
    let name = |(at, was): &(usize, q2c_model::DevId)| {
        let (path, meta) = &metas[*at];
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        let facts = &meta.facts;
        if let Some(name) = facts.get(&format!("device.{was}")) {
            return format!("{name} ({file})");
        }
        let host = facts.get(&format!("device.major.{}", was.major));
        let host = host.map_or(String::new(), |host| format!(", {host}"));
        format!("{was} of {file}{host}")
    };
    renumbering
        .devices()
        .map(|(now, was)| (format!("device.{now}"), name(was)))
        .collect()
}
