//! The loop of one lane. It does nothing but the I/O, the sleep and the record.

mod deep;
mod flights;
mod paced;

pub(crate) use flights::Flights;
pub(crate) use paced::{LaneThinkTime, PoissonPace};

use crate::offsets::Offsets;
use crate::sample::{SampleRecorder, clamp_u32};
use crate::{
    Engine, EngineError, LaneStep, Operation, Request, RingCompletion, Sample, Time, Waits,
};
use q2c_model::Nanos;
use q2c_policy::{Decision, Io, Outcome, Token, Wait};
use std::sync::atomic::{AtomicBool, Ordering};

/// One thread's I/O: an engine with its offsets, its recorder and its state.
///
/// The thread that opened the engine owns the lane. It calls [`EngineLane::run_until`] once for
/// each stretch of time, in order. If `carries_requests` was set, it calls [`EngineLane::drain`]
/// before it waits in another way, and at the end.
///
/// Invariants:
/// - At most `depth` requests are in flight, and at most one in each slot. At depth 1 the slot is 0
///   and nothing is in flight between two I/Os.
/// - Each finished I/O is recorded exactly once, in the order of reaping.
/// - A completion without a request in flight is an error. Depth 1 has no table of requests: a
///   completion that came twice is taken for the next request's, so that one is left at the end,
///   where [`EngineLane::check_idle`] finds it.
pub(crate) struct EngineLane<'a, T> {
    pub engine: Box<dyn Engine + 'a>,
    pub offsets: Offsets,
    pub time: T,
    pub recorder: SampleRecorder,
    /// Bytes per request.
    pub length: u32,
    /// The lane ends its I/O when this flag is raised.
    pub stop: &'a AtomicBool,
    /// True if the first failed I/O raises `stop`.
    pub stop_on_fault: bool,
    pub waits: Waits,
    /// True if requests that wait for interrupts take a separate path in the engine.
    pub two_paths: bool,
    /// Thread id of the kernel thread that works for the engine (SQPOLL).
    pub helper: Option<u32>,
    pub depth: u16,
    /// Depth above 1: time and request of each slot. In an open loop the time is the intended one,
    /// else that of the submission; [`NO_REQUEST`] while the slot is free.
    pub slots: Vec<(u64, Request)>,
    /// Depth above 1 under a sleep rule: the requests in flight.
    pub flights: Flights,
    /// Depth above 1: number of requests in flight now.
    pub in_flight: u16,
    /// Depth above 1: requests stay in flight between two calls, until [`EngineLane::drain`].
    pub carries_requests: bool,
    /// Open loop: the times at which submissions are due.
    pub pace: Option<PoissonPace>,
    /// Closed loop of depth 1: the time that the lane sleeps after each I/O.
    pub think: Option<LaneThinkTime>,
}

/// The time of a slot without a request in flight.
pub(crate) const NO_REQUEST: u64 = u64::MAX;

