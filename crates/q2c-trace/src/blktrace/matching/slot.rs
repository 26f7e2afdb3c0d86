//! An I/O from its first event to its end, and the ring of all I/Os in the order of arrival.

use super::super::event::{self, BlktraceEvent, category};
use crate::span::{NONE, NONE_32, Span};
use q2c_model::{Layer, Op, OpFlags};

/// A slot's name (see [`SlotRing`]) that stands for no slot.
pub(super) const NIL: u32 = u32::MAX;

/// The stage of an I/O, as one bit, so that a search can accept several stages.
pub(super) type SlotStage = u8;
/// A bio without a request yet.
pub(super) const QUEUED: SlotStage = 1;
/// The I/O has its own request.
pub(super) const REQUESTED: SlotStage = 2;
/// The request is in the scheduler.
pub(super) const INSERTED: SlotStage = 4;
/// The request is with the driver.
pub(super) const ISSUED: SlotStage = 8;
/// The bio was merged into the request of another I/O, its `carrier`.
pub(super) const MERGED: SlotStage = 16;
/// The I/O completed or was given up.
pub(super) const OVER: SlotStage = 32;
/// The data of a flush sequence are done, and the sequence's last completion is outstanding.
pub(super) const FLUSHING: SlotStage = 64;
/// The I/O has its own request, which the driver does not have yet.
pub(super) const WAITING: SlotStage = REQUESTED | INSERTED;

/// A slot's neighbours in its bucket of an index; [`NIL`] at either end of the bucket.
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

/// One bio, and its request while it has its own.
///
/// A request with merged bios is a chain: the carrier's `first` and `last` name its ends, a
/// member's `next` names the next member, and its `carrier` the carrier. Only the carrier is in the
/// indexes. Times are [`NONE`] if no event was seen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    /// The I/O; its operation, most of its flags and its id are set when it is handed out, and
    /// `merged_into` gets the id of the carrier. Merges and partial completions keep its sector.
    pub(super) span: Span,
    /// Incomplete sectors of the request: the first, and the sector after the last.
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) device: u32,
    pub(super) category: u32,
    /// Number of gaps in the trace before the I/O's first event.
    pub(super) epoch: u32,
    /// While merged: the slot of the carrier.
    pub(super) carrier: u32,
    /// First and last slot merged into this one, and the next member of this slot's chain.
    pub(super) first: u32,
    pub(super) last: u32,
    pub(super) next: u32,
    pub(super) by_start: Links,
    pub(super) by_end: Links,
    pub(super) state: SlotStage,
    /// True for a split's second part until its next event: older kernels report its Q again.
    pub(super) is_split_rest: bool,
}

/// The category bits that a request's events share: direction, discard, passthrough, zone.
pub(super) const fn kind(category: u32) -> u32 {
    category & (category::WRITE | category::DISCARD | category::PC | category::ZONE)
}

impl Slot {
    pub(super) fn new(event: &BlktraceEvent, state: SlotStage, epoch: u32) -> Slot {
        Slot {
            span: Span {
                id: 0,
                layer: Layer::Block,
                device: event.device(),
                op: Op::Other,
                flags: OpFlags(0),
                sector: event.sector,
                bytes: u64::from(event.bytes),
                begin_ns: NONE,
                submit_end_ns: NONE,
                getrq_ns: NONE,
                insert_ns: NONE,
                issue_ns: NONE,
                end_ns: NONE,
                merged_into: NONE,
                cgroup: event.cgroup,
                lane: 0,
                depth_at_submit: 1,
                pid: event.pid,
                cpu_submit: event.cpu,
                cpu_complete: NONE_32,
                hctx: NONE_32,
                tag: NONE_32,
                error: 0,
            },
            from: event.sector,
            to: event.end(),
            device: event.device,
            category: event.category,
            epoch,
            carrier: NIL,
            first: NIL,
            last: NIL,
            next: NIL,
            by_start: Links::default(),
            by_end: Links::default(),
            state,
            is_split_rest: false,
        }
    }

    /// True if the event may belong to this I/O: it is in one of `states`, begins at the event's
    /// sector, and is of the event's kind.
    pub(super) fn fits(&self, event: &BlktraceEvent, states: SlotStage) -> bool {
        self.state & states != 0
            && self.device == event.device
            && self.from == event.sector
            && (self.span.bytes == 0) == (event.bytes == 0)
            && kind(self.category) == kind(event.category)
    }

    /// The I/O with its operation and flags. `id` is the number of the slot.
    pub(super) fn span(&self, id: u64) -> Span {
        Span {
            id,
            op: event::op(self.category, self.span.bytes as u32),
            flags: event::flags(self.category).union(self.span.flags),
            ..self.span
        }
    }
}

/// Ring of slots in the order of arrival.
///
/// A slot has a number, which rises by one, and a name, the low 32 bits of the number. The ring's
/// length is a power of two and doubles if it is full. A name is valid until `first` has passed its
/// slot.
pub(super) struct SlotRing {
    slots: Vec<Slot>,
    mask: u32,
    /// Number of the oldest slot, and of the next one to come.
    pub(super) first: u64,
    pub(super) end: u64,
}

impl SlotRing {
    const MIN_SLOTS: usize = 1024;

    pub(super) fn new() -> Self {
        let empty = Slot::new(&BlktraceEvent::default(), OVER, 0);
        SlotRing {
            slots: vec![empty; Self::MIN_SLOTS],
            mask: Self::MIN_SLOTS as u32 - 1,
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

    pub(super) fn push(&mut self, slot: Slot) -> u32 {
        if self.end as u32 == NIL {
            // The next name would be NIL, so an unused slot takes it.
            let mut unused = slot;
            (unused.state, unused.span.begin_ns) = (OVER, NONE);
            self.put(unused);
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
        let empty = Slot::new(&BlktraceEvent::default(), OVER, 0);
        self.slots = vec![empty; old.len() * 2];
        let (old_mask, mask) = (self.mask, self.slots.len() as u32 - 1);
        self.mask = mask;
        for id in self.first..self.end {
            let id = id as u32;
            self.slots[(id & mask) as usize] = old[(id & old_mask) as usize];
        }
    }

    pub(super) fn number(&self, id: u32) -> u64 {
        self.first + u64::from(id.wrapping_sub(self.first as u32))
    }
}
