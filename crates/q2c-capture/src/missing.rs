//! What a recording does not hold, whoever made it.

use std::collections::BTreeMap;

/// In numbers and words, as a trace keeps them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Missing {
    /// I/Os (by tracefs: events) that should be in the trace and are not.
    pub lost: u64,
    /// I/Os that completed without having been seen queued: in flight when the recording began, or the kernel did not show it.
    pub unqueued: u64,
    /// By reason what is in no record; the lost ones among them.
    pub reasons: BTreeMap<String, u64>,
    /// What else is worth telling.
    pub facts: BTreeMap<String, String>,
}
