//! Index of the slots by device and sector: a multimap that keeps entries of one key in the order
//! of arrival.

use super::super::GOLDEN;
use super::slot::{Links, NIL, Slot, SlotRing};

/// Which sector of a slot is the key, and where the slot keeps its links.
pub(super) trait Edge {
    fn sector(slot: &Slot) -> u64;
    fn after(slot: &Slot) -> u32;
    fn links(slot: &mut Slot) -> &mut Links;
}

/// The key is the first sector of the request.
pub(super) struct StartEdge;
/// The key is the sector after the request's last one.
pub(super) struct EndEdge;

impl Edge for StartEdge {
    fn sector(slot: &Slot) -> u64 {
        slot.from
    }
    fn after(slot: &Slot) -> u32 {
        slot.by_start.after
    }
    fn links(slot: &mut Slot) -> &mut Links {
        &mut slot.by_start
    }
}

impl Edge for EndEdge {
    fn sector(slot: &Slot) -> u64 {
        slot.to
    }
    fn after(slot: &Slot) -> u32 {
        slot.by_end.after
    }
    fn links(slot: &mut Slot) -> &mut Links {
        &mut slot.by_end
    }
}

/// Hash table whose buckets are doubly linked lists through the slots.
///
/// A slot's key must not change while the slot is listed. To change it, remove the slot, change the
/// key, and insert the slot again.
pub(super) struct Index<E> {
    /// First and last slot of each bucket.
    buckets: Vec<(u32, u32)>,
    shift: u32,
    listed: usize,
    edge: std::marker::PhantomData<E>,
}

impl<E: Edge> Index<E> {
    const SMALLEST: u32 = 10;
    /// Most slots of a bucket that are examined for an event, which bounds the time per event.
    const REACH: usize = 4096;

    pub(super) fn new() -> Self {
        Index {
            buckets: vec![(NIL, NIL); 1 << Self::SMALLEST],
            shift: u64::BITS - Self::SMALLEST,
            listed: 0,
            edge: std::marker::PhantomData,
        }
    }

    #[inline]
    fn bucket(&self, device: u32, sector: u64) -> usize {
        let mixed = (sector ^ u64::from(device) << 43).wrapping_mul(GOLDEN);
        (mixed >> self.shift) as usize
    }

    /// The slots of the key's bucket, oldest first, at most [`Self::REACH`]. The caller compares
    /// keys, because a bucket also holds slots with other keys.
    #[inline]
    pub(super) fn slots<'a>(
        &self,
        window: &'a SlotRing,
        device: u32,
        sector: u64,
    ) -> impl Iterator<Item = (u32, &'a Slot)> + use<'a, E> {
        let mut next = self.buckets[self.bucket(device, sector)].0;
        let slots = std::iter::from_fn(move || {
            let id = next;
            let slot = (id != NIL).then(|| window.get(id))?;
            next = E::after(slot);
            Some((id, slot))
        });
        slots.take(Self::REACH)
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
        let bucket = self.bucket(slot.device, E::sector(slot));
        let last = self.buckets[bucket].1;
        *E::links(window.get_mut(id)) = Links {
            before: last,
            after: NIL,
            listed: true,
        };
        match last {
            NIL => self.buckets[bucket].0 = id,
            last => E::links(window.get_mut(last)).after = id,
        }
        self.buckets[bucket].1 = id;
    }

    /// Removes a slot, if it is listed. Its key must be the one with which it was inserted.
    pub(super) fn remove(&mut self, window: &mut SlotRing, id: u32) {
        let slot = window.get_mut(id);
        let links = std::mem::take(E::links(slot));
        if !links.listed {
            return;
        }
        self.listed -= 1;
        let (device, sector) = (slot.device, E::sector(slot));
        let bucket = self.bucket(device, sector);
        match links.before {
            NIL => self.buckets[bucket].0 = links.after,
            before => E::links(window.get_mut(before)).after = links.after,
        }
        match links.after {
            NIL => self.buckets[bucket].1 = links.before,
            after => E::links(window.get_mut(after)).before = links.before,
        }
    }

    /// Doubles the number of buckets. Slots are inserted again in the order of arrival.
    fn grow(&mut self, window: &mut SlotRing) {
        self.buckets = vec![(NIL, NIL); self.buckets.len() * 2];
        self.shift -= 1;
        for number in window.first..window.end {
            let id = number as u32;
            if E::links(window.get_mut(id)).listed {
                self.append(window, id);
            }
        }
    }
}
