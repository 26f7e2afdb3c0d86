//! What is in flight under a sleep rule, oldest first.

use crate::engine::Completion;
use crate::sample::Sample;
use q2c_policy::{Decision, Token};

/// One request.
#[derive(Clone, Copy)]
pub(crate) struct Flight {
    pub sample: Sample,
    /// When the submission returned, on the run's clock.
    pub submitted: u64,
    pub decision: Decision,
    pub token: Token,
    /// When its sleep ends, on the run's clock; when it was submitted, where it does not sleep.
    pub due: u64,
    /// It was complete when its sleep ended.
    pub missed: bool,
}

impl Default for Flight {
    fn default() -> Self {
        Flight {
            sample: Sample::default(),
            submitted: 0,
            decision: Decision::Poll,
            token: Token::default(),
            due: 0,
            missed: false,
        }
    }
}

/// All of them, by slot, in the order of their submissions. Nothing here allocates after the making.
#[derive(Default)]
pub(crate) struct Flights {
    by_slot: Vec<Flight>,
    /// Neighbours in the order of submission, two per slot; the last entry closes the ring.
    older: Vec<u32>,
    newer: Vec<u32>,
    /// Seen complete by one look, to be recorded.
    pub found: Vec<Completion>,
    /// When a look last found nothing (more): all that was in flight then was not complete.
    pub looked: u64,
}

impl Flights {
    pub fn new(slots: usize) -> Self {
        // Alone, the end is its own neighbour.
        let neighbours = vec![slots as u32; slots + 1];
        Flights {
            by_slot: vec![Flight::default(); slots],
            older: neighbours.clone(),
            newer: neighbours,
            found: Vec::with_capacity(slots),
            looked: 0,
        }
    }

    /// The entry that closes the ring.
    fn end(&self) -> usize {
        self.by_slot.len()
    }

    pub fn add(&mut self, slot: u16, flight: Flight) {
        let (new, end) = (slot as usize, self.end());
        self.by_slot[new] = flight;
        let newest = self.older[end];
        (self.older[new], self.newer[new]) = (newest, end as u32);
        self.newer[newest as usize] = u32::from(slot);
        self.older[end] = u32::from(slot);
    }

    pub fn remove(&mut self, slot: u16) -> Flight {
        let gone = slot as usize;
        let (older, newer) = (self.older[gone], self.newer[gone]);
        self.newer[older as usize] = newer;
        self.older[newer as usize] = older;
        self.by_slot[gone]
    }

    /// A request was seen complete; until `unseen` nobody can have seen it.
    pub fn judge(&mut self, slot: u16, unseen: u64) {
        let flight = &mut self.by_slot[slot as usize];
        flight.missed = matches!(flight.decision, Decision::Sleep(_)) && unseen < flight.due;
        if flight.missed && flight.sample.is(Sample::SLEPT) {
            flight.sample.flags |= Sample::MISSED;
        }
    }

    /// The one submitted first.
    pub fn oldest(&mut self) -> Option<&mut Flight> {
        let oldest = self.newer[self.end()] as usize;
        self.by_slot.get_mut(oldest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(submitted: u64) -> Flight {
        Flight {
            submitted,
            ..Flight::default()
        }
    }

    #[test]
    fn the_oldest_is_known_whatever_is_taken_out() {
        let mut flights = Flights::new(4);
        assert!(flights.oldest().is_none());
        for (slot, time) in [(2, 10), (0, 11), (3, 12), (1, 13)] {
            flights.add(slot, at(time));
        }
        let mut without = |slot| {
            flights.remove(slot);
            flights.oldest().map(|flight| flight.submitted)
        };
        assert_eq!(without(0), Some(10), "from the middle");
        assert_eq!(without(2), Some(12), "the oldest");
        assert_eq!(without(1), Some(12), "the newest");
        assert_eq!(without(3), None);
        flights.add(0, at(20));
        flights.add(1, at(21));
        assert_eq!(flights.oldest().map(|flight| flight.submitted), Some(20));
    }
}
