//! State that the submitting threads of a replay share.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// Counts requests in flight on all targets, and the time in which there were none.
#[derive(Debug, Default)]
pub struct Busy {
    in_flight: AtomicU32,
    /// `since`: the latest completion, ns. `idle`: sum of the times without requests in flight, ns.
    since: AtomicU64,
    idle: AtomicU64,
}

impl Busy {
    pub fn begin(&self, now: u64) {
        if self.in_flight.fetch_add(1, Ordering::AcqRel) == 0 {
            let since = self.since.load(Ordering::Acquire);
            self.idle
                .fetch_add(now.saturating_sub(since), Ordering::Relaxed);
        }
    }

    pub fn end(&self, now: u64) {
        self.since.fetch_max(now, Ordering::AcqRel);
        self.in_flight.fetch_sub(1, Ordering::AcqRel);
    }

    /// Time from the start without requests in flight, ns.
    pub fn idle(&self) -> u64 {
        self.idle.load(Ordering::Relaxed)
    }
}

/// State that the submitting threads of a replay share.
pub struct Shared<'a> {
    /// Requests submitted, by number of the stream. A submitting thread stores it when the
    /// submission has returned.
    pub progress: Vec<AtomicU64>,
    /// Requests in flight, by device of the trace.
    pub devices: Vec<AtomicU32>,
    /// Requests in flight on all targets.
    pub in_flight: Busy,
    /// Raised by the caller of the replay: no thread submits any more.
    pub stop: &'a AtomicBool,
    /// Raised when a request failed that ends the replay, or when a thread failed: no thread
    /// submits any more.
    pub failed: AtomicBool,
}
