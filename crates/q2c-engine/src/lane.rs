//! One lane's loop: nothing in it but the I/O, the sleep and the record.

mod bare;
mod deep;
mod flights;
mod paced;
mod sleeping;

pub(crate) use flights::Flights;
pub(crate) use paced::Pace;

use crate::engine::{Act, Completion, Engine, EngineError, Request, Waits};
use crate::pattern::Offsets;
use crate::sample::{Recorder, Sample, short};
use q2c_model::{Direction, Nanos};
use q2c_policy::{Decision, Io, Outcome};
use q2c_sys::Clock;
use q2c_sys::clock::monotonic_ns;
use q2c_sys::thread::sleep_until;
use std::sync::atomic::{AtomicBool, Ordering};

/// How a lane waits for its completions.
pub enum Wait {
    /// Until the interrupt.
    Interrupt,
    /// By looking all the time. Where the engine polls in the kernel (IOPOLL, RWF_HIPRI) that is one call per wait.
    Poll,
    /// As a sleep rule says: a sleep and then looking, looking at once, or until the interrupt. With several I/Os in flight the
    /// lane sleeps for the oldest of them, once, and then looks for any.
    Hybrid(Box<dyn q2c_policy::Lane>),
}

/// One thread's I/O.
pub struct Lane<'a> {
    /// The interface.
    pub engine: Box<dyn Engine>,
    /// Where requests go.
    pub offsets: Offsets,
    /// The run's clock.
    pub clock: Clock,
    /// What is kept.
    pub recorder: Recorder,
    /// Writes, else reads.
    pub write: bool,
    /// Bytes per request.
    pub length: u32,
    /// Raised from outside: stop now.
    pub stop: &'a AtomicBool,
    /// Raise `stop` at the first failed I/O.
    pub stop_on_fault: bool,
    /// What waiting in the engine is.
    pub waits: Waits,
    /// The kernel thread that works for the engine.
    pub helper: Option<u32>,
    /// Requests in flight.
    pub depth: u16,
    /// Depth above 1: when and where each slot's request went.
    pub slots: Vec<(u64, u64)>,
    /// Depth above 1, under a sleep rule: what is in flight.
    pub flights: Flights,
    /// Depth above 1: requests in flight now.
    pub in_flight: u16,
    /// Depth above 1: what is in flight stays there from one call to the next, until [`Lane::drain`].
    pub carries: bool,
    /// Open loop: when submissions are due.
    pub pace: Option<Pace>,
}

