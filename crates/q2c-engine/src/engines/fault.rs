//! `fault:` is an engine around another one that spoils one request: the request fails with EIO, is
//! short, or is late.

use crate::{Engine, EngineError, EngineFacts, LaneStep, Request, RingCompletion, Time};
use q2c_model::Nanos;

/// EIO (include/uapi/asm-generic/errno-base.h).
const EIO: i32 = 5;

/// The way in which the request is spoilt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// The request fails with EIO.
    Eio,
    /// Half the bytes are moved.
    Short,
    /// The completion is held back for this time, and later completions with it.
    Late(Nanos),
}

pub(crate) struct FaultEngine<'a, T> {
    pub time: T,
    pub inner: Box<dyn Engine + 'a>,
    pub kind: FaultKind,
    /// Number of completions that are still to come, up to and including the spoilt one.
    pub countdown: u64,
    /// A completion that is held back, with the time of its release, ns on the run's clock.
    pub delayed: Option<(u64, RingCompletion)>,
}

impl<T: Time> FaultEngine<'_, T> {
    /// The completion as the caller gets it; `None` if it is now held back.
    fn spoil(&mut self, mut done: RingCompletion) -> Option<RingCompletion> {
        self.countdown = self.countdown.wrapping_sub(1);
        if self.countdown != 0 {
            return Some(done);
        }
        match self.kind {
            FaultKind::Eio => done.result = -EIO,
            FaultKind::Short => done.result /= 2,
            FaultKind::Late(delay) => {
                self.delayed = Some((self.time.now() + delay.0, done));
                return None;
            }
        }
        Some(done)
    }

    fn take_due(&mut self) -> Option<RingCompletion> {
        let now = self.time.now();
        let delayed = self.delayed.take_if(|(due, _)| *due <= now);
        delayed.map(|(_, done)| done)
    }
}

impl<T: Time> Engine for FaultEngine<'_, T> {
    fn submit(&mut self, requests: &[Request]) -> Result<(), EngineError> {
        self.inner.submit(requests)
    }

    fn submit_interrupting(&mut self, requests: &[Request]) -> Result<(), EngineError> {
        self.inner.submit_interrupting(requests)
    }

    fn poll(&mut self) -> Result<Option<RingCompletion>, EngineError> {
        if self.delayed.is_some() {
            self.time.spend(LaneStep::Look);
            return Ok(self.take_due());
        }
        let done = self.inner.poll()?;
        Ok(done.and_then(|done| self.spoil(done)))
    }

    fn wait(&mut self) -> Result<RingCompletion, EngineError> {
        if self.delayed.is_none() {
            let done = self.inner.wait()?;
            if let Some(done) = self.spoil(done) {
                return Ok(done);
            }
        }
        loop {
            if let Some(done) = self.take_due() {
                return Ok(done);
            }
            // It sleeps here, because spinning would charge the lane CPU time that no device takes.
            self.delayed
                .iter()
                .for_each(|(due, _)| self.time.wait_for_completion(*due));
        }
    }

    fn next_due(&self) -> Option<u64> {
        let delayed = self.delayed.map(|(due, _)| due);
        delayed.or_else(|| self.inner.next_due())
    }

    fn wait_until(&mut self, deadline_ns: u64) -> Result<Option<RingCompletion>, EngineError> {
        if self.delayed.is_none() {
            let done = self.inner.wait_until(deadline_ns)?;
            return Ok(done.and_then(|done| self.spoil(done)));
        }
        let due = self.delayed.map_or(deadline_ns, |(due, _)| due);
        self.time.wait_for_completion(due.min(deadline_ns));
        Ok(self.take_due())
    }

    fn facts(&self) -> EngineFacts {
        self.inner.facts()
    }
}
