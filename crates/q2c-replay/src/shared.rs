//! State that the submitting threads of a replay share.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// Counts requests in flight on all targets, and the time in which there were none.
#[derive(Debug, Default)]
pub struct Busy {
    in_flight: AtomicU32,
    /// Time of the latest completion.
    since_ns: AtomicU64,
    /// Sum of the times without requests in flight.
    idle_ns: AtomicU64,
}

impl Busy {
    /// A request is submitted at `now_ns`.
    pub fn begin(&self, now_ns: u64) {
        if self.in_flight.fetch_add(1, Ordering::AcqRel) == 0 {
            let since_ns = self.since_ns.load(Ordering::Acquire);
            self.idle_ns
                .fetch_add(now_ns.saturating_sub(since_ns), Ordering::Relaxed);
        }
    }

    /// A request was complete at `now_ns`.
    pub fn end(&self, now_ns: u64) {
        self.since_ns.fetch_max(now_ns, Ordering::AcqRel);
        self.in_flight.fetch_sub(1, Ordering::AcqRel);
    }

    /// Time from the start without requests in flight.
    pub fn idle_ns(&self) -> u64 {
        self.idle_ns.load(Ordering::Relaxed)
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

impl Shared<'_> {
    /// Whether the submitting threads are to end before the trace does.
    #[inline]
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.failed.load(Ordering::Relaxed)
    }
}
