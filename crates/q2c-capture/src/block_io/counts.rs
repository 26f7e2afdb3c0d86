//! The counts of the BPF program: `struct counts` of `probes/block_io/record.h`.

use std::collections::BTreeMap;

/// Number of fields of the program's `struct counts`; [`BlockIoCounts::sum`] takes them in the
/// order of the struct.
pub(super) const FIELDS: usize = 13;

/// The program's counts since the recording began, summed over all CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockIoCounts {
    /// I/Os whose record was put into a ring.
    pub records: u64,
    /// I/Os that completed but have not the wanted size or latency.
    pub filtered: u64,
    /// I/Os that were lost at their completion, because the ring of their CPU was full.
    pub ring_full: u64,
    /// I/Os that were lost when they were queued, because too many were in flight.
    pub map_full: u64,
    /// I/Os that completed without having been seen queued: they were in flight when the recording
    /// began, or an event was missed.
    pub unqueued: u64,
    /// I/Os that were seen queued but not complete; counted when their bio was queued again.
    pub unended: u64,
    /// Requests that carried more than 256 I/Os; the program looks at the first 256 alone.
    pub too_merged: u64,
    /// I/Os that were merged into the request of another I/O.
    pub merges: u64,
    /// Bios that the block layer cut in two.
    pub splits: u64,
    /// Requests that the driver gave back to the block layer.
    pub requeues: u64,
    /// Partial completions: a part of the request was still to come.
    pub parts: u64,
    /// Flush requests of the kernel's own, which carry out the flushes that were asked for.
    pub flushes: u64,
    /// I/Os that ended without a request, because they may not wait: they would have had to wait
    /// for a request or to be split. Their submitter queues them again, so nothing is lost. Counted
    /// when their bio was queued again.
    pub refused: u64,
}

impl BlockIoCounts {
    pub(super) fn sum(cpus: &[[u64; FIELDS]]) -> BlockIoCounts {
        let sum = |n: usize| cpus.iter().map(|cpu| cpu[n]).sum();
        BlockIoCounts {
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
            refused: sum(12),
        }
    }
}

/// I/Os that are not complete, by how far they have come. At the end of a recording, those that
/// never completed in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unfinished {
    /// Queued, and without a request: they wait for one, or they ended without one, as I/O does
    /// that may not wait.
    pub queued: u64,
    /// Given a request, which was not issued to the driver.
    pub requested: u64,
    /// Issued to the driver.
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

/// What a recording lacks, in numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockIoLosses {
    /// The program's own counts.
    pub counts: BlockIoCounts,
    /// Events at which the kernel skipped a program, because one was already at work on that CPU;
    /// `None` where the kernel does not count them (until Linux 5.11).
    pub missed: Option<u64>,
    /// I/Os that are not complete yet; after the end of the recording, those that never completed
    /// in it.
    pub unfinished: Unfinished,
}

impl BlockIoLosses {
    /// I/Os that were seen queued and should be in the trace, but are not: there was no room for
    /// them, or their end was not seen. An end that was not seen shows when the bio is used again
    /// or when the recording ends, so that each I/O counts once.
    pub fn lost(&self) -> u64 {
        let counts = &self.counts;
        counts.ring_full + counts.map_full + counts.unended + self.unfinished.issued
    }

    /// Counts by reason of everything that is in no record; the lost I/Os are among them. Reasons
    /// that did not occur are left out.
    pub fn reasons(&self) -> BTreeMap<String, u64> {
        let counts = &self.counts;
        let reasons = [
            ("completion without queue", counts.unqueued),
            (
                "never had a request",
                self.unfinished.queued + counts.refused,
            ),
            ("never issued", self.unfinished.requested),
            ("never completed", self.unfinished.issued),
            ("queued again, its end not seen", counts.unended),
            ("more than 256 merged", counts.too_merged),
            ("lost: ring full", counts.ring_full),
            ("lost: too many in flight", counts.map_full),
            // This counts events, not I/Os; its effect on I/Os is in the counts above.
            ("event skipped by the kernel", self.missed.unwrap_or(0)),
        ];
        let any = reasons.into_iter().filter(|(_, n)| *n > 0);
        any.map(|(reason, n)| (reason.to_owned(), n)).collect()
    }

    /// Other counts, by their name in the trace. Those that are zero are left out.
    pub(crate) fn facts(&self) -> BTreeMap<String, String> {
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
            let note = "not counted by this kernel (Linux 5.12 does)".to_owned();
            facts.insert("capture.skipped_events".to_owned(), note);
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
        let counts = BlockIoCounts::sum(&[one, [100; FIELDS]]);
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
        let lost = BlockIoLosses {
            counts,
            missed: Some(7),
            unfinished,
        };
        assert_eq!(lost.lost(), 102 + 103 + 105 + 2);
        let reasons = lost.reasons();
        assert_eq!(reasons["never had a request"], 1 + 112);
        assert_eq!(reasons["never issued"], 1);
        assert_eq!(reasons["never completed"], 2);
        assert_eq!(reasons["queued again, its end not seen"], 105);
        assert_eq!(reasons["completion without queue"], 104);
        assert!(BlockIoLosses::default().reasons().is_empty());
        assert!(
            BlockIoLosses::default()
                .facts()
                .contains_key("capture.skipped_events")
        );
    }
}