impl<T: Time> EngineLane<'_, T> {
    /// Does I/O until the run's clock shows `end`, or `stop` is raised. Nothing is in flight
    /// afterwards, unless the lane carries its requests on.
    // Inlined into its caller the loop has too few registers: a null I/O took 3 ns more.
    #[inline(never)]
    pub(crate) fn run_until(&mut self, wait: &mut Wait, end: u64) -> Result<(), EngineError> {
        if self.pace.is_some() {
            return self.run_paced(wait, end);
        }
        if self.depth > 1 {
            return match wait {
                Wait::Hybrid(rule) => self.run_deep_hybrid(rule.as_mut(), end),
                Wait::Interrupt | Wait::Poll => self.run_deep(matches!(wait, Wait::Poll), end),
            };
        }
        match wait {
            Wait::Interrupt => self.repeat(end, Self::interrupt_io),
            // An I/O that one call completes leaves no time to look in.
            Wait::Poll if self.waits == Waits::Never => self.repeat(end, Self::interrupt_io),
            Wait::Poll if self.only_counts() => self.count_ios(end),
            Wait::Poll => self.repeat(end, Self::poll_io),
            Wait::Hybrid(rule) => self.repeat(end, |lane, r| lane.hybrid_io(rule.as_mut(), r)),
        }
    }

    /// True if nothing of an I/O is kept and nothing happens between two of them.
    fn only_counts(&self) -> bool {
        !self.recorder.keeps() && self.think.is_none() && !self.offsets.flushes()
    }

    #[inline(always)]
    fn repeat(
        &mut self,
        end: u64,
        mut do_io: impl FnMut(&mut Self, Request) -> Result<Sample, EngineError>,
    ) -> Result<(), EngineError> {
        loop {
            if let Some(think) = self.think
                && !self.finish_thinking(think, end)
            {
                return Ok(());
            }
            let request = self.next_request(0);
            let sample = do_io(self, request)?;
            self.record(sample);
            self.flush_if_due()?;
            if let Some(think) = &mut self.think {
                think.begin(sample);
            }
            if sample.reaped_ns() >= end || self.stop.load(Ordering::Relaxed) {
                return Ok(());
            }
        }
    }

    /// Polls, counts I/Os and keeps nothing of them, not even their times. Ends when the run's
    /// clock, read once after each I/O, shows `end`.
    #[inline(never)]
    fn count_ios(&mut self, end: u64) -> Result<(), EngineError> {
        loop {
            let request = self.next_request(0);
            self.engine.submit(&[request])?;
            let done = self.spin()?;
            let good = self.recorder.add(request.offset, done.result, self.length);
            if !good && self.stop_on_fault {
                self.stop.store(true, Ordering::Relaxed);
            }
            if self.time.now() >= end || self.stop.load(Ordering::Relaxed) {
                return Ok(());
            }
        }
    }

    #[inline(always)]
    fn next_request(&mut self, slot: u16) -> Request {
        self.time.spend(LaneStep::Turnaround);
        let (operation, offset) = self.offsets.next_request();
        Request {
            operation,
            offset,
            length: self.length,
            slot,
        }
    }

    // A sample is built in registers and stored once: a way through memory costs 10 ns more.
    #[inline(always)]
    fn record(&mut self, sample: Sample) {
        let good = self.recorder.push(sample, self.length);
        if !good && self.stop_on_fault {
            self.stop.store(true, Ordering::Relaxed);
        }
    }

    /// Flushes if the pattern asks for it now. Nothing may be in flight. The lane waits for the
    /// interrupt however it waits for I/Os, since the block layer polls for no flush.
    #[inline(always)]
    fn flush_if_due(&mut self) -> Result<(), EngineError> {
        if !self.offsets.take_flush() {
            return Ok(());
        }
        let flush = Request {
            operation: Operation::Flush,
            ..Request::default()
        };
        let flushed = self.interrupt_io(flush)?;
        let good = self.recorder.push_flush(flushed);
        if !good && self.stop_on_fault {
            self.stop.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    fn interrupt_io(&mut self, request: Request) -> Result<Sample, EngineError> {
        let submit_ns = self.time.now();
        let done = self.engine.submit_and_wait(&[request])?;
        let wait_ns = self.time.now() - submit_ns;
        let sample = Sample::begin(submit_ns, &request);
        Ok(sample.in_one_call(wait_ns, done.result))
    }

    #[inline(always)]
    fn poll_io(&mut self, request: Request) -> Result<Sample, EngineError> {
        let submit_ns = self.time.now();
        self.engine.submit(&[request])?;
        let submitted = self.time.now();
        let done = self.spin()?;
        let sample = Sample {
            submit_len_ns: clamp_u32(submitted - submit_ns),
            result: done.result,
            ..Sample::begin(submit_ns, &request)
        };
        Ok(sample.with_wait(self.time.now() - submitted))
    }

    fn hybrid_io(
        &mut self,
        rule: &mut dyn q2c_policy::Lane,
        request: Request,
    ) -> Result<Sample, EngineError> {
        let submit_ns = self.time.now();
        let mut sample = Sample::begin(submit_ns, &request);
        let io = sample.io(self.length);
        let early = self.submit_under_rule(rule, request, io, submit_ns)?;
        let submitted = self.time.now();
        let (decision, token) = early.unwrap_or_else(|| rule.decide(io, Nanos(submitted)));
        sample.submit_len_ns = clamp_u32(submitted - submit_ns);
        sample.flags |= Sample::HYBRID;
        let done = match decision {
            Decision::Interrupt if self.can_interrupt() => {
                sample.flags |= Sample::INTERRUPT;
                self.engine.wait()?
            }
            // If completions raise no interrupt, the lane polls instead.
            Decision::Interrupt | Decision::Poll | Decision::Sleep(Nanos::ZERO) => self.spin()?,
            Decision::Sleep(asked) => self.sleep_then_spin(asked, submitted, &mut sample)?,
        };
        let reaped = self.time.now();
        sample.result = done.result;
        sample = sample.with_wait(reaped - submitted);
        let outcome = Outcome::new(reaped - submitted, sample.is(Sample::MISSED));
        rule.complete(io, token, outcome, Nanos(reaped));
        Ok(sample)
    }

    /// Submits one request under a sleep rule. If the engine has two paths, the rule decides before
    /// the submission, at `submit_ns`, because its decision selects the path. Otherwise it decides
    /// later, while the request is in flight, and the result is `None`.
    #[inline]
    fn submit_under_rule(
        &mut self,
        rule: &mut dyn q2c_policy::Lane,
        request: Request,
        io: Io,
        submit_ns: u64,
    ) -> Result<Option<(Decision, Token)>, EngineError> {
        if !self.two_paths {
            return self.engine.submit(&[request]).map(|()| None);
        }
        let (decision, token) = rule.decide(io, Nanos(submit_ns));
        match decision {
            Decision::Interrupt => self.engine.submit_interrupting(&[request])?,
            Decision::Poll | Decision::Sleep(_) => self.engine.submit(&[request])?,
        }
        Ok(Some((decision, token)))
    }

    /// True if a request can wait asleep until the device's interrupt.
    fn can_interrupt(&self) -> bool {
        self.two_paths || self.waits == Waits::Asleep
    }

    fn sleep_then_spin(
        &mut self,
        asked: Nanos,
        submitted: u64,
        sample: &mut Sample,
    ) -> Result<RingCompletion, EngineError> {
        let begin = self.time.now();
        // The rule's time began when the submission returned, so the time since then is subtracted.
        let sleep_ns = asked.0.saturating_sub(begin - submitted);
        self.time.sleep_beside(sleep_ns, || self.engine.next_due());
        let woke_at = self.time.now();
        sample.asked_ns = clamp_u32(asked.0);
        sample.slept_ns = clamp_u32(woke_at - begin);
        sample.woke_ns = clamp_u32(woke_at - submitted);
        sample.flags |= Sample::SLEPT;
        if let Some(done) = self.engine.poll()? {
            sample.flags |= Sample::MISSED;
            return Ok(done);
        }
        self.spin()
    }

    #[inline(always)]
    fn spin(&mut self) -> Result<RingCompletion, EngineError> {
        if self.waits == Waits::Polling {
            return self.engine.wait();
        }
        loop {
            if let Some(done) = self.engine.poll()? {
                return Ok(done);
            }
            self.look_again()?;
        }
    }

    /// The step between two looks for a completion; see [`Time::look_again`].
    #[inline(always)]
    fn look_again(&self) -> Result<u64, EngineError> {
        let next_due = self.next_due()?;
        Ok(self.time.look_again(|_| next_due))
    }

    /// The time of the next completion, ns on the run's clock. Only simulated time asks for it. An
    /// error if nothing is in flight, because the lane would look for ever.
    #[inline(always)]
    fn next_due(&self) -> Result<u64, EngineError> {
        if T::SIMULATED {
            let next_due = self.engine.next_due();
            next_due.ok_or(EngineError::NothingInFlight)
        } else {
            Ok(0)
        }
    }

    /// Fails if a completion is left, or still to come, although no request is in flight. The lane
    /// calls it once, at its end.
    pub(crate) fn check_idle(&mut self) -> Result<(), EngineError> {
        // A look costs simulated time, and a simulated device knows what is to come.
        let left = match self.engine.next_due() {
            Some(_) => Some(self.engine.wait()?),
            None if T::SIMULATED => None,
            None => self.engine.poll()?,
        };
        left.map_or(Ok(()), |done| Err(EngineError::CompletedTwice(done.slot)))
    }
}

#[cfg(test)]
mod tests;
