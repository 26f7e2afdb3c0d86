//! Flushes without sectors.
//!
//! A flush that is asked for is a write without data. The kernel carries it out by a request of its
//! own, which serves several flushes at once and has no direction. The D of the kernel's request is
//! the D of all these flushes, but each flush has its own C.

use super::super::event::{Event, category};
use super::Matcher;
use super::slot::{ISSUED, NIL, WAITING};

const fn is_internal(event: &Event) -> bool {
    event.bytes == 0
        && event.category & category::FLUSH != 0
        && event.category & (category::WRITE | category::PC) == 0
}

impl Matcher {
    /// Takes the D of a kernel's own flush for all flushes that wait for it. Returns false for any
    /// other event.
    pub(super) fn internal_flush_issued(&mut self, event: &Event) -> bool {
        if !is_internal(event) || !self.expects_queue(event) {
            return false;
        }
        self.counts.internal_flushes += 1;
        *self.flushing.entry(event.device).or_default() += 1;
        let mut id = self.starts.first(event.device, event.sector);
        for _ in 0..Self::REACH {
            if id == NIL {
                break;
            }
            let slot = self.window.get_mut(id);
            let after = slot.by_start.after;
            let same = slot.device == event.device && slot.from == event.sector;
            if same
                && slot.bytes == 0
                && slot.category & category::FLUSH != 0
                && slot.state & WAITING != 0
            {
                slot.issue_ns = event.time;
                slot.category |= event.category & category::UNTIMED;
                slot.state = ISSUED;
                self.ends.remove(&mut self.window, id);
            }
            id = after;
        }
        true
    }

    /// Takes the C of a kernel's own flush, which ends no I/O. Returns false for any other event.
    pub(super) fn internal_flush_completed(&mut self, event: &Event) -> bool {
        if !is_internal(event) {
            return false;
        }
        let under_way = self.flushing.get_mut(&event.device).filter(|n| **n > 0);
        under_way.map(|n| *n -= 1).is_some()
    }
}
