//! Matches block-layer events to I/Os.
//!
//! An event names sectors, not a request. I/Os in flight at the same sectors are distinguished by
//! direction, length and stage. Among equals the oldest is taken: if a device completes two equal
//! requests in another order, their times are swapped, but the sum is right. I/Os from before a gap
//! rank after younger ones, because a lost completion must not shift all later ones on its sector.

mod flush;
mod index;
mod merging;
mod slot;

use super::IntMap;
use super::event::{BlktraceEvent, action, category};
use crate::span::{NONE, Span};
use index::{BY_END, BY_START, Index};
use slot::{
    INSERTED, ISSUED, MERGED, NIL, OVER, QUEUED, REQUESTED, Slot, SlotRing, SlotStage, WAITING,
};
use std::collections::BTreeMap;

/// Counts of the matcher's events and I/Os.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MatcherCounts {
    /// Events taken by [`Matcher::handle_event`], including those that fit no I/O.
    pub events: u64,
    /// I/Os found: queued bios, rests of splits, requests without Q.
    pub ios: u64,
    /// Times a request was handed to the driver (D); a requeued request counts again.
    pub issued: u64,
    /// I/Os that completed.
    pub completed: u64,
    /// I/Os merged into the request of another I/O.
    pub merged: u64,
    /// Bios cut in two, including splits whose record was lost.
    pub splits: u64,
    /// Times the driver gave a request back.
    pub requeues: u64,
    /// Bios that were mapped from another device (A).
    pub remaps: u64,
    /// Waits for a free request (S).
    pub sleeps: u64,
    /// Bios copied to memory that the device can reach (B).
    pub bounces: u64,
    /// Times a queue was plugged (P).
    pub plugs: u64,
    /// Times a queue was unplugged (U and UT).
    pub unplugs: u64,
    /// Unplugs by a timer (UT), also counted in `unplugs`.
    pub timer_unplugs: u64,
    /// The kernel's own flush requests, which carry out the requested flushes.
    pub internal_flushes: u64,
    /// Completions of only the first part of a request.
    pub partial_completions: u64,
    /// I/Os that completed without D: bios of stacked devices, or I/Os whose D was lost.
    pub without_issue: u64,
    /// Events that fit no I/O, repaired losses, and I/Os without an end, by reason.
    pub unmatched: BTreeMap<&'static str, u64>,
}

/// Turns events into I/Os.
///
/// The caller passes events in the order of time to [`Matcher::handle_event`], and calls
/// [`Matcher::finish`] at the end. An I/O is handed out when it and all earlier I/Os are over. So
/// I/Os come in the order of queueing, except that the rest of a split comes after later I/Os.
///
/// Memory: some 250 bytes for each I/O between the oldest unfinished one and the youngest, up to
/// the limit. Beyond it, the oldest I/O is handed out without completion and counted as `never
/// completed`.
///
/// Between two events, a slot is in `starts` exactly if its state is neither merged nor over, with
/// its first incomplete sector as key. It is in `ends` exactly if it waits for the driver as its
/// own request. A merged slot names its carrier, which is never merged itself.
pub struct Matcher {
    window: SlotRing,
    starts: Index<BY_START>,
    /// Requests that can still be merged into, and flush sequences whose data are done, by their
    /// end.
    ends: Index<BY_END>,
    lanes: Lanes,
    limit: usize,
    /// Number of gaps in the records so far. Each slot has the number of its first event.
    epoch: u32,
    /// Number of slots with [`Slot::is_split_rest`] set; while it is 0, `queue` skips a search.
    split_rests: u64,
    /// Devices with at least one Q. `last_device` saves the look-up for successive events of one.
    queued_devices: IntMap<u32, ()>,
    last_device: Option<u32>,
    flushing: IntMap<u32, flush::KernelFlushes>,
    counts: MatcherCounts,
}

impl Default for Matcher {
    fn default() -> Self {
        Matcher::with_limit(Self::LIMIT)
    }
}

impl Matcher {
    /// Default limit: most I/Os from the oldest unfinished one to the youngest.
    pub const LIMIT: usize = (1 << 20) - 1;
    /// Most devices in `queued_devices`; a damaged trace could name any number of them.
    const MAX_DEVICES: usize = 1 << 20;

    /// A matcher with its own limit (see [`Matcher::LIMIT`]), at least 1.
    pub(crate) fn with_limit(limit: usize) -> Self {
        Matcher {
            window: SlotRing::new(),
            starts: Index::new(),
            ends: Index::new(),
            lanes: Lanes::default(),
            limit: limit.max(1),
            epoch: 0,
            split_rests: 0,
            queued_devices: IntMap::default(),
            last_device: None,
            flushing: IntMap::default(),
            counts: MatcherCounts::default(),
        }
    }

