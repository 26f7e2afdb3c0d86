use crate::time::rest_until;
use crate::{EngineLane, Sample, Time};
use q2c_model::Nanos;
use std::sync::atomic::Ordering;

/// The think time of a lane of depth 1 in a closed loop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaneThinkTime {
    /// From each reaping to the next submission, ns.
    length_ns: u64,
    /// When the next submission is due, on the run's clock.
    due_ns: u64,
    /// How long before that the sleep is to end.
    early_ns: u64,
}

/// The shortest sleep, ns: a lane that thinks leaves its CPU.
const LEAST_NS: u64 = 1_000;

impl LaneThinkTime {
    /// A lane that thinks so long, and does not before its first I/O.
    pub(crate) fn new(length: Nanos) -> Self {
        LaneThinkTime {
            length_ns: length.0,
            due_ns: 0,
            early_ns: 0,
        }
    }

    /// A think time begins with the reaping of this I/O, whose own think time shows how late sleeps
    /// end here. Each takes over a quarter of that, so that the length holds, and at most a 64th of
    /// the length, so that one sleep that other work prolonged changes little.
    pub(crate) fn begin(&mut self, sample: Sample) {
        if self.due_ns > 0 {
            let most = (self.length_ns / 64).max(LEAST_NS) as i64;
            let late = sample.submit_ns as i64 - self.due_ns as i64;
            let early = self
                .early_ns
                .saturating_add_signed((late / 4).clamp(-most, most));
            self.early_ns = early.min(self.length_ns.saturating_sub(LEAST_NS));
        }
        self.due_ns = sample.reaped_ns() + self.length_ns;
    }
}

impl<T: Time> EngineLane<'_, T> {
    /// Sleeps for the rest of `think`. Returns whether the next I/O may be submitted: not where the
    /// run's clock shows `end` before it, or where `stop` is raised. What is left of the think time
    /// at `end` belongs to the next stretch, so that stretches may be of any length.
    pub(super) fn has_thought(&self, think: LaneThinkTime, end: u64) -> bool {
        let until = think.due_ns.saturating_sub(think.early_ns);
        rest_until(until.min(end), self.time, self.stop);
        self.time.now() < end && !self.stop.load(Ordering::Relaxed)
    }
}
