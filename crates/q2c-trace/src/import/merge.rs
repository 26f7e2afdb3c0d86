//! Merges several recordings by time into one trace.
//!
//! Each recording is imported by its own thread, which passes on small batches of its records,
//! sorted already. All times must be of one clock: Unix time, or a clock that all recordings
//! describe by the same words. Times are then used unchanged. Lanes of different recordings stay
//! distinct, and so do devices that only the importer numbered. Memory: that of one import (some 20
//! MB) for each recording.

use super::error::usage_error;
use super::run::{RecordBuffer, no_thread};
use super::unpack::{is_stdin, source_name};
use super::{ImportError, ImportOptions, Input, Origin, RecordSink, fact};
use crate::span::{NONE, Span};
use crate::{Scan, TraceError};
use q2c_model::{DevId, IoRecord, TraceMeta};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, Builder, Scope, ScopedJoinHandle};

/// Most recordings in one merge, each with its own thread. A merged trace can be merged again.
const MAX_RECORDINGS: usize = 256;
/// New device numbers, by (index of the recording, number in the recording).
type NewDevices = BTreeMap<(usize, DevId), DevId>;

/// Starts that are further apart than this are of different clocks, even of one name.
const TEN_YEARS_NS: u64 = 10 * 365 * 86_400 * 1_000_000_000;

/// Imports recordings, including q2c traces, and passes their records on in the order of time.
///
/// The new id of a record is its id in the recording times the number of recordings, plus the
/// recording's index. Returns the description for a trace of all recordings.
pub fn merge_recordings(
    paths: &[PathBuf],
    format: Option<&str>,
    options: &ImportOptions,
    sink: &mut dyn RecordSink,
) -> Result<TraceMeta, ImportError> {
    let first = paths.first().cloned().unwrap_or_default();
    if paths.is_empty() || paths.len() > MAX_RECORDINGS {
        let expected =
            format!("1 to {MAX_RECORDINGS} recordings (merge some first, then the traces)");
        return Err(merge_error(&first, &expected, &paths.len().to_string()));
    }
    if paths.iter().filter(|path| is_stdin(path)).count() > 1 {
        let first = source_name(&first);
        let expected = "standard input (-) once";
        return Err(merge_error(first, expected, "it more than once"));
    }
    let options = options.for_recordings(paths);
    thread::scope(|scope| {
        let start = |path| RecordingFeed::start(scope, path, format, &options);
        let mut feeds: Vec<RecordingFeed<'_>> =
            paths.iter().map(start).collect::<Result<_, _>>()?;
        let base = shared_origin(&mut feeds)?;
        let mut merge = RecordingMerge {
            recordings: paths.len() as u64,
            ..RecordingMerge::default()
        };
        sink.begin(&base)?;
        for feed in &mut feeds {
            feed.shift = feed.zero_ns - base.zero_ns;
        }
        merge.merge_feeds(&mut feeds, sink)?;
        let finished = feeds.into_iter().map(|feed| {
            let path = feed.path;
            feed.finish().map(|meta| (source_name(path), meta))
        });
        let metas = finished.collect::<Result<Vec<_>, _>>()?;
        Ok(describe(&metas, &base, &merge.devices))
    })
}

fn merge_error(path: &Path, expected: &str, found: &str) -> ImportError {
    let path = path.display();
    let message = format!("merge {path}: expected {expected}, found {found}");
    usage_error(message)
}

