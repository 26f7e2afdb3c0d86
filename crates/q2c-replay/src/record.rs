//! Records what a replay did, as a trace.

use crate::{ReplayError, ReplayFacts, TargetIo};
use q2c_engine::engine::Operation;
use q2c_model::{Bytes, DevId, IoRecord, Layer, Op, OpFlags, Sectors};
use q2c_sys::clock::thread_cpu_ns;
use q2c_trace::Span;
use q2c_trace::import::RecordSink;
use q2c_trace::recording::{RecordedIo, RecordingSorter};
use q2c_trace::span::NONE;
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Number of rows in a group, which a submitting thread sends at once.
const GROUP_ROWS: usize = 4096;
/// Most groups of rows that may wait. Further rows are lost and counted, so that no thread waits.
const MAX_QUEUED_GROUPS: usize = 256;

/// One completed request. Times are from the replay's start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReplayRow {
    pub io: TargetIo,
    /// Begin and end of the submission.
    pub submit_ns: u64,
    pub submit_end_ns: u64,
    pub reap_ns: u64,
    /// Bytes moved, or a negative errno.
    pub result: i32,
}

pub(crate) struct RowSender {
    to: SyncSender<Vec<ReplayRow>>,
    rows: Vec<ReplayRow>,
    /// True in simulated time, which stands still while the thread waits for the recorder.
    waits: bool,
    pub lost: u64,
}

impl RowSender {
    #[inline]
    pub(crate) fn push(&mut self, row: ReplayRow) {
        self.rows.push(row);
        if self.rows.len() == GROUP_ROWS {
            self.flush();
        }
    }

    pub(crate) fn flush(&mut self) {
        let rows = std::mem::replace(&mut self.rows, Vec::with_capacity(GROUP_ROWS));
        let count = rows.len() as u64;
        let sent = if self.waits {
            self.to.send(rows).is_ok()
        } else {
            self.to.try_send(rows).is_ok()
        };
        if !sent {
            self.lost += count;
        }
    }
}

/// With `waits`, the senders wait for the recorder and lose no row.
pub(crate) fn channel(threads: usize, waits: bool) -> (Vec<RowSender>, Receiver<Vec<ReplayRow>>) {
    let (sender, receiver) = sync_channel(MAX_QUEUED_GROUPS);
    let senders = (0..threads).map(|_| RowSender {
        to: sender.clone(),
        rows: Vec::with_capacity(GROUP_ROWS),
        waits,
        lost: 0,
    });
    (senders.collect(), receiver)
}

/// Writes the rows, sorted by submission, when all senders are dropped. Returns its CPU time, ns.
pub(crate) fn record(
    facts: &ReplayFacts,
    rows: &Receiver<Vec<ReplayRow>>,
    memory: Bytes,
    folder: &Path,
    sink: &mut dyn RecordSink,
) -> Result<u64, ReplayError> {
    let mut recording = RecordingSorter::new(memory, folder);
    for rows in rows {
        for row in &rows {
            recording.push(recorded_row(facts, row))?;
        }
    }
    recording.finish(sink)?;
    Ok(thread_cpu_ns())
}

fn recorded_row(facts: &ReplayFacts, row: &ReplayRow) -> RecordedIo {
    let io = &row.io;
    let (op, flags) = match io.operation {
        Operation::Read => (Op::Read, OpFlags::default()),
        Operation::Write => (Op::Write, OpFlags::default()),
        Operation::Durable => (Op::Write, OpFlags::FUA),
        Operation::Flush => (Op::Flush, OpFlags::default()),
        Operation::Discard => (Op::Discard, OpFlags::default()),
    };
    let device = facts.devices.get(io.device as usize);
    let device = device.map_or(DevId::default(), |device| device.dev);
    let (sector, bytes) = ((io.offset - io.base) / 512, Bytes(io.length.into()));
    let record = IoRecord::new(io.index, Layer::User, device, op, Sectors(sector), bytes);
    let short = row.result >= 0 && row.result != io.length as i32;
    RecordedIo {
        span: Span {
            flags,
            begin_ns: row.submit_ns,
            submit_end_ns: row.submit_end_ns,
            end_ns: row.reap_ns,
            // A short transfer also counts as an I/O error (EIO).
            error: if short { -5 } else { row.result.min(0) },
            merged_into: NONE,
            ..Span::from_record(&record)
        },
        // Requests that were submitted at the same time keep the order of the trace.
        key: io.index,
        // Requests of a replay are not merged.
        lead: 0,
        carries: false,
        tid: io.lane,
        comm: [0; 16],
    }
}