    /// The counts so far.
    pub fn counts(&self) -> &MatcherCounts {
        &self.counts
    }

    /// Takes an event. `gaps` is the number of gaps in the records before it. I/Os that are ready
    /// are handed to `out`.
    #[inline]
    pub fn handle_event(&mut self, event: &BlktraceEvent, gaps: u64, out: &mut impl FnMut(&Span)) {
        self.epoch = gaps as u32;
        self.counts.events += 1;
        match event.action {
            action::QUEUE => self.queue(event),
            action::GET_REQUEST => self.get_request(event),
            action::INSERT => self.insert(event),
            action::ISSUE => self.issue(event),
            action::COMPLETE => self.complete(event),
            action::BACK_MERGE => self.merge(event, true),
            action::FRONT_MERGE => self.merge(event, false),
            action::REQUEUE => self.requeue(event),
            action::SPLIT => self.split(event),
            _ => self.count_other(event),
        }
        while self.window.len() > self.limit {
            self.give_up_oldest();
            self.hand_out_finished(out);
        }
        self.hand_out_finished(out);
    }

    /// Ends the trace: hands out unfinished I/Os without completion. Returns the final counts.
    pub fn finish(mut self, out: &mut impl FnMut(&Span)) -> MatcherCounts {
        while self.window.len() > 0 {
            self.give_up_oldest();
            self.hand_out_finished(out);
        }
        self.counts
    }

    #[inline]
    fn hand_out_finished(&mut self, out: &mut impl FnMut(&Span)) {
        while self.window.len() > 0 {
            let number = self.window.first;
            let slot = self.window.get(number as u32);
            if slot.state != OVER {
                return;
            }
            out(&slot.span(number));
            self.window.first += 1;
        }
    }

    fn count_unmatched(&mut self, reason: &'static str) {
        *self.counts.unmatched.entry(reason).or_default() += 1;
    }

    /// The I/Os that may begin at the event's first sector.
    #[inline]
    fn at_start(&self, event: &BlktraceEvent) -> impl Iterator<Item = (u32, &Slot)> {
        self.starts.slots(&self.window, event)
    }

    /// The I/Os that may end at the event's first sector.
    fn at_end(&self, event: &BlktraceEvent) -> impl Iterator<Item = (u32, &Slot)> {
        self.ends.slots(&self.window, event)
    }

    /// Finds the oldest I/O in one of `states` that begins where the event does. Equal length
    /// counts most, then an arrival after the last gap.
    #[inline]
    fn find(&self, event: &BlktraceEvent, states: SlotStage) -> Option<u32> {
        let mut best: Option<(u8, u32)> = None;
        for (id, slot) in self.at_start(event) {
            if slot.fits(event, states) {
                let score =
                    u8::from(slot.to == event.end()) * 2 + u8::from(slot.epoch == self.epoch);
                if score == 3 {
                    return Some(id);
                }
                if best.is_none_or(|(top_score, _)| score > top_score) {
                    best = Some((score, id));
                }
            }
        }
        best.map(|(_, id)| id)
    }

    /// As [`Matcher::find`], but only finds an I/O of the event's length.
    fn find_exact(&self, event: &BlktraceEvent, states: SlotStage) -> Option<u32> {
        self.find(event, states)
            .filter(|id| self.window.get(*id).to == event.end())
    }

    fn add_io(&mut self, event: &BlktraceEvent, state: SlotStage) -> u32 {
        let mut slot = Slot::new(event, state, self.epoch);
        (slot.span.lane, slot.span.depth_at_submit) = self.lanes.enter(event.pid);
        self.counts.ios += 1;
        self.add_slot(slot)
    }

    fn add_slot(&mut self, slot: Slot) -> u32 {
        let id = self.window.push(slot);
        self.starts.insert(&mut self.window, id);
        if slot.state & WAITING != 0 {
            self.ends.insert(&mut self.window, id);
        }
        id
    }

    fn remove_from_indexes(&mut self, id: u32) {
        self.starts.remove(&mut self.window, id);
        self.ends.remove(&mut self.window, id);
    }

    fn queue(&mut self, event: &BlktraceEvent) {
        if self.last_device != Some(event.device) {
            self.last_device = Some(event.device);
            if self.queued_devices.len() < Self::MAX_DEVICES {
                self.queued_devices.insert(event.device, ());
            }
        }
        if self.split_rests > 0
            && let Some(id) = self.find_exact(event, QUEUED)
            && std::mem::take(&mut self.window.get_mut(id).is_split_rest)
        {
            // Older kernels queue the rest of a split again.
            self.split_rests -= 1;
            return;
        }
        let id = self.add_io(event, QUEUED);
        self.window.get_mut(id).span.begin_ns = event.time;
    }

