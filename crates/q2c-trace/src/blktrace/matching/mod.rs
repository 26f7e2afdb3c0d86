//! Events to I/Os.
//!
//! An event names sectors, not a request. I/Os that are under way at the same sectors are told apart by direction, length and
//! how far they have come, and among equals the oldest is taken: a device that completes two equal requests in another
//! order has their times exchanged, their sum is right. I/Os under way when records were lost stand back behind younger ones: a
//! completion that was lost must not shift all later ones on the same sector.

mod flush;
mod index;
mod lanes;
mod merging;
mod slot;

use super::event::{Event, action, category};
use super::hash::IntMap;
use crate::span::{NONE, Span};
use index::{End, Index, Start};
use lanes::Lanes;
use slot::{INSERTED, ISSUED, MERGED, NIL, OVER, QUEUED, REQUESTED, Slot, State, WAITING, Window};
use std::collections::BTreeMap;

/// What was seen beside the I/Os themselves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Events taken.
    pub events: u64,
    /// I/Os found: queued bios, rests of splits, requests without Q.
    pub ios: u64,
    /// Times a request was handed to the driver.
    pub issued: u64,
    /// I/Os that completed.
    pub completed: u64,
    /// I/Os merged into another's request.
    pub merged: u64,
    /// Bios cut in two.
    pub splits: u64,
    /// Requests taken back by the driver.
    pub requeues: u64,
    /// Bios mapped from another device.
    pub remaps: u64,
    /// Waits for a free request.
    pub sleeps: u64,
    /// Bios copied.
    pub bounces: u64,
    /// Pluggings.
    pub plugs: u64,
    /// Unpluggings.
    pub unplugs: u64,
    /// Of them by a timer.
    pub timer_unplugs: u64,
    /// The kernel's own flush requests, which carry out those that were asked for.
    pub internal_flushes: u64,
    /// Completions of a request's first part.
    pub partial_completions: u64,
    /// I/Os that completed without D: bios of stacked devices, or D was lost.
    pub without_issue: u64,
    /// Events that fit no I/O and I/Os without an end, by reason.
    pub unmatched: BTreeMap<&'static str, u64>,
}

/// Makes I/Os of events that come in the order of time. An I/O leaves when it and all before it are over, so they
/// leave in the order in which they were queued.
///
/// Memory: some 200 bytes for each I/O between the oldest unfinished one and the youngest, up to the limit; beyond it the oldest
/// is given up, leaves without completion and is counted as `never completed`.
pub struct Matcher {
    window: Window,
    starts: Index<Start>,
    /// Of requests that can still be merged into.
    ends: Index<End>,
    lanes: Lanes,
    limit: usize,
    epoch: u32,
    /// Queued rests of splits.
    rests: u64,
    /// Devices of which a Q was seen; the last in front.
    queued_on: IntMap<u32, ()>,
    last_device: Option<u32>,
    /// The kernel's own flushes under way, by device.
    flushing: IntMap<u32, u64>,
    counts: Counts,
}

impl Default for Matcher {
    fn default() -> Self {
        Matcher::with_limit(Self::LIMIT)
    }
}

impl Matcher {
    /// I/Os between the oldest unfinished one and the youngest.
    pub const LIMIT: usize = (1 << 20) - 1;
    /// Devices that are remembered to have had a Q.
    const DEVICES: usize = 1 << 20;
    /// I/Os at one sector that are looked at for an event.
    const REACH: usize = 4096;

    /// With another limit, at least 1.
    #[must_use]
    pub fn with_limit(limit: usize) -> Self {
        Matcher {
            window: Window::new(),
            starts: Index::new(),
            ends: Index::new(),
            lanes: Lanes::default(),
            limit: limit.max(1),
            epoch: 0,
            rests: 0,
            queued_on: IntMap::default(),
            last_device: None,
            flushing: IntMap::default(),
            counts: Counts::default(),
        }
    }

    /// What was counted so far.
    #[must_use]
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Takes an event; `gaps` is the number of places before it at which records were lost. I/Os that leave go to `out`.
    #[inline]
    pub fn event(&mut self, event: &Event, gaps: u64, out: &mut impl FnMut(&Span)) {
        self.epoch = gaps as u32;
        self.counts.events += 1;
        match event.action {
            action::QUEUE => self.queue(event),
            action::GET_REQUEST => self.get_request(event),
            action::INSERT => self.insert(event),
            action::ISSUE => self.issue(event),
            action::COMPLETE => self.complete(event),
            action::BACK_MERGE => self.back_merge(event),
            action::FRONT_MERGE => self.front_merge(event),
            action::REQUEUE => self.requeue(event),
            action::SPLIT => self.split(event),
            _ => self.other(event),
        }
        while self.window.len() > self.limit {
            self.give_up_oldest();
            self.let_go(out);
        }
        self.let_go(out);
    }

