//! Index of the slots by device and sector: a multimap that keeps entries of one key in the order
//! of arrival.

use super::super::{BlktraceEvent, GOLDEN};
use super::slot::{Links, NIL, Slot, SlotRing};

/// The key of an index: the first sector of a request.
pub(super) const BY_START: bool = false;
/// The key of an index: the sector after a request's last one.
pub(super) const BY_END: bool = true;

/// Hash table whose buckets are doubly linked lists through the slots.
///
/// A slot's key must not change while the slot is listed. To change it, remove the slot, change the
/// key, and insert the slot again.
pub(super) struct Index<const KEY: bool> {
    /// First and last slot of each bucket.
    buckets: Vec<(u32, u32)>,
    shift: u32,
    listed: usize,
}

impl<const KEY: bool> Index<KEY> {
    const MIN_BUCKETS_LOG2: u32 = 10;
    /// Most slots of a bucket that are examined for an event, which bounds the time per event.
    const MAX_EXAMINED: usize = 4096;

    pub(super) fn new() -> Self {
        Index {
            buckets: vec![(NIL, NIL); 1 << Self::MIN_BUCKETS_LOG2],
            shift: u64::BITS - Self::MIN_BUCKETS_LOG2,
            listed: 0,
        }
    }

    fn sector(slot: &Slot) -> u64 {
        if KEY == BY_END { slot.to } else { slot.from }
    }

    fn links(slot: &mut Slot) -> &mut Links {
        if KEY == BY_END {
            &mut slot.by_end
        } else {
            &mut slot.by_start
        }
    }

    #[inline]
    fn bucket(&self, device: u32, sector: u64) -> usize {
        let mixed = (sector ^ u64::from(device) << 43).wrapping_mul(GOLDEN);
        (mixed >> self.shift) as usize
    }

    /// The slots of the bucket of the event's first sector, oldest first, at most
    /// [`Self::MAX_EXAMINED`]. The caller compares keys, because a bucket also holds slots with
    /// other keys.
    #[inline]
    pub(super) fn slots<'a>(
        &self,
        window: &'a SlotRing,
        event: &BlktraceEvent,
    ) -> impl Iterator<Item = (u32, &'a Slot)> + use<'a, KEY> {
        let (mut next, _last) = self.buckets[self.bucket(event.device, event.sector)];
        let slots = std::iter::from_fn(move || {
            let id = next;
            let slot = (id != NIL).then(|| window.get(id))?;
            next = if KEY == BY_END {
                slot.by_end.after
            } else {
                slot.by_start.after
            };
            Some((id, slot))
        });
        slots.take(Self::MAX_EXAMINED)
    }

    /// Appends a slot to its bucket, after all others with its key.
    pub(super) fn insert(&mut self, window: &mut SlotRing, id: u32) {
        if self.listed >= self.buckets.len() {
            self.grow(window);
        }
        self.listed += 1;
        self.append(window, id);
    }

    fn append(&mut self, window: &mut SlotRing, id: u32) {
        let slot = window.get(id);
        let bucket = self.bucket(slot.device, Self::sector(slot));
        let (_first, last) = self.buckets[bucket];
        *Self::links(window.get_mut(id)) = Links {
            before: last,
            after: NIL,
            listed: true,
        };
        match last {
            NIL => self.buckets[bucket].0 = id,
            last => Self::links(window.get_mut(last)).after = id,
        }
        self.buckets[bucket].1 = id;
    }

    /// Removes a slot, if it is listed. Its key must be the one with which it was inserted.
    pub(super) fn remove(&mut self, window: &mut SlotRing, id: u32) {
        let slot = window.get_mut(id);
        let links = std::mem::take(Self::links(slot));
        if !links.listed {
            return;
        }
        self.listed -= 1;
        let (device, sector) = (slot.device, Self::sector(slot));
        let bucket = self.bucket(device, sector);
        match links.before {
            NIL => self.buckets[bucket].0 = links.after,
            before => Self::links(window.get_mut(before)).after = links.after,
        }
        match links.after {
            NIL => self.buckets[bucket].1 = links.before,
            after => Self::links(window.get_mut(after)).before = links.before,
        }
    }

    /// Doubles the number of buckets. Slots are inserted again in the order of arrival.
    fn grow(&mut self, window: &mut SlotRing) {
        self.buckets = vec![(NIL, NIL); self.buckets.len() * 2];
        self.shift -= 1;
        for number in window.first..window.end {
            let id = number as u32;
            if Self::links(window.get_mut(id)).listed {
                self.append(window, id);
            }
        }
    }
}
