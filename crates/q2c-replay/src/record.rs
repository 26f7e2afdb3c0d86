//! What was done, as a trace again.

use crate::error::ReplayError;
use crate::facts::Facts;
use q2c_engine::engine::Act;
use q2c_model::{Bytes, DevId, IoRecord, Layer, Op, OpFlags, Sectors};
use q2c_sys::clock::thread_cpu_ns;
use q2c_trace::Span;
use q2c_trace::import::RecordSink;
use q2c_trace::recording::{Recorded, Recording};
use q2c_trace::span::NONE;
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

/// Rows that travel together.
const SOME: usize = 4096;
/// Such groups under way at most: beyond them rows are lost and counted, for a submitting thread does not wait.
const AHEAD: usize = 256;

/// One request that is over; times from the replay's start.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    pub index: u64,
    pub submit: u64,
    pub submit_end: u64,
    pub reap: u64,
    pub offset: u64,
    pub length: u32,
    pub act: Act,
    pub device: u32,
    pub lane: u32,
    pub result: i32,
}

/// A submitting thread's way to the recorder.
pub struct Rows {
    to: SyncSender<Vec<Row>>,
    some: Vec<Row>,
    /// Rows that found no room.
    pub lost: u64,
}

impl Rows {
    #[inline]
    pub(crate) fn push(&mut self, row: Row) {
        self.some.push(row);
        if self.some.len() == SOME {
            self.flush();
        }
    }

    pub(crate) fn flush(&mut self) {
        let some = std::mem::replace(&mut self.some, Vec::with_capacity(SOME));
        let rows = some.len() as u64;
        if let Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) = self.to.try_send(some) {
            self.lost += rows;
        }
    }
}

/// The ends of a recording: one for each thread, one for the recorder.
pub fn channel(threads: usize) -> (Vec<Rows>, Receiver<Vec<Row>>) {
    let (to, from) = sync_channel(AHEAD);
    let rows = (0..threads).map(|_| Rows {
        to: to.clone(),
        some: Vec::with_capacity(SOME),
        lost: 0,
    });
    (rows.collect(), from)
}

/// Takes rows until no thread has any more, then writes them in the order of the trace. Gives its CPU time.
pub fn record(
    facts: &Facts,
    rows: &Receiver<Vec<Row>>,
    memory: Bytes,
    folder: &Path,
    sink: &mut dyn RecordSink,
) -> Result<u64, ReplayError> {
    let mut recording = Recording::of(Layer::User, memory, folder);
    for some in rows {
        for row in &some {
            recording.push(recorded(facts, row))?;
        }
    }
    recording.finish(sink)?;
    Ok(thread_cpu_ns())
}

fn recorded(facts: &Facts, row: &Row) -> Recorded {
    let (op, flags) = match row.act {
        Act::Read => (Op::Read, OpFlags::default()),
        Act::Write => (Op::Write, OpFlags::default()),
        Act::Durable => (Op::Write, OpFlags::FUA),
        Act::Flush => (Op::Flush, OpFlags::default()),
        Act::Discard => (Op::Discard, OpFlags::default()),
    };
    let device = facts.devices.get(row.device as usize);
    let device = device.map_or(DevId::default(), |device| device.dev);
    let (sector, bytes) = (Sectors(row.offset / 512), Bytes(row.length.into()));
    let plain = IoRecord::new(row.index, Layer::User, device, op, sector, bytes);
    let short = row.result >= 0 && row.result != row.length as i32;
    Recorded {
        span: Span {
            flags,
            queue: row.submit,
            issue: row.submit_end,
            complete: row.reap,
            // A short transfer is an I/O error as well (EIO).
            error: if short { -5 } else { row.result.min(0) },
            merged_into: NONE,
            ..Span::of(&plain)
        },
        // Of requests submitted at once the trace's order counts.
        key: row.index,
        lead: 0,
        carries: false,
        tid: row.lane,
        comm: [0; 16],
    }
}
