//! The counted time of a trial, which computing and polling tasks have in common.

use q2c_sys::Clock;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// The counted time, in ns of `clock`. Its begin is set once; its end may be set later.
pub(crate) struct CorunWindow {
    pub clock: Clock,
    begin: OnceLock<u64>,
    end: AtomicU64,
}

impl CorunWindow {
    pub(crate) fn new(clock: Clock) -> Self {
        let (begin, end) = (OnceLock::new(), AtomicU64::new(0));
        CorunWindow { clock, begin, end }
    }

    pub(crate) fn begin_at(&self, ns: u64) {
        self.begin.set(ns).ok();
    }

    pub(crate) fn end_at(&self, ns: u64) {
        self.end.store(ns, Ordering::Release);
    }

    pub(crate) fn span(&self) -> Option<(u64, u64)> {
        let end = self.end.load(Ordering::Acquire);
        Some((*self.begin.get()?, end)).filter(|(begin, _)| end > *begin)
    }
}
