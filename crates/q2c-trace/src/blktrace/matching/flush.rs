//! Flushes, and the sequences of requests that carry them out (block/blk-flush.c).
//!
//! A requested flush is a write with PREFLUSH, FUA, or both. If the device has a volatile cache,
//! the kernel makes it a sequence: a flush before, the data, and a flush after (for FUA that the
//! device lacks). These flushes are requests of the kernel: each serves several sequences and has
//! no direction. Its D is also the D of the waiting sequences without data. A sequence with data
//! has the D of its data.
//!
//! A sequence without data has one C. A sequence with data has two: that of the data, and the last
//! one. The last mostly has no length, and may name the sector after the data. It ends the I/O.

use super::super::event::{BlktraceEvent, category};
use super::Matcher;
use super::slot::{FLUSHING, ISSUED, QUEUED, Slot, WAITING, kind};

/// The kernel's flushes of a device that the driver has: their number, and the last issue time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct UnderWay {
    count: u64,
    issue_ns: u64,
}

const fn is_internal(event: &BlktraceEvent) -> bool {
    event.bytes == 0
        && event.category & category::FLUSH != 0
        && event.category & (category::WRITE | category::PC) == 0
}

/// True if the slot is a flush without data that the kernel's flush in the event carries out.
const fn is_carried_out_by(event: &BlktraceEvent, slot: &Slot) -> bool {
    slot.device == event.device
        && slot.from == event.sector
        && slot.span.bytes == 0
        && slot.category & category::FLUSH != 0
}

impl Matcher {
    /// If the event is the D of a kernel flush, issues all flushes that wait for it. Returns false
    /// for any other event.
    pub(super) fn internal_flush_issued(&mut self, event: &BlktraceEvent) -> bool {
        if !is_internal(event) || !self.expects_queue(event) {
            return false;
        }
        self.counts.internal_flushes += 1;
        let under_way = self.flushing.entry(event.device).or_default();
        under_way.count += 1;
        under_way.issue_ns = event.time;
        self.each_without_data(event, |matcher, id| {
            let slot = matcher.window.get_mut(id);
            if slot.state & WAITING != 0 {
                slot.span.issue_ns = event.time;
                slot.category |= event.category & category::UNTIMED;
                slot.state = ISSUED;
                matcher.ends.remove(&mut matcher.window, id);
            }
        });
        true
    }

    /// If the event is the R of a kernel flush, its flushes wait again. Returns false for any other
    /// event.
    pub(super) fn internal_flush_requeued(&mut self, event: &BlktraceEvent) -> bool {
        let Some(UnderWay { issue_ns, .. }) = self.internal_flush_left(event) else {
            return false;
        };
        self.each_without_data(event, |matcher, id| {
            let slot = matcher.window.get(id);
            if slot.state == ISSUED && slot.span.issue_ns == issue_ns {
                matcher.take_back(id);
            }
        });
        true
    }

    /// Counts one kernel flush less at the driver. Returns `None` for any other event.
    pub(super) fn internal_flush_left(&mut self, event: &BlktraceEvent) -> Option<UnderWay> {
        let under_way = self.flushing.get_mut(&event.device);
        let under_way = under_way.filter(|u| is_internal(event) && u.count > 0)?;
        under_way.count -= 1;
        Some(*under_way)
    }

    fn each_without_data(&mut self, event: &BlktraceEvent, with: impl Fn(&mut Matcher, u32)) {
        let carried_out = self.at_start(event);
        let carried_out = carried_out.filter(|(_, slot)| is_carried_out_by(event, slot));
        let ids: Vec<u32> = carried_out.map(|(id, _)| id).collect();
        ids.into_iter().for_each(|id| with(self, id));
    }

    /// True if the completion is of a sequence's data: the kernel removes the flags that it carries
    /// out itself from the request. A bio without its own request has no sequence here.
    pub(super) fn is_data_of_sequence(&self, id: u32, event: &BlktraceEvent) -> bool {
        let slot = self.window.get(id);
        let taken_off = slot.category & !event.category & (category::FLUSH | category::FUA);
        taken_off != 0 && event.bytes > 0 && slot.state & (QUEUED | FLUSHING) == 0
    }

    /// Keeps the I/O until the last completion of its sequence.
    pub(super) fn await_last_flush(&mut self, id: u32, event: &BlktraceEvent) {
        self.remove_from_indexes(id);
        let slot = self.window.get_mut(id);
        slot.category |= event.category & category::UNTIMED;
        slot.state = FLUSHING;
        slot.from = slot.span.sector;
        self.starts.insert(&mut self.window, id);
        self.ends.insert(&mut self.window, id);
    }

    /// Finds the oldest I/O whose sequence this completion ends. It names the data's first sector,
    /// with its length or none, or in newer kernels the sector after the data, without a length.
    pub(super) fn sequence_ended(&self, event: &BlktraceEvent) -> Option<u32> {
        let awaits = |slot: &Slot| {
            slot.state == FLUSHING
                && slot.device == event.device
                && kind(slot.category) == kind(event.category)
        };
        let starting = self.at_start(event).find(|(_, slot)| {
            let of_length = event.bytes == 0 || slot.to == event.end();
            awaits(slot) && slot.from == event.sector && of_length
        });
        let ending = || {
            let mut ending = self.at_end(event).filter(|_| event.bytes == 0);
            ending.find(|(_, slot)| awaits(slot) && slot.to == event.sector)
        };
        starting.or_else(ending).map(|(id, _)| id)
    }
}
