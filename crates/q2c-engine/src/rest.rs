//! Sleeps of a thread that can be stopped meanwhile.

use crate::time::Time;
use std::sync::atomic::{AtomicBool, Ordering};

/// The longest sleep without a look whether to stop, ns.
pub(crate) const NAP_NS: u64 = 50_000_000;

/// Sleeps until the run's clock shows `end`, or `stop` is raised.
pub(crate) fn rest_until<T: Time>(end: u64, time: T, stop: &AtomicBool) {
    loop {
        let left = end.saturating_sub(time.now());
        if left == 0 || stop.load(Ordering::Relaxed) {
            return;
        }
        time.sleep(left.min(NAP_NS));
    }
}
