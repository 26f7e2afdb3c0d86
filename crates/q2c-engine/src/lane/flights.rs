//! The requests in flight under a sleep rule, in the order of their submissions.

use crate::{RingCompletion, Sample};
use q2c_policy::{Decision, Token};

#[derive(Clone, Copy, Default)]
pub(crate) struct HybridFlight {
    pub sample: Sample,
    /// Time at which the submission returned, on the run's clock.
    pub submitted_ns: u64,
    pub decision: Decision,
    pub token: Token,
    /// Time at which its sleep ends, on the run's clock; `submitted_ns` if it does not sleep.
    pub due_ns: u64,
    /// True if the request was complete when its sleep ended.
    pub missed: bool,
}

/// The requests in flight, by slot, linked in the order of their submissions. After
/// [`Flights::new`] nothing is allocated.
///
/// The links form a ring of slots, closed by one extra entry. [`Flights::add`] MUST be called only
/// for a slot outside the ring.
#[derive(Default)]
pub(crate) struct Flights {
    by_slot: Vec<HybridFlight>,
    /// The neighbours of each slot in the order of submission; the last entry closes the ring.
    /// `older` is [`OUTSIDE`] for a slot outside the ring.
    older: Vec<u32>,
    newer: Vec<u32>,
    /// Completions that one look has found and that are not yet recorded.
    pub found: Vec<RingCompletion>,
    /// Time of the last look that found nothing more: no request then in flight was complete.
    pub empty_look_ns: u64,
}

const OUTSIDE: u32 = u32::MAX;

impl Flights {
    pub(crate) fn new(slots: usize) -> Self {
        // In an empty ring the last entry is its own neighbour.
        let neighbours = vec![slots as u32; slots + 1];
        let mut older = vec![OUTSIDE; slots];
        older.push(slots as u32);
        Flights {
            by_slot: vec![HybridFlight::default(); slots],
            older,
            newer: neighbours,
            found: Vec::with_capacity(slots),
            empty_look_ns: 0,
        }
    }

    /// Index of the entry that closes the ring.
    fn closing_entry(&self) -> usize {
        self.by_slot.len()
    }

    pub(crate) fn add(&mut self, slot: u16, flight: HybridFlight) {
        let (new, closing_entry) = (slot as usize, self.closing_entry());
        self.by_slot[new] = flight;
        let newest = self.older[closing_entry];
        (self.older[new], self.newer[new]) = (newest, closing_entry as u32);
        self.newer[newest as usize] = u32::from(slot);
        self.older[closing_entry] = u32::from(slot);
    }

    /// Takes a request that is now complete out of the ring, and decides whether it was missed. It
    /// was found by the first look after `empty_look`. Returns false if the slot is outside the
    /// ring.
    pub(crate) fn complete(&mut self, slot: u16, empty_look: u64) -> bool {
        let slot = slot as usize;
        let (older, newer) = (self.older[slot], self.newer[slot]);
        if older == OUTSIDE {
            return false;
        }
        self.newer[older as usize] = newer;
        self.older[newer as usize] = older;
        self.older[slot] = OUTSIDE;
        let flight = &mut self.by_slot[slot];
        flight.missed = matches!(flight.decision, Decision::Sleep(_)) && empty_look < flight.due_ns;
        if flight.missed && flight.sample.is(Sample::SLEPT) {
            flight.sample.flags |= Sample::MISSED;
        }
        true
    }

    /// The latest request of the slot, in the ring or taken out of it.
    pub(crate) fn latest(&self, slot: u16) -> HybridFlight {
        self.by_slot[slot as usize]
    }

    /// The oldest request; `None` if nothing is in flight.
    pub(crate) fn oldest(&mut self) -> Option<&mut HybridFlight> {
        let oldest = self.newer[self.closing_entry()] as usize;
        self.by_slot.get_mut(oldest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn submitted_at(submitted_ns: u64) -> HybridFlight {
        HybridFlight {
            submitted_ns,
            ..HybridFlight::default()
        }
    }

    #[test]
    fn the_oldest_is_known_whatever_is_taken_out() {
        let mut flights = Flights::new(4);
        assert!(flights.oldest().is_none());
        for (slot, time) in [(2, 10), (0, 11), (3, 12), (1, 13)] {
            flights.add(slot, submitted_at(time));
        }
        for (slot, oldest, case) in [
            (0, Some(10), "from the middle"),
            (2, Some(12), "the oldest"),
            (1, Some(12), "the newest"),
            (3, None, "the last"),
        ] {
            assert!(flights.complete(slot, 0) && !flights.complete(slot, 0));
            let submitted_ns = flights.oldest().map(|flight| flight.submitted_ns);
            assert_eq!(submitted_ns, oldest, "{case}");
        }
        flights.add(0, submitted_at(20));
        flights.add(1, submitted_at(21));
        assert_eq!(flights.oldest().map(|flight| flight.submitted_ns), Some(20));
    }
}
