//! What the program counted: `struct counts` of `probes/block_io/record.h`.

use std::collections::BTreeMap;

/// Fields of the program's `struct counts`, in its order.
pub(super) const FIELDS: usize = 12;

/// Sums over all CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// I/Os handed over.
    pub records: u64,
    /// Complete, and not wanted for their size or latency.
    pub filtered: u64,
    /// Lost: the ring of their CPU was full.
    pub ring_full: u64,
    /// Lost: too many in flight.
    pub map_full: u64,
    /// Complete without having been seen queued: in flight when the recording began, or an event was missed.
    pub unqueued: u64,
    /// Seen queued, and their end was not seen.
    pub unended: u64,
    /// Requests with more merged I/Os than are looked at.
    pub too_merged: u64,
    /// I/Os that another's request carried.
    pub merges: u64,
    /// Bios cut in two.
    pub splits: u64,
    /// Requests taken back by the driver.
    pub requeues: u64,
    /// Completions that were not a request's last.
    pub parts: u64,
    /// The kernel's own flush requests, which carry out those that were asked for.
    pub flushes: u64,
}

impl Counts {
    pub(super) fn of(cpus: &[[u64; FIELDS]]) -> Counts {
        let sum = |n: usize| cpus.iter().map(|cpu| cpu[n]).sum();
        Counts {
            records: sum(0),
            filtered: sum(1),
            ring_full: sum(2),
            map_full: sum(3),
            unqueued: sum(4),
            unended: sum(5),
            too_merged: sum(6),
            merges: sum(7),
            splits: sum(8),
            requeues: sum(9),
            parts: sum(10),
            flushes: sum(11),
        }
    }
}

/// I/Os not over when the recording ended, by how far they had come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unfinished {
    /// Queued: waiting for a request, or ended without one, as I/O does that may not wait.
    pub queued: u64,
    /// With a request.
    pub requested: u64,
    /// Handed to the driver.
    pub issued: u64,
}

impl Unfinished {
    /// Counts a `struct io`: `getrq_ns` is its fourth word, `issue_ns` its sixth.
    pub(super) fn add(&mut self, io: &[u64]) {
        match (io[3], io[5]) {
            (0, 0) => self.queued += 1,
            (_, 0) => self.requested += 1,
            _ => self.issued += 1,
        }
    }
}

/// What is missing in a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// What was counted.
    pub counts: Counts,
    /// Events at which the kernel did not run a program, as it was at work on that CPU; `None` where the kernel does not count them.
    pub missed: Option<u64>,
    /// I/Os not over when the recording ended.
    pub unfinished: Unfinished,
}

impl Lost {
    /// I/Os that were seen queued and are not in the trace though they should: without room, or their end was not seen. An end
    /// that was not seen shows when the bio is used again or the recording ends, so that each I/O counts once.
    #[must_use]
    pub fn lost(&self) -> u64 {
        let counts = &self.counts;
        counts.ring_full + counts.map_full + counts.unended + self.unfinished.issued
    }

    /// By reason what is in no record; the lost ones among them.
    #[must_use]
    pub fn reasons(&self) -> BTreeMap<String, u64> {
        let counts = &self.counts;
        let reasons = [
            ("completion without queue", counts.unqueued),
            ("never had a request", self.unfinished.queued),
            ("never issued", self.unfinished.requested),
            ("never completed", self.unfinished.issued),
            ("queued again, its end not seen", counts.unended),
            ("more than 256 merged", counts.too_merged),
            ("lost: ring full", counts.ring_full),
            ("lost: too many in flight", counts.map_full),
            // Of events, not of I/Os: what that means for I/Os stands above.
            ("event skipped by the kernel", self.missed.unwrap_or(0)),
        ];
        let any = reasons.into_iter().filter(|(_, n)| *n > 0);
        any.map(|(why, n)| (why.to_owned(), n)).collect()
    }

    /// What else is worth telling.
    #[must_use]
    pub fn facts(&self) -> BTreeMap<String, String> {
        let counts = &self.counts;
        let mut facts = BTreeMap::from([
            ("capture.filtered_out", counts.filtered),
            ("capture.merged", counts.merges),
            ("capture.splits", counts.splits),
            ("capture.requeues", counts.requeues),
            ("capture.partial_completions", counts.parts),
            ("capture.internal_flushes", counts.flushes),
        ]);
        facts.retain(|_, n| *n > 0);
        let mut facts: BTreeMap<String, String> = facts
            .into_iter()
            .map(|(name, n)| (name.to_owned(), n.to_string()))
            .collect();
        if self.missed.is_none() {
            let why = "not counted by this kernel (Linux 5.12 does)".to_owned();
            facts.insert("capture.skipped_events".to_owned(), why);
        }
        facts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_add_up_over_cpus() {
        let one: [u64; FIELDS] = std::array::from_fn(|n| n as u64);
        let counts = Counts::of(&[one, [100; FIELDS]]);
        assert_eq!(
            (counts.records, counts.filtered, counts.flushes),
            (100, 101, 111)
        );
        assert_eq!((counts.ring_full, counts.map_full), (102, 103));
        let mut unfinished = Unfinished::default();
        unfinished.add(&[1, 0, 5, 0, 0, 0]);
        unfinished.add(&[1, 0, 5, 6, 0, 0]);
        unfinished.add(&[1, 0, 5, 6, 0, 7]);
        unfinished.add(&[1, 0, 5, 6, 6, 7]);
        let lost = Lost {
            counts,
            missed: Some(7),
            unfinished,
        };
        assert_eq!(lost.lost(), 102 + 103 + 105 + 2);
        let reasons = lost.reasons();
        assert_eq!(reasons["never had a request"], 1);
        assert_eq!(reasons["never issued"], 1);
        assert_eq!(reasons["never completed"], 2);
        assert_eq!(reasons["queued again, its end not seen"], 105);
        assert_eq!(reasons["completion without queue"], 104);
        assert!(Lost::default().reasons().is_empty());
        assert!(
            Lost::default()
                .facts()
                .contains_key("capture.skipped_events")
        );
    }
}
