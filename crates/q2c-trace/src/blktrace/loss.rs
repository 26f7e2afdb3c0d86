//! Lost records, found by the sequence numbers of each device and CPU.

use super::event::Event;
use super::hash::IntMap;
use std::collections::BTreeMap;

/// What was lost or strange in the files, counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Records that the sequence numbers say were there.
    pub lost: u64,
    /// Records left out or corrected, by reason.
    pub reasons: BTreeMap<&'static str, u64>,
    /// Times at which records were found missing.
    pub gaps: u64,
}

impl Losses {
    pub(crate) fn count(&mut self, reason: &'static str, n: u64) {
        *self.reasons.entry(reason).or_default() += n;
    }
}

/// What a sequence number says of its record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// The next one.
    Next,
    /// Records before it are missing.
    AfterGap,
    /// It was there already.
    Again,
}

/// The last sequence number of each device and CPU.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sequences {
    last: IntMap<u64, u32>,
    /// The one of the last event, kept out of the map.
    key: u64,
    current: u32,
}

impl Sequences {
    /// Devices and CPUs that are told apart.
    const MOST: usize = 1 << 20;

    /// Checks an event's number.
    #[inline]
    pub(crate) fn check(&mut self, event: &Event, losses: &mut Losses) -> Seen {
        let key = u64::from(event.device) << 32 | u64::from(event.cpu);
        if key != self.key {
            self.change(key);
        }
        let step = event.sequence.wrapping_sub(self.current);
        if step == 1 {
            self.current = event.sequence;
            return Seen::Next;
        }
        self.stepped(event.sequence, step, losses)
    }

    fn change(&mut self, key: u64) {
        if self.last.len() < Self::MOST {
            self.last.insert(self.key, self.current);
        }
        self.current = self.last.get(&key).copied().unwrap_or(0);
        self.key = key;
    }

    fn stepped(&mut self, sequence: u32, step: u32, losses: &mut Losses) -> Seen {
        if sequence == 0 {
            // A tracer that does not number its records.
            return Seen::Next;
        }
        if step == 0 {
            losses.count("duplicate record", 1);
            return Seen::Again;
        }
        if step < 1 << 31 {
            losses.lost += u64::from(step - 1);
            losses.gaps += 1;
            self.current = sequence;
            return Seen::AfterGap;
        }
        // Out of order: it was taken for lost when a later one came.
        losses.count("record out of sequence", 1);
        losses.lost = losses.lost.saturating_sub(1);
        Seen::Next
    }
}