/// The clock that all recordings share, with the earliest of their time zeros.
fn shared_origin(feeds: &mut [RecordingFeed<'_>]) -> Result<Origin, ImportError> {
    let mut base: Option<(&Path, Origin)> = None;
    for feed in feeds {
        let path = feed.path;
        let Some(origin) = feed.begin()? else {
            continue;
        };
        let Some((first, shared)) = &mut base else {
            base = Some((path, origin));
            continue;
        };
        if shared.unix != origin.unix || !origin.unix && shared.clock != origin.clock {
            let clock_label = |origin: &Origin| {
                let name = format!("`{}`", origin.clock);
                let unix = origin.unix.then(|| "Unix time".to_owned());
                unix.unwrap_or(name)
            };
            let (clock, first) = (clock_label(shared), first.display());
            let expected = format!("times of one clock: {clock} in {first}");
            return Err(merge_error(path, &expected, &clock_label(&origin)));
        }
        let distance_ns = shared.zero_ns.abs_diff(origin.zero_ns);
        if distance_ns > TEN_YEARS_NS {
            let expected = format!(
                "times within ten years of those in {} (import each alone: one clock may \
                 count from 1970, the other from its own start)",
                first.display()
            );
            let start = format!("a start {} years away", distance_ns / (TEN_YEARS_NS / 10));
            return Err(merge_error(path, &expected, &start));
        }
        shared.zero_ns = shared.zero_ns.min(origin.zero_ns);
    }
    Ok(base.map(|(_, origin)| origin).unwrap_or_default())
}

/// Maps ids, lanes and devices to new numbers. A single recording keeps its numbers.
#[derive(Default)]
struct RecordingMerge {
    recordings: u64,
    lanes: HashMap<(usize, u32), u32>,
    devices: NewDevices,
    batch: RecordBuffer,
}

impl RecordingMerge {
    fn merge_feeds(
        &mut self,
        feeds: &mut [RecordingFeed<'_>],
        sink: &mut dyn RecordSink,
    ) -> Result<(), ImportError> {
        let mut heads = BinaryHeap::new();
        for (index, feed) in feeds.iter_mut().enumerate() {
            heads.extend(feed.peek()?.map(|start| Reverse((start, index))));
        }
        while let Some(Reverse((_, index))) = heads.pop() {
            // The heap is needed only when the next record of another recording comes.
            let limit = heads.peek().map(|Reverse(other)| *other);
            let feed = &mut feeds[index];
            while let Some(start) = feed.peek()? {
                if limit.is_some_and(|limit| (start, index) > limit) {
                    heads.push(Reverse((start, index)));
                    break;
                }
                let Some(mut record) = feed.next() else { break };
                shift_times(&mut record, feed.shift);
                let renumbered = self.renumber(&mut record, index, feed.numbers_devices);
                renumbered.map_err(|id| {
                    let expected = format!("ids below 2^64 / {}", self.recordings);
                    merge_error(feed.path, &expected, &id.to_string())
                })?;
                self.batch.push(record, sink)?;
            }
        }
        Ok(self.batch.flush(sink)?)
    }

    /// Renumbers a record of recording `index`; `numbered` is true if its importer numbers devices.
    /// Fails with the record's id if the new id would be too large.
    fn renumber(&mut self, record: &mut IoRecord, index: usize, numbered: bool) -> Result<(), u64> {
        if self.recordings == 1 {
            return Ok(());
        }
        let number = |id: u64| id.checked_mul(self.recordings)?.checked_add(index as u64);
        record.id = number(record.id).ok_or(record.id)?;
        record.merged_into = record.merged_into.and_then(number);
        // The number fits, because each importer limits its own lanes.
        let new_lane = self.lanes.len() as u32;
        let lane = self.lanes.entry((index, record.lane));
        record.lane = *lane.or_insert(new_lane);
        if numbered || record.device == DevId::default() {
            let (major, minor) = (0, self.devices.len() as u32 + 1);
            let device = self.devices.entry((index, record.device));
            record.device = *device.or_insert(DevId { major, minor });
        }
        Ok(())
    }
}

/// The start of a record, ns; `None` without any time: the record then follows the last one.
fn first_time(record: &IoRecord) -> Option<u64> {
    Some(Span::from_record(record).first_ns()).filter(|start| *start != NONE)
}

fn shift_times(record: &mut IoRecord, by_ns: u64) {
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
        time.0 = time.0.saturating_add(by_ns);
    }
}

fn describe(metas: &[(&Path, TraceMeta)], base: &Origin, devices: &NewDevices) -> TraceMeta {
    let mut merged = TraceMeta {
        start_unix_ns: base.unix.then_some(base.zero_ns),
        ..TraceMeta::default()
    };
    let (mut sources, mut clocks) = (BTreeSet::new(), BTreeSet::new());
    for (index, (path, meta)) in metas.iter().enumerate() {
        merged.lost += meta.lost;
        for (reason, n) in &meta.unmatched {
            *merged.unmatched.entry(reason.clone()).or_default() += n;
        }
        sources.insert(meta.source.as_str());
        clocks.insert(meta.clock.as_str());
        let name = path.file_name().unwrap_or_default().display();
        merged.facts.extend([fact(&format!("input.{index}"), name)]);
        let facts = meta.facts.iter().filter(|(key, _)| *key != "imported_from");
        let facts = facts.map(|(key, value)| (format!("input.{index}.{key}"), value.clone()));
        merged.facts.extend(facts);
    }
    merged.source = join_names(&sources);
    merged.clock = join_names(&clocks);
    let zero = fact("source_time_of_zero_ns", base.zero_ns);
    merged.facts.extend([zero]);
    let name = |(index, old): &(usize, DevId)| {
        let (path, meta) = &metas[*index];
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        if let Some(name) = meta.facts.get(&format!("device.{old}")) {
            return format!("{name} ({file})");
        }
        let host = meta.facts.get(&format!("device.major.{}", old.major));
        let host = host.map_or(String::new(), |host| format!(", {host}"));
        format!("{old} of {file}{host}")
    };
    for (old, new) in devices {
        merged.facts.insert(format!("device.{new}"), name(old));
    }
    merged
}

fn join_names(names: &BTreeSet<&str>) -> String {
    names.iter().copied().collect::<Vec<_>>().join(" and ")
}

/// Most batches by which a reading thread may be ahead of the merge.
const MAX_BATCHES_AHEAD: usize = 2;

/// A message from a reading thread to the merge.
enum FeedMessage {
    /// Time zero; true if the importer numbers the devices.
    Begin(Origin, bool),
    Records(Vec<IoRecord>),
}

/// The merging side of a recording: call `begin` first, `peek` and `next` in turns, then `finish`.
struct RecordingFeed<'scope> {
    path: &'scope Path,
    thread: Option<ScopedJoinHandle<'scope, Result<TraceMeta, ImportError>>>,
    messages: Receiver<FeedMessage>,
    records: std::vec::IntoIter<IoRecord>,
    next: Option<IoRecord>,
    /// Start of the last record, on the merged trace's clock, ns.
    last_start: u64,
    /// Time zero of the recording on its clock, ns.
    zero_ns: u64,
    /// Added to all times of the recording, ns.
    shift: u64,
    /// True if the importer numbers devices by their appearance. Equal numbers in two recordings
    /// then mean different devices.
    numbers_devices: bool,
    meta: Option<TraceMeta>,
}

