//! An instant that the lanes wait for: the common start, and the end of the work beside them.

use std::sync::{Condvar, Mutex, PoisonError};

/// Told instead of a start when a lane could not be set up.
pub(super) const NEVER: u64 = u64::MAX;

/// Time from the last set-up to the common start, ns.
pub(super) const LEAD_NS: u64 = 3_000_000;

/// An instant that one thread tells and that others wait to hear.
#[derive(Default)]
pub(super) struct Start {
    at: Mutex<Option<u64>>,
    told: Condvar,
}

impl Start {
    /// Tells an instant on the run's clock, or [`NEVER`].
    pub fn tell(&self, at: u64) {
        *self.at.lock().unwrap_or_else(PoisonError::into_inner) = Some(at);
        self.told.notify_all();
    }

    pub fn hear(&self) -> u64 {
        let mut at = self.at.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match *at {
                Some(at) => return at,
                None => at = self.told.wait(at).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }
}
