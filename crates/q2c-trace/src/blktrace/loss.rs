//! Detects lost records by the sequence numbers of each device and CPU.

use super::IntMap;
use super::event::BlktraceEvent;
use std::collections::BTreeMap;

/// Counts of lost and bad records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlktraceLosses {
    /// Number of records that are missing by the sequence numbers.
    pub lost: u64,
    /// True if numbers are missing in a source that may have been filtered, so that the number of
    /// lost records is unknown.
    pub not_told: bool,
    /// Number of records left out or corrected, by reason.
    pub reasons: BTreeMap<&'static str, u64>,
    /// Number of places at which records were missing.
    pub gaps: u64,
}

impl BlktraceLosses {
    pub(crate) fn count(&mut self, reason: &'static str, n: u64) {
        *self.reasons.entry(reason).or_default() += n;
    }

    /// Forgets the number of lost records, because the source may have been filtered.
    pub(crate) fn forget_lost(&mut self) {
        self.not_told |= self.lost > 0;
        self.lost = 0;
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SequenceStep {
    Next,
    /// Records before this one are missing.
    AfterGap,
    Again,
}

/// The last sequence number of each device and CPU.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sequences {
    last: IntMap<u64, u32>,
    /// Device and CPU of the last event, and its number. They are kept out of the map while events
    /// of one device and CPU follow each other.
    key: u64,
    current: u32,
}

impl Sequences {
    /// Most pairs of device and CPU whose last number is kept.
    const MOST: usize = 1 << 20;

    /// Compares an event's number with the previous one of the same device and CPU.
    #[inline]
    pub(crate) fn check(
        &mut self,
        event: &BlktraceEvent,
        losses: &mut BlktraceLosses,
    ) -> SequenceStep {
        let key = u64::from(event.device) << 32 | u64::from(event.cpu);
        if key != self.key {
            self.change(key);
        }
        let step = event.sequence.wrapping_sub(self.current);
        if step == 1 {
            self.current = event.sequence;
            return SequenceStep::Next;
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

    fn stepped(&mut self, sequence: u32, step: u32, losses: &mut BlktraceLosses) -> SequenceStep {
        if sequence == 0 {
            // The tracer does not number its records.
            return SequenceStep::Next;
        }
        if step == 0 {
            losses.count("duplicate record", 1);
            return SequenceStep::Again;
        }
        if step < 1 << 31 {
            losses.lost += u64::from(step - 1);
            losses.gaps += 1;
            self.current = sequence;
            return SequenceStep::AfterGap;
        }
        // The record is out of order. It was counted as lost when a later one came.
        losses.count("record out of sequence", 1);
        losses.lost = losses.lost.saturating_sub(1);
        SequenceStep::Next
    }
}
