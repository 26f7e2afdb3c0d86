//! An I/O in flight, and the window that holds all of them in the order of arrival.

use super::super::event::{self, Event, category};
use crate::span::{NONE, NONE_32, Span};

/// No slot.
pub(super) const NIL: u32 = u32::MAX;

/// How far an I/O has come, as bits so that several can be asked for.
pub(super) type State = u8;
/// A bio without a request.
pub(super) const QUEUED: State = 1;
/// Has its request.
pub(super) const REQUESTED: State = 2;
/// The request is in the scheduler.
pub(super) const INSERTED: State = 4;
/// The request is with the driver.
pub(super) const ISSUED: State = 8;
/// In the request of another.
pub(super) const MERGED: State = 16;
/// Over: completed, or given up.
pub(super) const OVER: State = 32;
/// Has a request of its own that the driver has not got.
pub(super) const WAITING: State = REQUESTED | INSERTED;

/// Neighbours in the list of one bucket.
#[derive(Clone, Copy, Debug)]
pub(super) struct Links {
    pub(super) before: u32,
    pub(super) after: u32,
    pub(super) listed: bool,
}

impl Default for Links {
    fn default() -> Self {
        Links {
            before: NIL,
            after: NIL,
            listed: false,
        }
    }
}

/// One bio; while it has a request of its own also that request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    pub(super) queue: u64,
    pub(super) getrq: u64,
    pub(super) insert: u64,
    pub(super) issue: u64,
    pub(super) complete: u64,
    /// What is left of the request: first sector, and first behind.
    pub(super) from: u64,
    pub(super) to: u64,
    /// The bio's own.
    pub(super) sector: u64,
    pub(super) bytes: u64,
    pub(super) cgroup: u64,
    pub(super) device: u32,
    pub(super) category: u32,
    pub(super) pid: u32,
    pub(super) cpu: u32,
    pub(super) cpu_complete: u32,
    pub(super) lane: u32,
    pub(super) depth: u32,
    /// Gaps in the trace when it came.
    pub(super) epoch: u32,
    /// The slot that carries it, while merged; and that one's number at the end.
    pub(super) carrier: u32,
    pub(super) merged_into: u64,
    /// First and last slot merged into it, and the next one beside it.
    pub(super) first: u32,
    pub(super) last: u32,
    pub(super) next: u32,
    pub(super) by_start: Links,
    pub(super) by_end: Links,
    pub(super) error: u16,
    pub(super) state: State,
    /// The rest of a split, whose Q may be told again.
    pub(super) rest: bool,
}

/// What must agree between the events of one request: direction, discard, passthrough.
pub(super) const fn kind(category: u32) -> u32 {
    category & (category::WRITE | category::DISCARD | category::PC | category::ZONE)
}

impl Slot {
    pub(super) fn new(event: &Event, state: State, epoch: u32) -> Slot {
        Slot {
            queue: NONE,
            getrq: NONE,
            insert: NONE,
            issue: NONE,
            complete: NONE,
            from: event.sector,
            to: event.end(),
            sector: event.sector,
            bytes: u64::from(event.bytes),
            cgroup: event.cgroup,
            device: event.device,
            category: event.category,
            pid: event.pid,
            cpu: event.cpu,
            cpu_complete: NONE_32,
            lane: 0,
            depth: 1,
            epoch,
            carrier: NIL,
            merged_into: NONE,
            first: NIL,
            last: NIL,
            next: NIL,
            by_start: Links::default(),
            by_end: Links::default(),
            error: 0,
            state,
            rest: false,
        }
    }

    /// Whether an event of these sectors' beginning and this kind can be of its request.
    pub(super) fn fits(&self, event: &Event, states: State) -> bool {
        self.state & states != 0
            && self.device == event.device
            && self.from == event.sector
            && (self.bytes == 0) == (event.bytes == 0)
            && kind(self.category) == kind(event.category)
    }

    /// Its first time; [`NONE`] for a slot that is no I/O.
    pub(super) fn start(&self) -> u64 {
        let times = [
            self.queue,
            self.getrq,
            self.insert,
            self.issue,
            self.complete,
        ];
        times.into_iter().find(|at| *at != NONE).unwrap_or(NONE)
    }

    pub(super) fn span(&self, id: u64) -> Span {
        Span {
            id,
            device: Event {
                device: self.device,
                ..Event::default()
            }
            .device(),
            op: event::op(self.category, self.bytes as u32),
            flags: event::flags(self.category),
            sector: self.sector,
            bytes: self.bytes,
            queue: self.queue,
            getrq: self.getrq,
            insert: self.insert,
            issue: self.issue,
            complete: self.complete,
            merged_into: self.merged_into,
            cgroup: self.cgroup,
            lane: self.lane,
            depth: self.depth,
            pid: self.pid,
            cpu_submit: self.cpu,
            cpu_complete: self.cpu_complete,
            hctx: NONE_32,
            tag: NONE_32,
            // The kernel writes the negative errno in 16 bits, other tracers the positive one.
            error: -i32::from((self.error as i16).unsigned_abs()),
        }
    }
}

/// Slots in the order of arrival, named by the low 32 bits of their number.
pub(super) struct Window {
    slots: Vec<Slot>,
    mask: u32,
    /// Numbers of the first slot and of the one behind the last.
    pub(super) first: u64,
    pub(super) end: u64,
}

impl Window {
    const SMALLEST: usize = 1024;

    pub(super) fn new() -> Self {
        let empty = Slot::new(&Event::default(), OVER, 0);
        Window {
            slots: vec![empty; Self::SMALLEST],
            mask: Self::SMALLEST as u32 - 1,
            first: 0,
            end: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        (self.end - self.first) as usize
    }

    #[inline]
    pub(super) fn get(&self, id: u32) -> &Slot {
        &self.slots[(id & self.mask) as usize]
    }

    #[inline]
    pub(super) fn get_mut(&mut self, id: u32) -> &mut Slot {
        &mut self.slots[(id & self.mask) as usize]
    }

    /// Appends a slot and returns its name.
    pub(super) fn push(&mut self, slot: Slot) -> u32 {
        if self.end as u32 == NIL {
            // That name means no slot.
            self.put(Slot {
                state: OVER,
                queue: NONE,
                ..slot
            });
        }
        self.put(slot)
    }

    fn put(&mut self, slot: Slot) -> u32 {
        if self.len() == self.slots.len() {
            self.grow();
        }
        let id = self.end as u32;
        *self.get_mut(id) = slot;
        self.end += 1;
        id
    }

    fn grow(&mut self) {
        let old = std::mem::take(&mut self.slots);
        let empty = Slot::new(&Event::default(), OVER, 0);
        self.slots = vec![empty; old.len() * 2];
        let (was, mask) = (self.mask, self.slots.len() as u32 - 1);
        self.mask = mask;
        for id in self.first..self.end {
            let id = id as u32;
            self.slots[(id & mask) as usize] = old[(id & was) as usize];
        }
    }

    /// The whole number of a slot in the window.
    pub(super) fn number(&self, id: u32) -> u64 {
        self.first + u64::from(id.wrapping_sub(self.first as u32))
    }
}
