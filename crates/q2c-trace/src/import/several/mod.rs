//! Merges several recordings by time into one trace.
//!
//! Each recording is imported by its own thread, which passes on small batches of its records,
//! sorted already. All times must be of one clock: Unix time, or a clock that all recordings
//! describe by the same words. Times are then used unchanged. Lanes of different recordings stay
//! distinct, and so do devices that only the importer numbered. Memory: that of one import (some 20
//! MB) for each recording.

mod feed;

use super::error::misused;
use super::run::RecordBuffer;
use super::unpack::{is_stdin, source_name};
use super::{ImportError, ImportOptions, Origin, RecordSink, fact};
use crate::span::{NONE, Span};
use feed::RecordingFeed;
use q2c_model::{DevId, IoRecord, Nanos, TraceMeta};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap};
use std::path::{Path, PathBuf};
use std::thread;

/// Most recordings in one merge, each with its own thread. A merged trace can be merged again.
const MOST: usize = 256;
/// New device numbers, by (index of the recording, number in the recording).
type NewDevices = BTreeMap<(usize, DevId), DevId>;

/// Starts that are further apart than this, ns, are of different clocks, even of one name.
const TEN_YEARS: u64 = 10 * 365 * 86_400 * 1_000_000_000;

/// Imports recordings, including q2c traces, and passes their records on in the order of time.
///
/// The new id of a record is its id in the recording times the number of recordings, plus the
/// recording's index. Returns the description for a trace of all recordings.
pub fn several(
    paths: &[PathBuf],
    format: Option<&str>,
    options: &ImportOptions,
    sink: &mut dyn RecordSink,
) -> Result<TraceMeta, ImportError> {
    let first = paths.first().cloned().unwrap_or_default();
    if paths.is_empty() || paths.len() > MOST {
        let expected = format!("1 to {MOST} recordings (merge some first, then the traces)");
        return Err(not_merged(&first, &expected, &paths.len().to_string()));
    }
    if paths.iter().filter(|path| is_stdin(path)).count() > 1 {
        let first = source_name(&first);
        return Err(not_merged(
            first,
            "standard input (-) once",
            "it more than once",
        ));
    }
    let options = options.for_recordings(paths);
    thread::scope(|scope| {
        let start = |path| RecordingFeed::start(scope, path, format, &options);
        let mut feeds: Vec<RecordingFeed<'_>> =
            paths.iter().map(start).collect::<Result<_, _>>()?;
        let base = base(&mut feeds)?;
        let mut merged = Merged {
            recordings: paths.len() as u64,
            lanes: HashMap::new(),
            devices: BTreeMap::new(),
            batch: RecordBuffer::default(),
            sink,
        };
        merged.sink.begin(&base)?;
        merged.merge_feeds(&mut feeds, base.zero_ns)?;
        let ends = feeds.into_iter().map(|feed| {
            let path = feed.path;
            feed.finish().map(|meta| (source_name(path), meta))
        });
        let metas = ends.collect::<Result<Vec<_>, _>>()?;
        Ok(describe(&metas, &base, &merged.devices))
    })
}

fn not_merged(path: &Path, expected: &str, found: &str) -> ImportError {
    let path = path.display();
    let message = format!("merge {path}: expected {expected}, found {found}");
    misused(message)
}

/// The clock that all recordings share, with the earliest of their time zeros.
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
            let (clock, first) = (clock_label(so_far), first.display());
            let expected = format!("times of one clock: {clock} in {first}");
            return Err(not_merged(path, &expected, &clock_label(&origin)));
        }
        let distance_ns = so_far.zero_ns.abs_diff(origin.zero_ns);
        if distance_ns > TEN_YEARS {
            let expected = format!(
                "times within ten years of those in {} (import each alone: one clock may \
                 count from 1970, the other from its own start)",
                first.display()
            );
            let years = distance_ns / (TEN_YEARS / 10);
            return Err(not_merged(
                path,
                &expected,
                &format!("a start {years} years away"),
            ));
        }
        so_far.zero_ns = so_far.zero_ns.min(origin.zero_ns);
    }
    Ok(base.map(|(_, origin)| origin).unwrap_or_default())
}

/// Maps ids, lanes and devices to new numbers. A single recording keeps its numbers.
struct Merged<'a> {
    recordings: u64,
    lanes: HashMap<(usize, u32), u32>,
    devices: NewDevices,
    batch: RecordBuffer,
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
            // The heap is needed only when the next record of another recording comes.
            let limit = next.peek().map(|Reverse(other)| *other);
            let feed = &mut feeds[at];
            while let Some(start) = feed.peek()? {
                if limit.is_some_and(|limit| (start, at) > limit) {
                    next.push(Reverse((start, at)));
                    break;
                }
                let Some(mut record) = feed.next() else { break };
                shift(&mut record, Nanos(feed.shift));
                self.renumber(&mut record, at, feed)?;
                self.batch.push(record, self.sink)?;
            }
        }
        Ok(self.batch.flush(self.sink)?)
    }

    fn renumber(
        &mut self,
        record: &mut IoRecord,
        at: usize,
        feed: &RecordingFeed<'_>,
    ) -> Result<(), ImportError> {
        if self.recordings == 1 {
            return Ok(());
        }
        let number = |id: u64| id.checked_mul(self.recordings)?.checked_add(at as u64);
        let id = number(record.id);
        record.id = id.ok_or_else(|| {
            let expected = format!("ids below 2^64 / {}", self.recordings);
            not_merged(feed.path, &expected, &record.id.to_string())
        })?;
        record.merged_into = record.merged_into.and_then(number);
        let lane = self.lanes.len();
        // The number fits, because each importer limits its own lanes.
        record.lane = *self.lanes.entry((at, record.lane)).or_insert(lane as u32);
        if feed.numbers_devices || record.device == DevId::default() {
            let (major, minor) = (0, self.devices.len() as u32 + 1);
            let device = self.devices.entry((at, record.device));
            record.device = *device.or_insert(DevId { major, minor });
        }
        Ok(())
    }
}

/// The start of a record, ns; `None` without any time: it then follows the record before.
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

fn describe(metas: &[(&Path, TraceMeta)], base: &Origin, devices: &NewDevices) -> TraceMeta {
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
        let name = path.file_name().unwrap_or_default().display();
        merged.facts.extend([fact(&format!("input.{at}"), name)]);
        let facts = meta.facts.iter().filter(|(key, _)| *key != "imported_from");
        let facts = facts.map(|(key, value)| (format!("input.{at}.{key}"), value.clone()));
        merged.facts.extend(facts);
    }
    merged.source = joined(&sources);
    merged.clock = joined(&clocks);
    let zero = fact("source_time_of_zero_ns", base.zero_ns);
    merged.facts.extend([zero]);
    merged.facts.extend(device_facts(devices, metas));
    merged
}

fn joined(names: &BTreeSet<&str>) -> String {
    names.iter().copied().collect::<Vec<_>>().join(" and ")
}

/// The facts with the names of the devices that got a new number.
fn device_facts(
    devices: &NewDevices,
    metas: &[(&Path, TraceMeta)],
) -> impl Iterator<Item = (String, String)> {
    let name = |(at, was): &(usize, DevId)| {
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
    devices
        .iter()
        .map(move |(was, now)| (format!("device.{now}"), name(was)))
}
