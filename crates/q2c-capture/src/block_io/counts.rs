//! The counts of the BPF program: `struct counts` of `probes/block_io/record.h`.

use crate::counts::counts;
use std::collections::BTreeMap;

counts! {
    /// The program's counts since the recording began, summed over all CPUs.
    pub struct BlockIoCounts {
        /// I/Os whose record was put into a ring.
        pub records,
        /// I/Os that completed without the wanted size or latency.
        pub filtered,
        /// I/Os that were lost at their completion, because the ring of their CPU was full.
        pub ring_full,
        /// I/Os that were lost when they were queued, because too many were in flight.
        pub map_full,
        /// I/Os that completed without having been seen queued: they were in flight when the
        /// recording began, or an event was missed.
        pub unqueued,
        /// I/Os that were seen queued but not complete; counted when their bio was queued again.
        pub unended,
        /// Requests that carried more than 256 I/Os; the program looks at the first 256 alone.
        pub too_merged,
        /// I/Os that were merged into the request of another I/O.
        pub merges,
        /// Bios that the block layer cut in two.
        pub splits,
        /// Requests that the driver gave back to the block layer.
        pub requeues,
        /// Partial completions: a part of the request was still to come.
        pub parts,
        /// Flush requests of the kernel's own, which carry out the flushes that were asked for.
        pub flushes,
        /// I/Os that ended without a request, because they may not wait, but would have had to
        /// wait for a request or to be split. Their submitter queues them again, so nothing is
        /// lost. Counted when their bio was queued again.
        pub refused,
    }
}

/// Numbers of I/Os that are not complete, by how far they have come. After the end of a recording,
/// these are the I/Os that never completed in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unfinished {
    /// I/Os that are queued and have no request: they wait for one, or have ended without one
    /// because they may not wait.
    pub queued: u64,
    /// I/Os with a request that was not issued to the driver.
    pub requested: u64,
    /// I/Os that were issued to the driver.
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

/// The numbers of I/Os and events that a recording lacks.
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
        let without_request = self.unfinished.queued + counts.refused;
        nonzero([
            ("completion without queue", counts.unqueued),
            ("never had a request", without_request),
            ("never issued", self.unfinished.requested),
            ("never completed", self.unfinished.issued),
            ("queued again, its end not seen", counts.unended),
            ("more than 256 merged", counts.too_merged),
            ("lost: ring full", counts.ring_full),
            ("lost: too many in flight", counts.map_full),
            // This counts events, not I/Os; its effect on I/Os is in the counts above.
            ("event skipped by the kernel", self.missed.unwrap_or(0)),
        ])
        .collect()
    }

    /// Other counts, by their name in the trace. Those that are zero are left out.
    pub(crate) fn facts(&self) -> BTreeMap<String, String> {
        let counts = &self.counts;
        let note = "not counted by this kernel (Linux 5.12 does)";
        let skipped = ("capture.skipped_events".to_owned(), note.to_owned());
        let facts = nonzero([
            ("capture.filtered_out", counts.filtered),
            ("capture.merged", counts.merges),
            ("capture.splits", counts.splits),
            ("capture.requeues", counts.requeues),
            ("capture.partial_completions", counts.parts),
            ("capture.internal_flushes", counts.flushes),
        ]);
        let facts = facts.map(|(name, n)| (name, n.to_string()));
        let skipped = self.missed.is_none().then_some(skipped);
        facts.chain(skipped).collect()
    }
}

/// The counts that are not zero, by their names.
pub(crate) fn nonzero<const N: usize>(
    counts: [(&str, u64); N],
) -> impl Iterator<Item = (String, u64)> {
    let counts = counts.into_iter().filter(|(_, n)| *n > 0);
    counts.map(|(name, n)| (name.to_owned(), n))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_add_up_over_cpus() {
        let one: [u64; BlockIoCounts::FIELDS] = std::array::from_fn(|n| n as u64);
        let counts = BlockIoCounts::sum(&[one, [100; BlockIoCounts::FIELDS]]);
        let expected = (100, 101, 111);
        assert_eq!((counts.records, counts.filtered, counts.flushes), expected);
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
        let nothing = BlockIoLosses::default();
        assert!(nothing.reasons().is_empty());
        assert!(nothing.facts().contains_key("capture.skipped_events"));
    }
}
