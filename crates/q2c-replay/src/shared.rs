//! State that the submitting threads of a replay share.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// Counts requests in flight on all targets, and the time in which there were none.
#[derive(Debug, Default)]
pub(crate) struct InFlightCounter {
    in_flight: AtomicU32,
    since_ns: AtomicU64,
    idle_ns: AtomicU64,
}

impl InFlightCounter {
    pub(crate) fn begin(&self, now_ns: u64) {
        if self.in_flight.fetch_add(1, Ordering::AcqRel) == 0 {
            let since_ns = self.since_ns.load(Ordering::Acquire);
            self.idle_ns
                .fetch_add(now_ns.saturating_sub(since_ns), Ordering::Relaxed);
        }
    }

    pub(crate) fn end(&self, now_ns: u64) {
        self.since_ns.fetch_max(now_ns, Ordering::AcqRel);
        self.in_flight.fetch_sub(1, Ordering::AcqRel);
    }

    pub(crate) fn idle_ns(&self) -> u64 {
        self.idle_ns.load(Ordering::Relaxed)
    }
}

pub(crate) struct Shared<'a> {
    /// Requests submitted, by stream, stored when the submission has returned.
    pub progress: Vec<AtomicU64>,
    pub devices: Vec<AtomicU32>,
    pub in_flight: InFlightCounter,
    /// Raised by the caller of the replay: no thread submits any more.
    pub stop: &'a AtomicBool,
    /// Raised when the replay is to end by a failed request or thread: nothing is submitted.
    pub failed: AtomicBool,
}

impl Shared<'_> {
    #[inline]
    pub(crate) fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.failed.load(Ordering::Relaxed)
    }
}
