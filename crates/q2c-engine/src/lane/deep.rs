//! Several requests in flight, without a sleep rule and with one.
//!
//! In hybrid polling the rule is asked about every request when its submission has returned (before
//! it, if the decision chooses between two paths of the engine), and each has its own token. The
//! sleep that the rule asks for ends at a *due* time of its own. The lane sleeps once, for the
//! oldest request in flight, until its due time. Then it looks until any request is complete,
//! submits a new one, and turns to the oldest again. It does not sleep for a request whose due time
//! has passed when it becomes the oldest.
//!
//! A sample has [`Sample::SLEPT`] if the lane slept for it, and [`Sample::MISSED`] if the first
//! look after that sleep found it complete. So one sleep is one context switch, and `miss rate`
//! means the same as at depth 1. The rule learns whether the request was complete at its due time,
//! whichever request was slept for: that is, whether the first look after the due time, or an
//! earlier one, found it. For a request that was slept for, this equals [`Sample::MISSED`].

use super::flights::HybridFlight;
use super::{NO_REQUEST, Wait};
use crate::sample::clamp_u32;
use crate::{EngineError, EngineLane, RingCompletion, Sample, Time};
use q2c_model::Nanos;
use q2c_policy::{Decision, Outcome};
use std::sync::atomic::Ordering;