    /// The trace is at its end: what is unfinished leaves without completion. Returns what was counted.
    pub fn finish(mut self, out: &mut impl FnMut(&Span)) -> Counts {
        while self.window.len() > 0 {
            self.give_up_oldest();
            self.let_go(out);
        }
        self.counts
    }

    #[inline]
    fn let_go(&mut self, out: &mut impl FnMut(&Span)) {
        while self.window.len() > 0 {
            let number = self.window.first;
            let slot = self.window.get(number as u32);
            if slot.state != OVER {
                return;
            }
            if slot.start() == NONE {
                // Its D was all there was of it, and was taken back.
                self.unmatched("requeued without any other event");
            } else {
                out(&slot.span(number));
            }
            self.window.first += 1;
        }
    }

    fn unmatched(&mut self, reason: &'static str) {
        *self.counts.unmatched.entry(reason).or_default() += 1;
    }

    /// The oldest I/O in one of `states` that begins where the event does; equal length counts most, then having come after
    /// the last gap.
    #[inline]
    fn find(&self, event: &Event, states: State) -> Option<u32> {
        let mut best: Option<(u8, u32)> = None;
        let mut id = self.starts.first(event.device, event.sector);
        for _ in 0..Self::REACH {
            if id == NIL {
                break;
            }
            let slot = self.window.get(id);
            if slot.fits(event, states) {
                let score =
                    u8::from(slot.to == event.end()) * 2 + u8::from(slot.epoch == self.epoch);
                if score == 3 {
                    return Some(id);
                }
                if best.is_none_or(|(than, _)| score > than) {
                    best = Some((score, id));
                }
            }
            id = slot.by_start.after;
        }
        best.map(|(_, id)| id)
    }

    /// As [`Matcher::find`], of the same length.
    fn find_exact(&self, event: &Event, states: State) -> Option<u32> {
        let found = self.find(event, states);
        found.filter(|id| self.window.get(*id).to == event.end())
    }

    /// A new I/O.
    fn arrive(&mut self, event: &Event, state: State) -> u32 {
        let mut slot = Slot::new(event, state, self.epoch);
        (slot.lane, slot.depth) = self.lanes.enter(event.pid);
        self.counts.ios += 1;
        self.enlist(slot)
    }

    fn enlist(&mut self, slot: Slot) -> u32 {
        let id = self.window.push(slot);
        self.starts.insert(&mut self.window, id);
        if slot.state & WAITING != 0 {
            self.ends.insert(&mut self.window, id);
        }
        id
    }

    fn delist(&mut self, id: u32) {
        self.starts.remove(&mut self.window, id);
        self.ends.remove(&mut self.window, id);
    }

    fn queue(&mut self, event: &Event) {
        if self.last_device != Some(event.device) {
            self.last_device = Some(event.device);
            if self.queued_on.len() < Self::DEVICES {
                self.queued_on.insert(event.device, ());
            }
        }
        if self.rests > 0
            && let Some(id) = self.find_exact(event, QUEUED)
            && std::mem::take(&mut self.window.get_mut(id).rest)
        {
            // Older kernels queue the rest of a split again.
            self.rests -= 1;
            return;
        }
        let id = self.arrive(event, QUEUED);
        self.window.get_mut(id).queue = event.time;
    }

    /// Whether its Q should have been seen.
    fn expects_queue(&self, event: &Event) -> bool {
        event.category & category::PC == 0 && self.queued_on.contains_key(&event.device)
    }

    /// A request that comes from nowhere: passthrough, traces without Q, or Q was lost.
    fn appear(&mut self, event: &Event, state: State, reason: &'static str) -> u32 {
        if self.expects_queue(event) {
            self.unmatched(reason);
        }
        self.arrive(event, state)
    }

    fn get_request(&mut self, event: &Event) {
        let id = match self.find(event, QUEUED) {
            Some(id) => id,
            None => self.appear(event, REQUESTED, "request without queue"),
        };
        self.fit(id, event);
        self.window.get_mut(id).getrq = event.time;
        self.become_request(id, REQUESTED);
    }

    fn become_request(&mut self, id: u32, state: State) {
        let slot = self.window.get_mut(id);
        self.rests -= u64::from(std::mem::take(&mut slot.rest));
        slot.state = state;
        if state & WAITING != 0 && !slot.by_end.listed {
            self.ends.insert(&mut self.window, id);
        }
    }

