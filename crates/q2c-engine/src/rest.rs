//! Sleeps of a thread that can be stopped meanwhile.

use q2c_sys::Clock;
use q2c_sys::clock::monotonic_ns;
use q2c_sys::thread::sleep_until;
use std::sync::atomic::{AtomicBool, Ordering};

/// The longest sleep without a look whether to stop, ns.
pub(crate) const NAP_NS: u64 = 50_000_000;

/// Sleeps until the run's clock shows `end`, or `stop` is raised.
pub(crate) fn rest_until(end: u64, clock: Clock, stop: &AtomicBool) {
    loop {
        let left = end.saturating_sub(clock.now());
        if left == 0 || stop.load(Ordering::Relaxed) {
            return;
        }
        sleep_until(monotonic_ns() + left.min(NAP_NS));
    }
}
