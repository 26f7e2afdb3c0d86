//! Joins the parts of split I/Os, so that a sum of latencies does not depend on how finely the
//! block layer splits.
//!
//! The block layer splits a bio that is longer than the device takes (`queue/max_sectors_kb`,
//! limits of segments, chunk boundaries). A recording has a row for each part, with the queueing
//! time of the whole: five parts would count its Q2C five times. The submitter asked for one I/O,
//! which lasts from its Q to the C of its last part.

use crate::recording::RecordedIo;
use crate::span::NONE;
use q2c_model::{Op, OpFlags};
use std::collections::{HashMap, VecDeque};

/// Most split I/Os that wait for further parts; far more than any device has in flight. If there
/// are more, the oldest is reported. A part of it that comes later counts as a separate I/O.
const MAX_OPEN_SPLITS: usize = 1 << 18;

const EAGAIN: i32 = 11;

/// Common to all parts of one split: thread, packed device number, queueing time (ns).
type SplitKey = (u32, u64, u64);

/// An I/O as its submitter queued it, with all its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WholeIo {
    /// From its Q to the C of its last part, ns.
    pub q2c_ns: u64,
    /// True if it moves data: a read or a write, not a flush or a discard.
    pub transfers: bool,
}

/// Joins parts of split I/Os. [`SplitJoiner::push`] takes the I/Os of a recording in any order and
/// reports each complete I/O once.
#[derive(Debug, Default)]
pub struct SplitJoiner {
    open: HashMap<SplitKey, WholeIo>,
    /// The keys of `open` in the order of their first parts.
    order: VecDeque<SplitKey>,
    parts: u64,
}

impl SplitJoiner {
    /// Takes an I/O or a part of one, and calls `report` for each complete I/O: at once if it was
    /// not split, else at [`SplitJoiner::finish`] or when too many others wait. Ignores I/Os
    /// without begin or end, and those refused because they may not wait (EAGAIN), which the
    /// submitter queues again.
    pub fn push(&mut self, io: &RecordedIo, report: &mut impl FnMut(WholeIo)) {
        let span = &io.span;
        if span.begin_ns == NONE || span.end_ns == NONE || span.error == -EAGAIN {
            return;
        }
        self.parts += 1;
        let q2c_ns = span.end_ns.saturating_sub(span.begin_ns);
        let transfers = matches!(span.op, Op::Read | Op::Write);
        let whole = WholeIo { q2c_ns, transfers };
        if span.flags.contains(OpFlags::SPLIT) {
            self.join_part(split_key(io), whole, report);
        } else {
            report(whole);
        }
    }

    fn join_part(&mut self, key: SplitKey, part: WholeIo, report: &mut impl FnMut(WholeIo)) {
        if let Some(whole) = self.open.get_mut(&key) {
            whole.q2c_ns = whole.q2c_ns.max(part.q2c_ns);
            return;
        }
        if self.order.len() >= MAX_OPEN_SPLITS
            && let Some(oldest) = self.order.pop_front()
        {
            self.open.remove(&oldest).into_iter().for_each(&mut *report);
        }
        self.open.insert(key, part);
        self.order.push_back(key);
    }

    /// Number of I/Os and parts that were taken.
    pub fn parts(&self) -> u64 {
        self.parts
    }

    /// Reports the split I/Os that still wait, in the order of their first parts.
    pub fn finish(mut self, report: &mut impl FnMut(WholeIo)) {
        for key in self.order {
            self.open.remove(&key).into_iter().for_each(&mut *report);
        }
    }
}

fn split_key(io: &RecordedIo) -> SplitKey {
    let device = io.span.device;
    let packed = u64::from(device.major) << 32 | u64::from(device.minor);
    (io.tid, packed, io.span.begin_ns)
}

#[cfg(test)]
mod tests;