    /// True if a request should have a Q: not for passthrough, nor on a device without any Q.
    fn expects_queue(&self, event: &BlktraceEvent) -> bool {
        event.category & category::PC == 0 && self.queued_devices.contains_key(&event.device)
    }

    /// Adds an I/O for a request without a Q: passthrough, a trace without Q, or a lost Q. Only a
    /// lost Q is counted as `reason`.
    fn add_unseen(&mut self, event: &BlktraceEvent, state: SlotStage, reason: &'static str) -> u32 {
        if self.expects_queue(event) {
            self.count_unmatched(reason);
        }
        self.add_io(event, state)
    }

    fn get_request(&mut self, event: &BlktraceEvent) {
        let bio = self.find(event, QUEUED);
        let id = bio.unwrap_or_else(|| self.add_unseen(event, REQUESTED, "request without queue"));
        self.fit_end(id, event);
        self.window.get_mut(id).span.getrq_ns = event.time;
        self.become_request(id, REQUESTED);
    }

    fn become_request(&mut self, id: u32, state: SlotStage) {
        let slot = self.window.get_mut(id);
        self.split_rests -= u64::from(std::mem::take(&mut slot.is_split_rest));
        slot.state = state;
        if state & WAITING != 0 && !slot.by_end.listed {
            self.ends.insert(&mut self.window, id);
        }
    }

    fn insert(&mut self, event: &BlktraceEvent) {
        let request = self.find(event, REQUESTED);
        let existing = request.or_else(|| self.find(event, QUEUED));
        let id = match existing {
            Some(id) => id,
            // A request that was requeued; it was inserted already.
            None if self.find(event, INSERTED).is_some() => return,
            None => self.add_unseen(event, INSERTED, "insert without queue"),
        };
        self.fit_end(id, event);
        let span = &mut self.window.get_mut(id).span;
        if span.insert_ns == NONE {
            span.insert_ns = event.time;
        }
        self.become_request(id, INSERTED);
    }

    fn issue(&mut self, event: &BlktraceEvent) {
        let fits = |id: &u32| self.window.get(*id).to <= event.end();
        let waiting = self.find(event, WAITING).filter(fits);
        let existing = waiting.or_else(|| self.find(event, QUEUED));
        if existing.is_none() && self.issue_kernel_flush(event) {
            return;
        }
        self.counts.issued += 1;
        let id = if let Some(id) = existing {
            id
        } else if let Some(id) = self.find_exact(event, ISSUED) {
            self.count_unmatched("issue repeated");
            id
        } else {
            self.add_unseen(event, ISSUED, "issue without queue")
        };
        self.fit_end(id, event);
        self.ends.remove(&mut self.window, id);
        self.window.get_mut(id).span.issue_ns = event.time;
        self.become_request(id, ISSUED);
    }

    fn requeue(&mut self, event: &BlktraceEvent) {
        if let Some(id) = self.find(event, ISSUED) {
            self.take_back(id);
        } else if !self.requeue_kernel_flush(event) {
            return self.count_unmatched("requeue without issue");
        }
        self.counts.requeues += 1;
    }

    /// Takes the request back from the driver.
    fn take_back(&mut self, id: u32) {
        let span = &mut self.window.get_mut(id).span;
        // An issue time that is the only time stays, because every I/O needs a start.
        if span.begin_ns != NONE || span.getrq_ns != NONE || span.insert_ns != NONE {
            span.issue_ns = NONE;
        }
        let state = if span.insert_ns == NONE {
            REQUESTED
        } else {
            INSERTED
        };
        self.become_request(id, state);
    }

    fn complete(&mut self, event: &BlktraceEvent) {
        let long_enough = |id: &u32| self.window.get(*id).to >= event.end();
        let issued = self.find(event, ISSUED).filter(long_enough);
        // The C of a kernel's own flush ends no I/O.
        if issued.is_none() && self.end_kernel_flush(event).is_some() {
            return;
        }
        let short_enough = |id: &u32| self.window.get(*id).to <= event.end();
        let waiting = || self.find(event, WAITING).filter(short_enough);
        let existing = issued
            .or_else(|| self.find_ended_sequence(event))
            .or_else(waiting)
            .or_else(|| self.find_exact(event, QUEUED));
        let Some(id) = existing else {
            return self.count_unmatched("completion without queue");
        };
        if event.end() < self.window.get(id).to && event.bytes > 0 {
            self.counts.partial_completions += 1;
            self.starts.remove(&mut self.window, id);
            self.window.get_mut(id).from = event.end();
            return self.starts.insert(&mut self.window, id);
        }
        if self.is_data_of_sequence(id, event) {
            return self.await_last_flush(id, event);
        }
        if event.bytes > 0 {
            self.fit_end(id, event);
        }
        self.window.get_mut(id).category |= event.category & category::UNTIMED;
        let was_issued = self.window.get(id).span.issue_ns != NONE;
        let ios = self.end_request(id, |span| {
            span.end_ns = event.time;
            span.cpu_complete = event.cpu;
            // The kernel writes the negative errno in 16 bits; other tracers write the positive.
            span.error = -i32::from((event.error as i16).unsigned_abs());
        });
        self.counts.completed += ios;
        self.counts.without_issue += if was_issued { 0 } else { ios };
    }

