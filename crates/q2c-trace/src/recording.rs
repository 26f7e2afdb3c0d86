//! Arranges a recording as a trace.
//!
//! A probe or a program reports I/Os in the order of completion. Here they are sorted by start in
//! bounded memory and numbered. Merged I/Os get the id of the I/O that carried them.

use crate::import::{Depths, RecordBuffer, RecordSink};
use crate::sorter::{Sorter, SorterRow};
use crate::span::{NONE, Span};
use q2c_model::{Bytes, Exit, Fault, Nanos};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

/// A finished I/O, as a probe or a program reports it. [`RecordingSorter::finish`] sets the span's
/// id, lane, depth and `merged_into`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedIo {
    /// The I/O's times (on one clock) and properties.
    pub span: Span,
    /// Identifies the I/O while it is in flight; later I/Os may reuse the key.
    pub key: u64,
    /// Key of the I/O whose request carried this one; 0 if it had its own request. The carrier is
    /// queued at the same time or earlier.
    pub lead: u64,
    /// True if other I/Os were merged into its request.
    pub carries: bool,
    /// Id of the thread that queued the I/O.
    pub tid: u32,
    /// Name of the process, padded with zeros.
    pub comm: [u8; 16],
}

/// Sorts the I/Os of a recording: takes them with [`RecordingSorter::push`] and passes them on as
/// records with [`RecordingSorter::finish`].
pub struct RecordingSorter {
    sorter: Sorter<RecordedIo>,
    folder: PathBuf,
    ios: u64,
}

impl RecordingSorter {
    /// Makes a sorter that holds about `memory` bytes. I/Os beyond them go to an unnamed file in
    /// `folder`.
    pub fn new(memory: Bytes, folder: &Path) -> Self {
        // Memory per row: the row, and half a row more for sorting.
        const ROW_BYTES: u64 = size_of::<[RecordedIo; 3]>() as u64 / 2;
        const MIN_ROWS: u64 = 1 << 12;
        const MAX_ROWS: u64 = 1 << 30;
        // The bounds keep the number within a usize.
        let rows = (memory.0 / ROW_BYTES).clamp(MIN_ROWS, MAX_ROWS) as usize;
        RecordingSorter {
            sorter: Sorter::new(folder, rows),
            folder: folder.to_owned(),
            ios: 0,
        }
    }

    /// Number of I/Os taken so far.
    pub fn ios(&self) -> u64 {
        self.ios
    }

    /// Takes an I/O.
    pub fn push(&mut self, io: RecordedIo) -> Result<(), Fault> {
        self.ios += 1;
        let pushed = self.sorter.push(io);
        pushed.map_err(|source| spill_fault(&self.folder, source))
    }

    /// Passes all I/Os to `sink` as records, sorted by start, with times relative to the first
    /// start. Returns that start in ns; `None` without any I/O.
    pub fn finish(self, sink: &mut dyn RecordSink) -> Result<Option<u64>, Fault> {
        let RecordingSorter { sorter, folder, .. } = self;
        let to_fault = |source| spill_fault(&folder, source);
        let mut output = RecordingOutput::default();
        sorter.finish(to_fault, |io| output.push(&io, sink))?;
        output.batch.flush(sink)?;
        Ok(output.origin)
    }
}

fn spill_fault(folder: &Path, source: io::Error) -> Fault {
    let folder = folder.display();
    let text =
        format!("keep the recording in {folder}: {source}; name another folder with --spill");
    Fault::new(Exit::from_spill_error(&source), text).with_source(source)
}

#[derive(Default)]
struct RecordingOutput {
    batch: RecordBuffer,
    origin: Option<u64>,
    next_id: u64,
    lane_of_thread: HashMap<u32, u32>,
    depths: Depths,
    /// Id and end (ns) of each I/O that carries others, by key.
    carriers: HashMap<u64, (u64, u64)>,
}

impl RecordingOutput {
    /// Size of `carriers` at which I/Os that have ended are removed.
    const MAX_CARRIERS: usize = 1 << 16;

