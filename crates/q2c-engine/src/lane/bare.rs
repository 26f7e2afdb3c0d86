//! Polling at depth 1 with nothing kept: I/Os are counted and not timed.

use crate::{EngineError, EngineLane, Time};
use std::sync::atomic::Ordering;

impl<T: Time> EngineLane<'_, T> {
    /// Polls for each completion until the run's clock, which is read once after each I/O, shows
    /// `end`.
    #[inline(never)]
    pub(super) fn bare(&mut self, end: u64) -> Result<(), EngineError> {
        loop {
            let request = self.next_request(0);
            self.engine.submit(&[request])?;
            let done = self.spin()?;
            let good = self.recorder.pass(request.offset, done.result, self.length);
            if !good && self.stop_on_fault {
                self.stop.store(true, Ordering::Relaxed);
            }
            if self.time.now() >= end || self.stop.load(Ordering::Relaxed) {
                return Ok(());
            }
        }
    }
}
