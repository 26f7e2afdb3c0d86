//! I/Os that share a request, and bios that are split into several I/Os.

use super::super::event::{BlktraceEvent, category};
use super::Matcher;
use super::slot::{Links, MERGED, NIL, QUEUED, Slot, WAITING, kind};
use q2c_model::OpFlags;

impl Matcher {
    /// Merges the event's bio, or its request with all members, into the adjacent request: after
    /// the one that ends there (M), or before the one that begins there (F).
    pub(super) fn merge(&mut self, event: &BlktraceEvent, at_back: bool) {
        let bio = self.find_exact(event, QUEUED);
        let Some(member) = bio.or_else(|| self.find_exact(event, WAITING)) else {
            return self.count_unmatched("merge without queue");
        };
        let carrier = if at_back {
            self.find_ending_at(event, member)
        } else {
            let sector = event.end();
            let after = BlktraceEvent { sector, ..*event };
            self.find(&after, WAITING).filter(|id| *id != member)
        };
        let Some(carrier) = carrier else {
            return self.count_unmatched("merge without request");
        };
        self.counts.merged += 1;
        let slot = self.window.get_mut(member);
        slot.span.getrq_ns = event.time;
        slot.span.insert_ns = crate::span::NONE;
        slot.category |= event.category & category::UNTIMED;
        self.join(carrier, member);
    }

    /// Finds the youngest request that ends where the event begins: the kernel merges into the top
    /// of the plug list.
    fn find_ending_at(&self, event: &BlktraceEvent, member: u32) -> Option<u32> {
        let fits = |(id, slot): &(u32, &Slot)| {
            let is_adjacent = slot.device == event.device && slot.to == event.sector;
            let can_carry = *id != member && slot.state & WAITING != 0;
            is_adjacent && can_carry && kind(slot.category) == kind(event.category)
        };
        self.at_end(event).filter(fits).last().map(|(id, _)| id)
    }

    /// Links `member` and its chain to `carrier`, which leaves the indexes while its sectors
    /// change.
    fn join(&mut self, carrier: u32, member: u32) {
        self.remove_from_indexes(member);
        self.remove_from_indexes(carrier);
        let slot = self.window.get_mut(member);
        self.split_rests -= u64::from(std::mem::take(&mut slot.is_split_rest));
        let (from, to, first) = (slot.from, slot.to, slot.first);
        (slot.state, slot.carrier) = (MERGED, carrier);
        slot.next = first;
        let last = if first == NIL { member } else { slot.last };
        let mut id = first;
        while id != NIL {
            let carried = self.window.get_mut(id);
            carried.carrier = carrier;
            id = carried.next;
        }
        self.extend(carrier, (from, to), (member, last));
    }

    /// Extends a request by the adjacent sectors `from..to`, and by the chain of slots from `first`
    /// to `last`.
    fn extend(&mut self, carrier: u32, (from, to): (u64, u64), (first, last): (u32, u32)) {
        let slot = self.window.get_mut(carrier);
        slot.from = slot.from.min(from);
        slot.to = slot.to.max(to);
        let old_last = slot.last;
        slot.last = last;
        if old_last == NIL {
            slot.first = first;
        } else {
            self.window.get_mut(old_last).next = first;
        }
        self.starts.insert(&mut self.window, carrier);
        if self.window.get(carrier).state & WAITING != 0 {
            self.ends.insert(&mut self.window, carrier);
        }
    }

    /// Makes the I/O end where the event does. A longer I/O shows that a split record was lost, a
    /// shorter one that a merge record was. If the event's time was corrected, the I/O is marked.
    pub(super) fn fit_end(&mut self, id: u32, event: &BlktraceEvent) {
        if event.category & category::UNTIMED != 0 {
            self.window.get_mut(id).category |= category::UNTIMED;
        }
        let (end, slot) = (event.end(), self.window.get(id));
        if slot.to == end {
            return;
        }
        if slot.to > end {
            if slot.state == QUEUED && end > slot.from {
                self.count_unmatched("split lost");
                self.cut(id, end);
            }
            return;
        }
        while self.window.get(id).to < end && self.absorb(id, event) {}
        if self.window.get(id).to != end {
            self.set_end(id, end);
        }
    }

    /// Merges the I/O that begins where the request ends. Returns false if there is none, or if it
    /// ends after the event.
    fn absorb(&mut self, id: u32, event: &BlktraceEvent) -> bool {
        let after = BlktraceEvent {
            sector: self.window.get(id).to,
            bytes: 512,
            ..*event
        };
        let fits = |next: &u32| {
            let slot = self.window.get(*next);
            *next != id && slot.to > slot.from && slot.to <= event.end()
        };
        let Some(next) = self.find(&after, QUEUED | WAITING).filter(fits) else {
            return false;
        };
        self.count_unmatched("merge lost");
        self.counts.merged += 1;
        self.join(id, next);
        true
    }

    fn set_end(&mut self, id: u32, end: u64) {
        let listed = self.window.get(id).by_end.listed;
        self.ends.remove(&mut self.window, id);
        self.window.get_mut(id).to = end;
        if listed {
            self.ends.insert(&mut self.window, id);
        }
    }

    /// Cuts a queued bio at a sector within it. The sectors from there on become an I/O with the
    /// queueing time of the whole bio.
    pub(super) fn cut(&mut self, id: u32, at: u64) {
        self.counts.splits += 1;
        self.counts.ios += 1;
        let slot = self.window.get_mut(id);
        slot.span.flags = OpFlags::SPLIT;
        let mut second = *slot;
        let front_bytes = (at - slot.from) * 512;
        slot.to = at;
        (slot.span.sector, slot.span.bytes) = (slot.from, front_bytes);
        self.split_rests += u64::from(!std::mem::take(&mut slot.is_split_rest));
        second.from = at;
        second.span.sector = at;
        second.span.bytes = second.span.bytes.saturating_sub(front_bytes);
        (second.by_start, second.by_end) = <(Links, Links)>::default();
        second.is_split_rest = true;
        (second.span.lane, second.span.depth_at_submit) = self.lanes.enter(second.span.pid);
        self.add_slot(second);
    }
}
