//! Finds earlier requests that a request overlaps, so that their order can be kept.

use std::collections::{HashMap, VecDeque};

/// Number of latest requests that are remembered. Conflicts with older requests are not found.
const MAX_RECENT: usize = 1 << 14;
/// Requests of more pieces than this are kept in a list of the latest `MAX_LONG` ones.
const MAX_LISTED_PIECES: usize = 64;
const MAX_LONG: usize = 256;
/// Base-2 logarithm of the size of a piece, bytes: requests are looked up by pieces of 64 KiB.
const PIECE_BITS: u32 = 16;

#[derive(Clone, Copy)]
struct EarlierIo {
    from: u64,
    to: u64,
    writes: bool,
    stream: u32,
    nth: u64,
}

/// The latest requests of one target. Two conflict if they overlap and at least one writes.
#[derive(Default)]
pub(crate) struct ConflictIndex {
    recent: VecDeque<EarlierIo>,
    pieces: HashMap<u64, Vec<EarlierIo>>,
    /// Requests that are too long to be listed in every piece that they touch.
    long: VecDeque<EarlierIo>,
    stream_counts: HashMap<u32, u64>,
}

impl ConflictIndex {
    /// Takes the next request of its stream. Returns the other streams that have an earlier request
    /// in conflict, and how many requests each must have submitted first.
    pub(crate) fn add(
        &mut self,
        from: u64,
        length: u64,
        writes: bool,
        stream: u32,
    ) -> Option<Box<[(u32, u64)]>> {
        let count = self.stream_counts.entry(stream).or_default();
        *count += 1;
        let new = EarlierIo {
            from,
            to: from + length,
            writes,
            stream,
            nth: *count,
        };
        if length == 0 {
            return None;
        }
        let conflicts = self.conflicts(&new);
        self.remember(new);
        (!conflicts.is_empty()).then(|| conflicts.into())
    }

    fn conflicts(&self, new: &EarlierIo) -> Vec<(u32, u64)> {
        let mut conflicts: Vec<(u32, u64)> = Vec::new();
        let neighbours = pieces(new).filter_map(|piece| self.pieces.get(&piece));
        for old in neighbours.flatten().chain(&self.long) {
            let overlap = old.from < new.to && new.from < old.to;
            if !overlap || !(old.writes || new.writes) || old.stream == new.stream {
                continue;
            }
            let mut streams = conflicts.iter_mut();
            match streams.find(|(stream, _)| *stream == old.stream) {
                Some((_, nth)) => *nth = old.nth.max(*nth),
                None => conflicts.push((old.stream, old.nth)),
            }
        }
        conflicts
    }

    fn remember(&mut self, new: EarlierIo) {
        if pieces(&new).count() > MAX_LISTED_PIECES {
            if self.long.len() == MAX_LONG {
                self.long.pop_front();
            }
            return self.long.push_back(new);
        }
        self.forget_covered(&new);
        if self.recent.len() == MAX_RECENT
            && let Some(oldest) = self.recent.pop_front()
        {
            for piece in pieces(&oldest) {
                if let Some(earlier) = self.pieces.get_mut(&piece) {
                    earlier.retain(|one| (one.stream, one.nth) != (oldest.stream, oldest.nth));
                    if earlier.is_empty() {
                        self.pieces.remove(&piece);
                    }
                }
            }
        }
        pieces(&new).for_each(|piece| self.pieces.entry(piece).or_default().push(new));
        self.recent.push_back(new);
    }

    /// Forgets earlier requests of the same stream that the new one covers, since a stream is
    /// submitted in order. A read does not make it forget a write.
    fn forget_covered(&mut self, new: &EarlierIo) {
        let covered = |old: &EarlierIo| {
            old.stream == new.stream
                && new.from <= old.from
                && old.to <= new.to
                && (new.writes || !old.writes)
        };
        for piece in pieces(new) {
            if let Some(earlier) = self.pieces.get_mut(&piece) {
                earlier.retain(|old| !covered(old));
            }
        }
    }
}

fn pieces(io: &EarlierIo) -> impl Iterator<Item = u64> + use<> {
    io.from >> PIECE_BITS..=(io.to - 1) >> PIECE_BITS
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_read_waits_for_the_write_of_another_stream() {
        let mut order = ConflictIndex::default();
        assert_eq!(order.add(4096, 4096, true, 0), None);
        assert_eq!(order.add(8192, 4096, false, 1), None, "beside it");
        let after = order.add(0, 4097, false, 1);
        assert_eq!(after.as_deref(), Some(&[(0, 1)][..]));
        let after = order.add(4096, 512, true, 0);
        assert_eq!(after.as_deref(), Some(&[(1, 2)][..]));
    }

    /// A block needs room for one request of each stream, and long discards are in a list.
    #[test]
    fn what_is_covered_is_forgotten_and_what_is_long_stands_once() {
        let mut order = ConflictIndex::default();
        for nth in 1..=10_000 {
            let after = order.add(4096, 4096, true, (nth % 2) as u32);
            assert_eq!(after.is_some(), nth > 1);
        }
        assert_eq!(order.pieces.values().map(Vec::len).sum::<usize>(), 2);
        (0..1000).for_each(|nth| drop(order.add(nth << 30, 1 << 30, true, 2)));
        assert_eq!((order.pieces.len(), order.long.len()), (1, MAX_LONG));
        let after = order.add((999 << 30) + 5, 512, false, 0);
        assert_eq!(after.as_deref(), Some(&[(2, 1000)][..]));
    }

    proptest! {
        #[test]
        fn every_conflict_is_found(
            requests in prop::collection::vec((0u64..40, 1u64..40, any::<bool>(), 0u32..3), 1..60)
        ) {
            let mut order = ConflictIndex::default();
            let mut past: Vec<(u64, u64, bool, u32, u64)> = Vec::new();
            for (place, blocks, writes, stream) in requests {
                let (from, length) = (place * 4096, blocks * 4096);
                let mut wanted = std::collections::BTreeMap::new();
                for (f, l, w, s, nth) in &past {
                    if *f < from + length && from < f + l && (*w || writes) && *s != stream {
                        wanted.insert(*s, *nth);
                    }
                }
                let conflicts = order.add(from, length, writes, stream);
                let conflicts: std::collections::BTreeMap<u32, u64> =
                    conflicts.iter().flat_map(|some| some.iter().copied()).collect();
                prop_assert_eq!(conflicts, wanted);
                let nth = past.iter().filter(|(.., s, _)| *s == stream).count() as u64 + 1;
                past.push((from, length, writes, stream, nth));
            }
        }
    }
}
