//! When a lane submits: after think times in a closed loop, at due times in an open loop.
//!
//! In an open loop, a request is submitted when it is due, even if others have not completed.
//!
//! Latency counts from the intended time, so it includes a request's wait for its turn. Leaving
//! that out is known as coordinated omission.

use super::Wait;
use crate::sample::clamp_u32;
use crate::time::{MAX_SLEEP_NS, sleep_unless_stopped};
use crate::{EngineError, EngineLane, Request, Sample, Time, Waits};
use q2c_model::stats::Rng;
use std::sync::atomic::Ordering;

/// The timer ends this long before the due time, and from then on the thread spins. This is more
/// than the wake-up delays seen on virtual machines.
const SPIN_NS: u64 = 80_000;

/// The due times of submissions: a Poisson process.
pub(crate) struct PoissonPace {
    gap_ns: f64,
    rng: Rng,
    /// Due time of the next submission, on the run's clock; 0 before the first.
    due: u64,
    /// Depth above 1: slots without a request.
    free_slots: Vec<u16>,
}

impl PoissonPace {
    /// A process of `rate` submissions per second on average, with up to `depth` in flight.
    pub(crate) fn new(rate: f64, depth: u16, seed: u64) -> Self {
        PoissonPace {
            gap_ns: 1e9 / rate,
            rng: Rng::new(seed),
            due: 0,
            free_slots: (0..depth).rev().collect(),
        }
    }

    fn advance(&mut self) {
        let gap = -(1.0 - self.rng.unit()).ln() * self.gap_ns;
        self.due += gap as u64;
    }
}

/// The think time of a lane of depth 1 in a closed loop. There is none before the first I/O.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LaneThinkTime {
    /// Time from each reaping to the next submission, ns.
    pub length_ns: u64,
    /// Time at which the next submission is due, on the run's clock; 0 before the first I/O.
    pub due_ns: u64,
    /// How long before `due_ns` the sleep is to end, because sleeps end late.
    pub early_ns: u64,
}

/// The shortest sleep of a think time, ns: a lane that thinks always leaves its CPU.
const MIN_THINK_NS: u64 = 1_000;

impl LaneThinkTime {
    /// Begins the think time after this I/O. The I/O's own start shows how late sleeps end here. A
    /// quarter of that lateness is added to `early_ns`, so that the think time becomes exact; at
    /// most a 64th of the length, so that one disturbed sleep changes little.
    pub(crate) fn begin(&mut self, sample: Sample) {
        if self.due_ns > 0 {
            let max_step_ns = (self.length_ns / 64).max(MIN_THINK_NS) as i64;
            let late_ns = sample.submit_ns as i64 - self.due_ns as i64;
            let step_ns = (late_ns / 4).clamp(-max_step_ns, max_step_ns);
            let early_ns = self.early_ns.saturating_add_signed(step_ns);
            self.early_ns = early_ns.min(self.length_ns.saturating_sub(MIN_THINK_NS));
        }
        self.due_ns = sample.reaped_ns() + self.length_ns;
    }
}