impl<'scope> RecordingFeed<'scope> {
    fn start<'env>(
        scope: &'scope Scope<'scope, 'env>,
        path: &'env PathBuf,
        format: Option<&'env str>,
        options: &'env ImportOptions,
    ) -> Result<Self, ImportError>
    where
        'env: 'scope,
    {
        let (sender, messages) = sync_channel(MAX_BATCHES_AHEAD);
        let body = move || {
            let mut feed_sender = FeedSender {
                sender,
                numbers_devices: false,
            };
            let input = Input::with_options(path, format, options)?;
            let scan = Scan::new().batch_rows(RecordBuffer::LEN);
            input.read(path, options, &scan, &mut feed_sender)
        };
        let thread = Builder::new().spawn_scoped(scope, body);
        let thread = thread.map_err(no_thread(path))?;
        Ok(RecordingFeed {
            path,
            thread: Some(thread),
            messages,
            records: Vec::new().into_iter(),
            next: None,
            last_start: 0,
            zero_ns: 0,
            shift: 0,
            numbers_devices: false,
            meta: None,
        })
    }

    /// Waits for the recording's time zero; `None` if the recording is empty.
    fn begin(&mut self) -> Result<Option<Origin>, ImportError> {
        match self.messages.recv() {
            Ok(FeedMessage::Begin(origin, numbers_devices)) => {
                (self.zero_ns, self.numbers_devices) = (origin.zero_ns, numbers_devices);
                Ok(Some(origin))
            }
            Ok(FeedMessage::Records(_)) | Err(_) => self.join_thread().map(|()| None),
        }
    }

    /// The start of the next record on the merged trace's clock, ns; `None` at the end.
    fn peek(&mut self) -> Result<Option<u64>, ImportError> {
        while self.next.is_none() {
            self.next = self.records.next();
            if self.next.is_some() || self.meta.is_some() {
                break;
            }
            match self.messages.recv() {
                Ok(FeedMessage::Records(records)) => self.records = records.into_iter(),
                Ok(FeedMessage::Begin(..)) => {}
                Err(_) => self.join_thread()?,
            }
        }
        Ok(self.next.as_ref().map(|record| self.start_of(record)))
    }

    /// The start, raised to the last one, so that a recording out of order does not delay others.
    fn start_of(&self, record: &IoRecord) -> u64 {
        let start = first_time(record).map_or(0, |start| start.saturating_add(self.shift));
        start.max(self.last_start)
    }

    fn next(&mut self) -> Option<IoRecord> {
        let record = self.next.take()?;
        self.last_start = self.start_of(&record);
        Some(record)
    }

    fn join_thread(&mut self) -> Result<(), ImportError> {
        if let Some(thread) = self.thread.take() {
            let meta = thread.join();
            self.meta = Some(meta.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
        }
        Ok(())
    }

    fn finish(mut self) -> Result<TraceMeta, ImportError> {
        self.join_thread()?;
        Ok(self.meta.unwrap_or_default())
    }
}

/// The reading side of a recording, in its own thread.
struct FeedSender {
    sender: SyncSender<FeedMessage>,
    numbers_devices: bool,
}

impl FeedSender {
    fn send(&self, message: FeedMessage) -> Result<(), TraceError> {
        // Nobody receives after an error elsewhere, and that error is the one to report.
        let sent = self.sender.send(message);
        sent.map_err(|_| {
            TraceError::io("merge into", Path::new("the trace"))(io::Error::other("stopped"))
        })
    }
}

impl RecordSink for FeedSender {
    fn number_devices(&mut self) {
        self.numbers_devices = true;
    }

    fn begin(&mut self, origin: &Origin) -> Result<(), TraceError> {
        self.send(FeedMessage::Begin(origin.clone(), self.numbers_devices))
    }

    fn push(&mut self, records: &[IoRecord]) -> Result<(), TraceError> {
        self.take(&mut records.to_vec())
    }

    fn take(&mut self, records: &mut Vec<IoRecord>) -> Result<(), TraceError> {
        let empty = Vec::with_capacity(records.len());
        self.send(FeedMessage::Records(std::mem::replace(records, empty)))
    }
}
