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

/// What is missing in a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// What was counted.
    pub counts: Counts,
    /// Events at which the kernel did not run a program, as it was at work on that CPU; `None` where the kernel does not count them.
    pub missed: Option<u64>,
    /// I/Os not over when the recording ended.
    pub unfinished: u64,
}

impl Lost {
    /// I/Os that should be in the trace and are not, and events not seen.
    #[must_use]
    pub fn lost(&self) -> u64 {
        let counts = &self.counts;
        counts.ring_full + counts.map_full + self.missed.unwrap_or(0)
    }

    /// By reason what is in no record; the lost ones among them.
    #[must_use]
    pub fn reasons(&self) -> BTreeMap<String, u64> {
        let counts = &self.counts;
        let reasons = [
            ("completion without queue", counts.unqueued),
            ("never completed", self.unfinished + counts.unended),
            ("more than 256 merged", counts.too_merged),
            ("lost: ring full", counts.ring_full),
            ("lost: too many in flight", counts.map_full),
            (
                "lost: event skipped by the kernel",
                self.missed.unwrap_or(0),
            ),
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
        let lost = Lost {
            counts,
            missed: Some(7),
            unfinished: 5,
        };
        assert_eq!(lost.lost(), 102 + 103 + 7);
        let reasons = lost.reasons();
        assert_eq!(reasons["never completed"], 105 + 5);
        assert_eq!(reasons["completion without queue"], 104);
        assert!(Lost::default().reasons().is_empty());
        assert!(
            Lost::default()
                .facts()
                .contains_key("capture.skipped_events")
        );
    }
}
