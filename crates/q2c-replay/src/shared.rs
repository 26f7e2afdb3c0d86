//! What submitting threads share.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// Requests in flight on all targets, and the time in which there were none.
#[derive(Debug, Default)]
pub struct Busy {
    in_flight: AtomicU32,
    /// When the last one ended, and such times summed.
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

    /// From the start on, ns.
    pub fn idle(&self) -> u64 {
        self.idle.load(Ordering::Relaxed)
    }
}

/// What threads share.
pub struct Shared<'a> {
    /// Requests submitted of each stream.
    pub progress: Vec<AtomicU64>,
    /// Requests in flight of each device of the trace.
    pub devices: Vec<AtomicU32>,
    /// Requests in flight on all targets.
    pub in_flight: Busy,
    /// Raised from outside or by a failure: submit no more.
    pub stop: &'a AtomicBool,
    /// A request failed and the replay ends.
    pub failed: AtomicBool,
}
