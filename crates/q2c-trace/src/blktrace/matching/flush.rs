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
pub(super) struct KernelFlushes {
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
    pub(super) fn issue_kernel_flush(&mut self, event: &BlktraceEvent) -> bool {
        if !is_internal(event) || !self.expects_queue(event) {
            return false;
        }
        self.counts.internal_flushes += 1;
        let kernel_flushes = self.flushing.entry(event.device).or_default();
        kernel_flushes.count += 1;
        kernel_flushes.issue_ns = event.time;
        self.for_each_without_data(event, |matcher, id| {
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
    pub(super) fn requeue_kernel_flush(&mut self, event: &BlktraceEvent) -> bool {
        let Some(KernelFlushes { issue_ns, .. }) = self.end_kernel_flush(event) else {
            return false;
        };
        self.for_each_without_data(event, |matcher, id| {
            let slot = matcher.window.get(id);
            if slot.state == ISSUED && slot.span.issue_ns == issue_ns {
                matcher.take_back(id);
            }
        });
        true
    }

    /// Counts a kernel flush as ended, and returns the device's flushes; `None` for other events.
    pub(super) fn end_kernel_flush(&mut self, event: &BlktraceEvent) -> Option<KernelFlushes> {
        let kernel_flushes = self.flushing.get_mut(&event.device);
        let kernel_flushes =
            kernel_flushes.filter(|flushes| is_internal(event) && flushes.count > 0)?;
        kernel_flushes.count -= 1;
        Some(*kernel_flushes)
    }

    fn for_each_without_data(&mut self, event: &BlktraceEvent, visit: impl Fn(&mut Matcher, u32)) {
        let carried_out = self.at_start(event);
        let carried_out = carried_out.filter(|(_, slot)| is_carried_out_by(event, slot));
        let ids: Vec<u32> = carried_out.map(|(id, _)| id).collect();
        ids.into_iter().for_each(|id| visit(self, id));
    }

    /// True if the completion is of a sequence's data: the kernel removes the flags that it carries
    /// out itself from the request. A bio without its own request has no sequence here.
    pub(super) fn is_data_of_sequence(&self, id: u32, event: &BlktraceEvent) -> bool {
        let slot = self.window.get(id);
        let removed_flags = slot.category & !event.category & (category::FLUSH | category::FUA);
        removed_flags != 0 && event.bytes > 0 && slot.state & (QUEUED | FLUSHING) == 0
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
    pub(super) fn find_ended_sequence(&self, event: &BlktraceEvent) -> Option<u32> {
        let awaits = |slot: &Slot| {
            slot.state == FLUSHING
                && slot.device == event.device
                && kind(slot.category) == kind(event.category)
        };
        let starting = self.at_start(event).find(|(_, slot)| {
            let has_length = event.bytes == 0 || slot.to == event.end();
            awaits(slot) && slot.from == event.sector && has_length
        });
        let ending = || {
            let mut slots = self.at_end(event).filter(|_| event.bytes == 0);
            slots.find(|(_, slot)| awaits(slot) && slot.to == event.sector)
        };
        starting.or_else(ending).map(|(id, _)| id)
    }
}
