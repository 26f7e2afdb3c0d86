//! The counted time of a trial, which computing and polling tasks have in common.

use q2c_sys::Clock;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// The counted time on the run's clock. It is told once when its begin is known, and its end may
/// come later.
pub(crate) struct Window {
    pub clock: Clock,
    begin: OnceLock<u64>,
    /// 0 while it is not known.
    end: AtomicU64,
}

impl Window {
    pub fn new(clock: Clock) -> Self {
        Window {
            clock,
            begin: OnceLock::new(),
            end: AtomicU64::new(0),
        }
    }

    /// Sets the begin; a later call changes nothing.
    pub fn begin_at(&self, ns: u64) {
        self.begin.set(ns).ok();
    }

    /// Sets the end.
    pub fn end_at(&self, ns: u64) {
        self.end.store(ns, Ordering::Release);
    }

    /// Begin and end, once both are known.
    pub fn span(&self) -> Option<(u64, u64)> {
        let end = self.end.load(Ordering::Acquire);
        Some((*self.begin.get()?, end)).filter(|(begin, _)| end > *begin)
    }
}