    fn push(&mut self, io: &RecordedIo, sink: &mut dyn RecordSink) -> Result<(), Fault> {
        let mut span = io.span;
        let start = span.first_ns();
        let origin = *self.origin.get_or_insert(start);
        span.id = self.next_id;
        self.next_id += 1;
        // There are no more threads than 2^32, so the number fits.
        let new_lane = self.lane_of_thread.len() as u32;
        span.lane = *self.lane_of_thread.entry(io.tid).or_insert(new_lane);
        let end = (span.end_ns != NONE).then_some(Nanos(span.end_ns));
        let depth = self.depths.submit(span.lane, Nanos(start), end);
        span.depth_at_submit = depth.map_err(|_| {
            Fault::environment("arrange the recording: expected at most 1048576 I/Os of a thread in flight, found more")
        })?;
        if io.carries {
            if self.carriers.len() >= Self::MAX_CARRIERS {
                self.carriers.retain(|_, (_, end)| *end >= start);
            }
            self.carriers.insert(io.key, (span.id, span.end_ns));
        }
        span.merged_into = match io.lead {
            0 => NONE,
            lead => self.carriers.get(&lead).map_or(NONE, |(id, _)| *id),
        };
        let record = span.record(origin, io.name());
        Ok(self.batch.push(record, sink)?)
    }
}

impl RecordedIo {
    /// The name of the process up to its first zero byte; `None` if it is empty. Bytes that are not
    /// UTF-8 are replaced.
    pub fn name(&self) -> Option<String> {
        let end = self.comm.iter().position(|byte| *byte == 0).unwrap_or(16);
        (end > 0).then(|| String::from_utf8_lossy(&self.comm[..end]).into_owned())
    }
}

impl SorterRow for RecordedIo {
    /// Start; true if another I/O carried this one; key. Of two I/Os with equal starts, the carried
    /// one comes later, because its carrier must be known first.
    type Key = (u64, bool, u64);

    fn key(&self) -> (u64, bool, u64) {
        (self.span.first_ns(), self.lead != 0, self.key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_model::{DevId, IoRecord, Layer, Op, OpFlags, Sectors};

    /// An I/O with this key, queued and complete at these times.
    fn io(key: u64, begin_ns: u64, end_ns: u64, tid: u32) -> RecordedIo {
        let (device, sector) = (DevId { major: 8, minor: 3 }, Sectors(8 * key));
        let op = IoRecord::new(0, Layer::Block, device, Op::Write, sector, Bytes(512));
        let span = Span {
            begin_ns,
            end_ns,
            pid: 7,
            flags: OpFlags::FUA,
            error: -5,
            ..Span::from_record(&op)
        };
        RecordedIo {
            span,
            key,
            lead: 0,
            carries: false,
            tid,
            comm: *b"db\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
        }
    }

    /// The I/Os complete in another order than they were queued. In the order of queueing, the
    /// fourth reuses the key of the first, and each of the two carries one I/O.
    #[test]
    fn sorted_numbered_and_joined() {
        let carrying = |io| RecordedIo {
            carries: true,
            ..io
        };
        let carried = |io, lead| RecordedIo { lead, ..io };
        let completed = [
            carried(io(2, 130, 200, 11), 1),
            carrying(io(1, 100, 200, 10)),
            io(3, 140, 150, 10),
            carried(io(6, 310, 400, 10), 1),
            carrying(io(1, 300, 400, 10)),
            carried(io(8, 500, 600, 10), 99),
        ];
        for run_rows in [2, 100] {
            let folder = std::env::temp_dir();
            let sorter = Sorter::new(&folder, run_rows);
            let mut recording = RecordingSorter {
                sorter,
                folder,
                ios: 0,
            };
            completed.iter().for_each(|io| recording.push(*io).unwrap());
            assert_eq!(recording.ios(), 6);
            let mut records: Vec<IoRecord> = Vec::new();
            assert_eq!(recording.finish(&mut records).unwrap(), Some(100));
            let rows = records.iter().map(|r| {
                let queued = r.queue_ns.unwrap().0;
                (r.id, queued, r.merged_into, r.lane, r.depth_at_submit)
            });
            let expected = [
                (0, 0, None, 0, 1),
                (1, 30, Some(0), 1, 1),
                (2, 40, None, 0, 2),
                (3, 200, None, 0, 1),
                (4, 210, Some(3), 0, 2),
                (5, 400, None, 0, 1),
            ];
            assert_eq!(rows.collect::<Vec<_>>(), expected);
            assert_eq!(records[0].comm.as_deref(), Some("db"));
            assert_eq!((records[0].error, records[0].pid), (Some(-5), Some(7)));
        }
    }

    #[test]
    fn nothing_is_nothing() {
        let mut records: Vec<IoRecord> = Vec::new();
        let recording = RecordingSorter::new(Bytes(0), Path::new("/nowhere"));
        assert_eq!(recording.finish(&mut records).unwrap(), None);
        assert!(records.is_empty());
    }
}