impl Lane<'_> {
    /// Does I/O until the run's clock shows `end`, or `stop` is raised. Nothing is in flight afterwards, unless the lane
    /// carries it on.
    ///
    /// # Errors
    /// When the engine is broken.
    pub fn run_until(&mut self, wait: &mut Wait, end: u64) -> Result<(), EngineError> {
        if self.pace.is_some() {
            return self.paced(wait, end);
        }
        if self.depth > 1 {
            return match wait {
                Wait::Hybrid(rule) => self.deep_hybrid(rule.as_mut(), end),
                Wait::Interrupt | Wait::Poll => self.deep(matches!(wait, Wait::Poll), end),
            };
        }
        match wait {
            Wait::Interrupt => self.repeat(end, Self::interrupted),
            // What is done in one call leaves no time to look in.
            Wait::Poll if self.waits == Waits::Not => self.repeat(end, Self::interrupted),
            Wait::Poll if !self.recorder.keeps() => self.bare(end),
            Wait::Poll => self.repeat(end, Self::polled),
            Wait::Hybrid(rule) => self.repeat(end, |lane, r| lane.hybrid(rule.as_mut(), r)),
        }
    }

    #[inline(always)]
    fn repeat(
        &mut self,
        end: u64,
        mut one: impl FnMut(&mut Self, Request) -> Result<Sample, EngineError>,
    ) -> Result<(), EngineError> {
        loop {
            let request = self.next_request(0);
            let sample = one(self, request)?;
            self.record(sample);
            if sample.reaped_ns() >= end || self.stop.load(Ordering::Relaxed) {
                return Ok(());
            }
        }
    }

    #[inline]
    fn next_request(&mut self, slot: u16) -> Request {
        let offset = self.offsets.next_offset();
        Request {
            act: Act::writing(self.write),
            offset,
            length: self.length,
            slot,
        }
    }

    // A sample goes into its place in registers: through memory it costs 10 ns more.
    #[inline(always)]
    fn record(&mut self, sample: Sample) {
        let good = self.recorder.push(sample, self.length);
        if !good && self.stop_on_fault {
            self.stop.store(true, Ordering::Relaxed);
        }
    }

    fn interrupted(&mut self, request: Request) -> Result<Sample, EngineError> {
        let submit_ns = self.clock.now();
        let done = self.engine.submit_and_wait(&[request])?;
        let wait_ns = self.clock.now() - submit_ns;
        Ok(Sample::one_call(
            submit_ns,
            request.offset,
            wait_ns,
            done.result,
        ))
    }

    #[inline]
    fn polled(&mut self, request: Request) -> Result<Sample, EngineError> {
        let submit_ns = self.clock.now();
        self.engine.submit(&[request])?;
        let submitted = self.clock.now();
        let done = self.spin()?;
        Ok(Sample {
            submit_ns,
            offset: request.offset,
            submit_len_ns: short(submitted - submit_ns),
            wait_ns: short(self.clock.now() - submitted),
            result: done.result,
            ..Sample::default()
        })
    }

    fn hybrid(
        &mut self,
        rule: &mut dyn q2c_policy::Lane,
        request: Request,
    ) -> Result<Sample, EngineError> {
        let submit_ns = self.clock.now();
        self.engine.submit(&[request])?;
        let submitted = self.clock.now();
        let io = self.io();
        let (decision, token) = rule.decide(io, Nanos(submitted));
        let mut sample = Sample {
            submit_ns,
            offset: request.offset,
            submit_len_ns: short(submitted - submit_ns),
            flags: Sample::HYBRID,
            ..Sample::default()
        };
        let done = match decision {
            Decision::Interrupt if self.waits == Waits::Asleep => {
                sample.flags |= Sample::INTERRUPT;
                self.engine.wait()?
            }
            // Where completions raise no interrupt, polling is what comes next to it.
            Decision::Interrupt | Decision::Poll | Decision::Sleep(Nanos::ZERO) => self.spin()?,
            Decision::Sleep(asked) => self.sleep_then_spin(asked, submitted, &mut sample)?,
        };
        let reaped = self.clock.now();
        sample.result = done.result;
        sample.wait_ns = short(reaped - submitted);
        let outcome = Outcome {
            observed: Nanos(reaped - submitted),
            missed: sample.is(Sample::MISSED),
        };
        rule.complete(io, token, outcome, Nanos(reaped));
        Ok(sample)
    }

    /// A request as a sleep rule knows it.
    fn io(&self) -> Io {
        let direction = if self.write {
            Direction::Write
        } else {
            Direction::Read
        };
        Io {
            direction,
            bytes: self.length,
        }
    }

    fn sleep_then_spin(
        &mut self,
        asked: Nanos,
        submitted: u64,
        sample: &mut Sample,
    ) -> Result<Completion, EngineError> {
        let call = self.clock.now();
        // The rule's time began when the submission returned, not here.
        sleep_until(monotonic_ns() + asked.0.saturating_sub(call - submitted));
        let woke = self.clock.now();
        sample.asked_ns = short(asked.0);
        sample.slept_ns = short(woke - call);
        sample.woke_ns = short(woke - submitted);
        sample.flags |= Sample::SLEPT;
        if let Some(done) = self.engine.poll()? {
            sample.flags |= Sample::MISSED;
            return Ok(done);
        }
        self.spin()
    }

    #[inline]
    fn spin(&mut self) -> Result<Completion, EngineError> {
        if self.waits == Waits::Polling {
            return self.engine.wait();
        }
        loop {
            if let Some(done) = self.engine.poll()? {
                return Ok(done);
            }
            std::hint::spin_loop();
        }
    }
}

#[cfg(test)]
mod tests;