impl<T: Time> EngineLane<'_, T> {
    /// Sleeps until `think` is over. Returns true if the next I/O may then be submitted, and false
    /// if the run's clock shows `end` first or `stop` is raised. Think time that `end` cuts off
    /// continues in the next stretch, so stretches may be of any length.
    pub(super) fn finish_thinking(&self, think: LaneThinkTime, end: u64) -> bool {
        let until = think.due_ns.saturating_sub(think.early_ns);
        sleep_unless_stopped(until.min(end), self.time, self.stop);
        self.time.now() < end && !self.stop.load(Ordering::Relaxed)
    }

    /// Does I/O in an open loop until the run's clock shows `end`, or `stop` is raised.
    pub(super) fn run_paced(&mut self, wait: &mut Wait, end: u64) -> Result<(), EngineError> {
        if self.depth > 1 {
            return self.run_deep_paced(end);
        }
        match wait {
            Wait::Interrupt => self.repeat_due(end, Self::interrupt_io),
            Wait::Poll if self.waits == Waits::Never => self.repeat_due(end, Self::interrupt_io),
            Wait::Poll => self.repeat_due(end, Self::poll_io),
            Wait::Hybrid(rule) => self.repeat_due(end, |lane, r| lane.hybrid_io(rule.as_mut(), r)),
        }
    }

    fn repeat_due(
        &mut self,
        end: u64,
        mut do_io: impl FnMut(&mut Self, Request) -> Result<Sample, EngineError>,
    ) -> Result<(), EngineError> {
        while let Some(due) = self.take_due(end) {
            let request = self.next_request(0);
            let mut sample = do_io(self, request)?;
            let late = sample.submit_ns - due;
            if sample.is(Sample::ONE_CALL) {
                sample = sample.with_wait(sample.wait() + late);
            } else {
                // Time that does not fit into `submit_len_ns` counts as waiting.
                let submit_len_ns = u64::from(sample.submit_len_ns) + late;
                sample.submit_len_ns = clamp_u32(submit_len_ns);
                let excess = submit_len_ns - u64::from(sample.submit_len_ns);
                sample = sample.with_wait(sample.wait() + excess);
            }
            sample.submit_ns = due;
            self.record(sample);
            self.flush_if_due()?;
            if self.stop.load(Ordering::Relaxed) {
                break;
            }
        }
        Ok(())
    }

    /// Waits until the next submission is due and returns its due time. Returns `None` if it is not
    /// due before `end`, `end` has passed, or the lane is to stop. Submissions that a slow device
    /// delayed stay due, and come first in the next stretch.
    fn take_due(&mut self, end: u64) -> Option<u64> {
        let due = self.ensure_due();
        if due >= end || self.time.now() >= end {
            self.sleep_then_spin_until(end);
            return None;
        }
        self.sleep_then_spin_until(due);
        if let Some(pace) = &mut self.pace {
            pace.advance();
        }
        (!self.stop.load(Ordering::Relaxed)).then_some(due)
    }

    /// Due time of the next submission, on the run's clock. The very first is due now.
    fn ensure_due(&mut self) -> u64 {
        let now = self.time.now();
        let Some(pace) = &mut self.pace else {
            return now;
        };
        if pace.due == 0 {
            pace.due = now;
        }
        pace.due
    }

    /// Sleeps, then spins, until the run's clock shows `until` or `stop` is raised.
    fn sleep_then_spin_until(&self, until: u64) {
        loop {
            let left_ns = until.saturating_sub(self.time.now());
            if left_ns == 0 || self.stop.load(Ordering::Relaxed) {
                return;
            }
            match left_ns.checked_sub(SPIN_NS) {
                Some(sleep) if sleep > 0 => self.time.sleep(sleep.min(MAX_SLEEP_NS)),
                _ => self.time.spin_until(until),
            }
        }
    }

    /// The open loop with several requests in flight: submits what is due and polls for
    /// completions.
    fn run_deep_paced(&mut self, end: u64) -> Result<(), EngineError> {
        loop {
            let (now, stopped) = (self.time.now(), self.stop.load(Ordering::Relaxed));
            let at_end = now >= end || stopped;
            if at_end && (self.in_flight == 0 || self.carries_requests && !stopped) {
                return Ok(());
            }
            while !at_end && self.launch_due(now)? {}
            if self.in_flight > 0 {
                self.land_one(end, at_end)?;
            } else if !at_end {
                let due = self.ensure_due();
                self.sleep_then_spin_until(due.min(end));
            }
        }
    }

    /// Submits a due request if a slot is free. Returns true if it did.
    fn launch_due(&mut self, now: u64) -> Result<bool, EngineError> {
        let due = self.ensure_due();
        let Some(pace) = self.pace.as_mut().filter(|_| due <= now) else {
            return Ok(false);
        };
        let Some(slot) = pace.free_slots.pop() else {
            return Ok(false);
        };
        pace.advance();
        let request = self.next_request(slot);
        self.slots[slot as usize] = (due, request);
        self.engine.submit(&[request])?;
        self.in_flight += 1;
        Ok(true)
    }

    fn land_one(&mut self, end: u64, at_end: bool) -> Result<(), EngineError> {
        let Some(done) = self.engine.poll()? else {
            let next_due = self.next_due()?;
            let pace_with_slot = self
                .pace
                .as_ref()
                .filter(|pace| !pace.free_slots.is_empty());
            let next_submission = pace_with_slot.map_or(end, |pace| pace.due.min(end));
            // Simulated time skips to a completion or, if a slot is free, to the next submission.
            let latest = if at_end { u64::MAX } else { next_submission };
            self.time.look_again(|_| next_due.min(latest));
            return Ok(());
        };
        let now = self.time.now();
        self.land(done, now)?;
        self.in_flight -= 1;
        if let Some(pace) = &mut self.pace {
            pace.free_slots.push(done.slot);
        }
        Ok(())
    }
}