    fn insert(&mut self, event: &Event) {
        let found = self
            .find(event, REQUESTED)
            .or_else(|| self.find(event, QUEUED));
        let id = match found {
            Some(id) => id,
            // A request that was requeued, and was inserted before.
            None if self.find(event, INSERTED).is_some() => return,
            None => self.appear(event, INSERTED, "insert without queue"),
        };
        self.fit(id, event);
        let slot = self.window.get_mut(id);
        if slot.insert == NONE {
            slot.insert = event.time;
        }
        self.become_request(id, INSERTED);
    }

    fn issue(&mut self, event: &Event) {
        let fits = |id: &u32| self.window.get(*id).to <= event.end();
        let waiting = self.find(event, WAITING).filter(fits);
        let found = waiting.or_else(|| self.find(event, QUEUED));
        if found.is_none() && self.internal_flush_issued(event) {
            return;
        }
        self.counts.issued += 1;
        let id = match found {
            Some(id) => id,
            None => match self.find_exact(event, ISSUED) {
                Some(id) => {
                    self.unmatched("issue repeated");
                    id
                }
                None => self.appear(event, ISSUED, "issue without queue"),
            },
        };
        self.fit(id, event);
        self.ends.remove(&mut self.window, id);
        self.window.get_mut(id).issue = event.time;
        self.become_request(id, ISSUED);
    }

    fn requeue(&mut self, event: &Event) {
        let Some(id) = self.find(event, ISSUED) else {
            return self.unmatched("requeue without issue");
        };
        self.counts.requeues += 1;
        let slot = self.window.get_mut(id);
        // Its only time stays: an I/O has one.
        if slot.queue != NONE || slot.getrq != NONE || slot.insert != NONE {
            slot.issue = NONE;
        }
        let state = if slot.insert == NONE {
            REQUESTED
        } else {
            INSERTED
        };
        self.become_request(id, state);
    }

    fn complete(&mut self, event: &Event) {
        let long_enough = |id: &u32| self.window.get(*id).to >= event.end();
        let issued = self.find(event, ISSUED).filter(long_enough);
        if issued.is_none() && self.internal_flush_completed(event) {
            return;
        }
        let short_enough = |id: &u32| self.window.get(*id).to <= event.end();
        let waiting = || self.find(event, WAITING).filter(short_enough);
        let found = issued
            .or_else(waiting)
            .or_else(|| self.find_exact(event, QUEUED));
        let Some(id) = found else {
            return self.unmatched("completion without queue");
        };
        if event.end() < self.window.get(id).to {
            return self.complete_part(id, event);
        }
        self.fit(id, event);
        let issued = self.window.get(id).issue != NONE;
        let ios = self.end(id, |slot| {
            slot.complete = event.time;
            slot.cpu_complete = event.cpu;
            slot.error = event.error;
        });
        self.counts.completed += ios;
        self.counts.without_issue += if issued { 0 } else { ios };
    }

    /// The first part of a request is done; it goes on with the rest.
    fn complete_part(&mut self, id: u32, event: &Event) {
        self.counts.partial_completions += 1;
        self.starts.remove(&mut self.window, id);
        self.window.get_mut(id).from = event.end();
        self.starts.insert(&mut self.window, id);
    }

    /// Ends a request: it and all that it carries. Returns how many I/Os that were.
    fn end(&mut self, id: u32, with: impl Fn(&mut Slot)) -> u64 {
        self.delist(id);
        let number = self.window.number(id);
        let issue = self.window.get(id).issue;
        let (mut next, mut ios) = (id, 0);
        while next != NIL {
            let slot = self.window.get_mut(next);
            slot.issue = issue;
            with(slot);
            if slot.state == MERGED {
                slot.merged_into = number;
            }
            self.rests -= u64::from(std::mem::take(&mut slot.rest));
            slot.state = OVER;
            self.lanes.leave(slot.lane);
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
        let ios = self.end(id, |_| ());
        *self.counts.unmatched.entry("never completed").or_default() += ios;
    }

    fn split(&mut self, event: &Event) {
        let at = event.split_at;
        let found = self.find(event, QUEUED);
        let fits =
            |id: &u32| (event.sector.saturating_add(1)..self.window.get(*id).to).contains(&at);
        match found.filter(fits) {
            Some(id) => self.cut(id, at),
            None => self.unmatched("split without queue"),
        }
    }

    fn other(&mut self, event: &Event) {
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