impl<T: Time> EngineLane<'_, T> {
    /// Reaps the requests that a lane with `carries_requests` has in flight. `wait` MUST be the way
    /// of waiting under which they were submitted.
    pub(crate) fn drain(&mut self, wait: &mut Wait) -> Result<(), EngineError> {
        while self.in_flight > 0 {
            if let Wait::Hybrid(rule) = wait {
                self.find_completions()?;
                for i in 0..self.flights.found.len() {
                    self.finish(rule.as_mut(), i);
                    self.in_flight -= 1;
                }
                self.flights.found.clear();
            } else {
                self.reap(matches!(wait, Wait::Poll))?;
                self.in_flight -= 1;
            }
        }
        Ok(())
    }

    /// Keeps `depth` requests in flight: each completed request is replaced at once.
    pub(super) fn run_deep(&mut self, poll: bool, end: u64) -> Result<(), EngineError> {
        // A device whose queue is full delays each submission of the first fill.
        while self.in_flight < self.depth && !self.stop.load(Ordering::Relaxed) {
            self.launch(self.in_flight, poll)?;
            self.in_flight += 1;
        }
        while self.in_flight > 0 {
            let (slot, now) = self.reap(poll)?;
            let (at_end, stopped) = (now >= end, self.stop.load(Ordering::Relaxed));
            if stopped || at_end && !self.carries_requests {
                self.in_flight -= 1;
                continue;
            }
            self.launch(slot, poll)?;
            if at_end {
                break;
            }
        }
        Ok(())
    }

    /// Takes one completion. Returns its slot and the time at which it was seen, ns.
    fn reap(&mut self, poll: bool) -> Result<(u16, u64), EngineError> {
        let done = if poll {
            self.spin()?
        } else {
            self.engine.wait()?
        };
        let now = self.time.now();
        self.land(done, now)?;
        Ok((done.slot, now))
    }

    fn launch(&mut self, slot: u16, poll: bool) -> Result<(), EngineError> {
        let request = self.next_request(slot);
        self.slots[slot as usize] = (self.time.now(), request);
        if poll {
            self.engine.submit(&[request])
        } else {
            self.engine.submit_interrupting(&[request])
        }
    }

    pub(super) fn land(&mut self, done: RingCompletion, now: u64) -> Result<(), EngineError> {
        let (submit_ns, request) = self.slots[done.slot as usize];
        if submit_ns == NO_REQUEST {
            return Err(EngineError::CompletedTwice(done.slot));
        }
        self.slots[done.slot as usize].0 = NO_REQUEST;
        let sample = Sample::begin(submit_ns, &request);
        self.record(sample.in_one_call(now - submit_ns, done.result));
        Ok(())
    }

    /// Keeps `depth` requests in flight under a rule, as [`EngineLane::run_deep`] does without.
    pub(super) fn run_deep_hybrid(
        &mut self,
        rule: &mut dyn q2c_policy::Lane,
        end: u64,
    ) -> Result<(), EngineError> {
        while self.in_flight < self.depth && !self.stop.load(Ordering::Relaxed) {
            self.start(rule, self.in_flight)?;
            self.in_flight += 1;
        }
        while self.in_flight > 0 {
            self.find_completions()?;
            let (mut at_end, mut drains) = (false, false);
            // As without a rule, each completed request is replaced before the next is recorded;
            // the latter's latency includes that time.
            for i in 0..self.flights.found.len() {
                let slot = self.flights.found[i].slot;
                at_end |= self.finish(rule, i) >= end;
                drains = self.stop.load(Ordering::Relaxed) || at_end && !self.carries_requests;
                if drains {
                    self.in_flight -= 1;
                } else {
                    self.start(rule, slot)?;
                }
            }
            self.flights.found.clear();
            if at_end && !drains {
                break;
            }
        }
        Ok(())
    }

    fn start(&mut self, rule: &mut dyn q2c_policy::Lane, slot: u16) -> Result<(), EngineError> {
        let request = self.next_request(slot);
        let submit_ns = self.time.now();
        let begun = Sample::begin(submit_ns, &request);
        let io = begun.io(self.length);
        let early = self.submit_under_rule(rule, request, io, submit_ns)?;
        let submitted_ns = self.time.now();
        let (decision, token) = early.unwrap_or_else(|| rule.decide(io, Nanos(submitted_ns)));
        let (asked, flags) = match decision {
            Decision::Sleep(asked) => (asked.0, Sample::HYBRID),
            Decision::Interrupt if self.can_interrupt() => (0, Sample::HYBRID | Sample::INTERRUPT),
            Decision::Interrupt | Decision::Poll => (0, Sample::HYBRID),
        };
        let sample = Sample {
            submit_len_ns: clamp_u32(submitted_ns - submit_ns),
            flags: begun.flags | flags,
            ..begun
        };
        let flight = HybridFlight {
            sample,
            submitted_ns,
            decision,
            token,
            due_ns: submitted_ns + asked,
            missed: false,
        };
        self.flights.add(slot, flight);
        Ok(())
    }

    /// Waits until at least one request is complete, in the way that the rule chose for the oldest.
    /// Requests MUST be in flight.
    fn find_completions(&mut self) -> Result<(), EngineError> {
        let can_interrupt = self.can_interrupt();
        loop {
            self.look()?;
            if !self.flights.found.is_empty() {
                return Ok(());
            }
            let now = self.time.now();
            let oldest = self.flights.oldest();
            let oldest = oldest.ok_or(EngineError::NothingInFlight)?;
            match oldest.decision {
                Decision::Sleep(asked) if oldest.due_ns > now => {
                    let next_due = || self.engine.next_due();
                    self.time.sleep_beside(oldest.due_ns - now, next_due);
                    let woke = self.time.now();
                    let sample = &mut oldest.sample;
                    sample.asked_ns = clamp_u32(asked.0);
                    sample.slept_ns = clamp_u32(woke - now);
                    sample.woke_ns = clamp_u32(woke - oldest.submitted_ns);
                    sample.flags |= Sample::SLEPT;
                    // The clocks of the run and of the sleep may differ a little. The sleep is
                    // over, so the due time counts as reached.
                    oldest.due_ns = oldest.due_ns.min(woke);
                }
                Decision::Interrupt if can_interrupt => {
                    let done = self.engine.wait()?;
                    let now = self.time.now();
                    self.note_completion(done, now)?;
                    // The wait returned the first completion, so no other request was complete
                    // earlier.
                    self.flights.empty_look_ns = now;
                    return Ok(());
                }
                // Looks that simulated time skips here would find nothing.
                _ => {
                    let skipped_ns = self.look_again()?;
                    self.flights.empty_look_ns = self.flights.empty_look_ns.max(skipped_ns);
                }
            }
        }
    }

    /// Looks once, and takes everything that is complete.
    #[inline]
    fn look(&mut self) -> Result<(), EngineError> {
        let empty_look = self.flights.empty_look_ns;
        loop {
            let now = self.time.now();
            match self.engine.poll()? {
                Some(done) => self.note_completion(done, empty_look)?,
                None => {
                    self.flights.empty_look_ns = now;
                    return Ok(());
                }
            }
        }
    }

    /// Notes a completion that was found by the first look after `empty_look`.
    #[inline]
    fn note_completion(
        &mut self,
        done: RingCompletion,
        empty_look: u64,
    ) -> Result<(), EngineError> {
        if !self.flights.complete(done.slot, empty_look) {
            return Err(EngineError::CompletedTwice(done.slot));
        }
        self.flights.found.push(done);
        Ok(())
    }

    /// Records completion `i` of those found, informs the rule, and returns the time, ns.
    fn finish(&mut self, rule: &mut dyn q2c_policy::Lane, i: usize) -> u64 {
        let (done, now) = (self.flights.found[i], self.time.now());
        let flight = self.flights.latest(done.slot);
        let observed = now.saturating_sub(flight.submitted_ns);
        let sample = Sample {
            result: done.result,
            ..flight.sample
        };
        self.record(sample.with_wait(observed));
        let outcome = Outcome::new(observed, flight.missed);
        let io = sample.io(self.length);
        rule.complete(io, flight.token, outcome, Nanos(now));
        now
    }
}