    /// Ends a request with all I/Os that it carries. Returns the number of these I/Os.
    fn end_request(&mut self, id: u32, set_end: impl Fn(&mut Span)) -> u64 {
        self.remove_from_indexes(id);
        let number = self.window.number(id);
        let issue = self.window.get(id).span.issue_ns;
        let untimed = self.window.get(id).category & category::UNTIMED;
        let (mut next, mut ios) = (id, 0);
        while next != NIL {
            let slot = self.window.get_mut(next);
            // All members take the carrier's issue time. As in `take_back`, an I/O keeps its issue
            // time if it has no other time.
            if issue != NONE || slot.span.issue_ns != slot.span.first_ns() {
                slot.span.issue_ns = issue;
            }
            set_end(&mut slot.span);
            slot.category |= untimed;
            if slot.state == MERGED {
                slot.span.merged_into = number;
            }
            self.split_rests -= u64::from(std::mem::take(&mut slot.is_split_rest));
            slot.state = OVER;
            self.lanes.leave(slot.span.lane);
            next = if next == id { slot.first } else { slot.next };
            ios += 1;
        }
        ios
    }

    fn give_up_oldest(&mut self) {
        let id = self.window.first as u32;
        let slot = self.window.get(id);
        let id = match slot.state {
            OVER => return,
            MERGED => slot.carrier,
            _ => id,
        };
        // The fate of an I/O whose times no figure may use is unknown.
        let untimed = self.window.get(id).category & category::UNTIMED != 0;
        let ios = self.end_request(id, |_span| ());
        if !untimed {
            *self.counts.unmatched.entry("never completed").or_default() += ios;
        }
    }

    /// Cuts the oldest bio that contains the split. The event's length is that of the front part,
    /// and text lacks it.
    fn split(&mut self, event: &BlktraceEvent) {
        let at = event.split_at;
        let bio = self.at_start(event).find(|(_, slot)| {
            let within = event.sector.saturating_add(1)..slot.to;
            slot.fits(event, QUEUED) && within.contains(&at)
        });
        match bio {
            Some((id, _)) => self.cut(id, at),
            None => self.count_unmatched("split without queue"),
        }
    }

    fn count_other(&mut self, event: &BlktraceEvent) {
        let counts = &mut self.counts;
        match event.action {
            action::REMAP => counts.remaps += 1,
            action::SLEEP => counts.sleeps += 1,
            action::BOUNCE => counts.bounces += 1,
            action::PLUG => counts.plugs += 1,
            action::UNPLUG => counts.unplugs += 1,
            action::UNPLUG_TIMER => {
                counts.unplugs += 1;
                counts.timer_unplugs += 1;
            }
            _ => {}
        }
    }
}

/// Lanes: processes numbered from 0 in the order of their first I/O, with their I/Os in flight.
#[derive(Default)]
struct Lanes {
    numbers: IntMap<u32, u32>,
    in_flight: Vec<u32>,
    /// The process of the last I/O and its lane, which saves look-ups for successive I/Os of one
    /// process.
    last: Option<(u32, u32)>,
}

impl Lanes {
    /// Most lanes; all further processes share the last lane.
    const MAX_LANES: usize = 4 << 20;

    /// Counts a new I/O of a process. Returns its lane and the lane's I/Os in flight, itself
    /// included.
    fn enter(&mut self, pid: u32) -> (u32, u32) {
        let lane = match self.last {
            Some((last_pid, lane)) if last_pid == pid => lane,
            _ => self.lane_of(pid),
        };
        self.last = Some((pid, lane));
        let depth = &mut self.in_flight[lane as usize];
        *depth += 1;
        (lane, *depth)
    }

    fn lane_of(&mut self, pid: u32) -> u32 {
        let lanes = self.in_flight.len();
        if lanes >= Self::MAX_LANES {
            return self.numbers.get(&pid).copied().unwrap_or(lanes as u32 - 1);
        }
        let lane = *self.numbers.entry(pid).or_insert(lanes as u32);
        if lane as usize == lanes {
            self.in_flight.push(0);
        }
        lane
    }

    fn leave(&mut self, lane: u32) {
        let depth = &mut self.in_flight[lane as usize];
        *depth = depth.saturating_sub(1);
    }
}
