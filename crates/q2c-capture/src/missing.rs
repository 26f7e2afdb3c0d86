//! What a recording lacks, in the same form for BPF and tracefs.

use std::collections::BTreeMap;

/// Counts of I/Os that are in no record, and facts about the recording, as a trace keeps them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Missing {
    /// I/Os that should be in the trace and are not; in a recording by tracefs, events that the
    /// kernel lost.
    pub lost: u64,
    /// I/Os that completed without having been seen queued: they were in flight when the recording
    /// began, or the kernel did not show their queueing.
    pub unqueued: u64,
    /// Counts by reason of everything that is in no record; the lost I/Os are among them.
    pub reasons: BTreeMap<String, u64>,
    /// Other counts of the recording, such as merges, by their name in the trace
    /// (`capture.merged`).
    pub facts: BTreeMap<String, String>,
}
