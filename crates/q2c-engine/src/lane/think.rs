use super::Lane;
use crate::rest::rest_until;
use crate::time::Time;
use q2c_model::Nanos;
use std::sync::atomic::Ordering;

/// The think time of a lane of depth 1 in a closed loop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Think {
    /// From each reaping to the next submission, at least, ns.
    length_ns: u64,
    /// When the present think time is over, on the run's clock.
    until_ns: u64,
}

impl Think {
    /// A lane that thinks so long, and does not before its first I/O.
    pub fn new(length: Nanos) -> Self {
        Think {
            length_ns: length.0,
            until_ns: 0,
        }
    }

    /// A think time begins with this reaping.
    pub fn begin(&mut self, reaped_ns: u64) {
        self.until_ns = reaped_ns + self.length_ns;
    }
}

impl<T: Time> Lane<'_, T> {
    /// Sleeps for the rest of `think`. Returns whether the next I/O may be submitted: not where the
    /// run's clock shows `end` before it, or where `stop` is raised. What is left of the think time
    /// at `end` belongs to the next stretch, so that stretches may be of any length.
    pub(super) fn has_thought(&self, think: Think, end: u64) -> bool {
        rest_until(think.until_ns.min(end), self.time, self.stop);
        self.time.now() < end && !self.stop.load(Ordering::Relaxed)
    }
}
