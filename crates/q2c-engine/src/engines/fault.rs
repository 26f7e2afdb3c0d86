//! `fault:` is an engine around another one that spoils one request: the request fails with EIO, is
//! short, is late, changes places with the next one, never completes, or completes twice.

use crate::{Engine, EngineError, EngineFacts, LaneStep, Operation, Request, RingCompletion, Time};
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
    /// The completion comes behind the next one, if another request is in flight.
    Swap,
    /// The request never completes. This needs simulated time, in which the wait for it ends with
    /// an error as soon as nothing else is in flight.
    Hang,
    /// The completion comes twice, which breaks the contract of engines.
    Twice,
}

pub(crate) struct FaultEngine<'a, T> {
    time: T,
    inner: Box<dyn Engine + 'a>,
    kind: FaultKind,
    /// Number of completions that are still to come, up to and including the spoilt one.
    countdown: u64,
    /// Number of requests that the inner engine has not completed.
    in_flight: usize,
    /// The latest request in each slot.
    requests: Vec<Request>,
    /// A completion that is held back, with the time of its release, ns on the run's clock;
    /// [`BEHIND`] if no time releases it.
    delayed: Option<(u64, RingCompletion)>,
}

/// The release of a completion that only another completion releases, if anything does.
const BEHIND: u64 = u64::MAX;

impl<'a, T: Time> FaultEngine<'a, T> {
    /// An engine that spoils completion number `nth` of `inner`, from 1.
    pub(crate) fn new(
        time: T,
        inner: Box<dyn Engine + 'a>,
        (kind, nth): (FaultKind, u64),
        slots: usize,
    ) -> Self {
        let empty = Request {
            operation: Operation::Read,
            offset: 0,
            length: 0,
            slot: 0,
        };
        FaultEngine {
            time,
            inner,
            kind,
            countdown: nth,
            in_flight: 0,
            requests: vec![empty; slots],
            delayed: None,
        }
    }

    fn note_submitted(&mut self, requests: &[Request]) {
        self.in_flight += requests.len();
        for request in requests {
            self.requests[usize::from(request.slot)] = *request;
        }
    }

    /// The completion as the caller gets it; `None` if it is now held back.
    fn spoil(&mut self, mut done: RingCompletion) -> Option<RingCompletion> {
        self.countdown = self.countdown.wrapping_sub(1);
        self.in_flight = self.in_flight.saturating_sub(1);
        if self.kind == FaultKind::Swap
            && let Some((release, _)) = &mut self.delayed
        {
            *release = 0;
        }
        if self.countdown != 0 {
            return Some(done);
        }
        let release = match self.kind {
            FaultKind::Eio => {
                done.result = -EIO;
                return Some(done);
            }
            FaultKind::Short => {
                done.result /= 2;
                return Some(done);
            }
            FaultKind::Twice => {
                self.delayed = Some((0, done));
                return Some(done);
            }
            FaultKind::Swap if self.in_flight == 0 => return Some(done),
            FaultKind::Swap | FaultKind::Hang => BEHIND,
            FaultKind::Late(delay) => self.time.now() + delay.0,
        };
        self.delayed = Some((release, done));
        None
    }

    /// The time at which the completion that is held back is released, ns on the run's clock;
    /// `None` if no time releases it, so that the inner engine is looked at.
    fn release(&self) -> Option<u64> {
        let release = self.delayed.map(|(release, _)| release);
        release.filter(|release| *release != BEHIND)
    }

    fn take_due(&mut self) -> Option<RingCompletion> {
        self.release().filter(|due| *due <= self.time.now())?;
        self.delayed.take().map(|(_, done)| done)
    }

    /// Fails if only the request that never completes is in flight.
    fn check_hang(&self) -> Result<(), EngineError> {
        match self.delayed {
            Some((_, done)) if self.kind == FaultKind::Hang && self.inner.next_due().is_none() => {
                let request = self.requests[usize::from(done.slot)];
                Err(EngineError::NeverCompletes(request))
            }
            _ => Ok(()),
        }
    }
}

impl<T: Time> Engine for FaultEngine<'_, T> {
    fn submit(&mut self, requests: &[Request]) -> Result<(), EngineError> {
        self.note_submitted(requests);
        self.inner.submit(requests)
    }

    fn submit_interrupting(&mut self, requests: &[Request]) -> Result<(), EngineError> {
        self.note_submitted(requests);
        self.inner.submit_interrupting(requests)
    }

    fn poll(&mut self) -> Result<Option<RingCompletion>, EngineError> {
        if self.release().is_some() {
            self.time.spend(LaneStep::Look);
            return Ok(self.take_due());
        }
        let done = self.inner.poll()?;
        let done = done.and_then(|done| self.spoil(done));
        if done.is_none() {
            self.check_hang()?;
        }
        Ok(done)
    }

    fn wait(&mut self) -> Result<RingCompletion, EngineError> {
        loop {
            if let Some(done) = self.take_due() {
                return Ok(done);
            }
            if let Some(due) = self.release() {
                // It sleeps here, because spinning would charge the lane CPU time that no device
                // takes.
                self.time.wait_for_completion(due);
                continue;
            }
            self.check_hang()?;
            let done = self.inner.wait()?;
            if let Some(done) = self.spoil(done) {
                return Ok(done);
            }
        }
    }

    fn next_due(&self) -> Option<u64> {
        self.release().or_else(|| self.inner.next_due())
    }

    fn wait_until(&mut self, deadline_ns: u64) -> Result<Option<RingCompletion>, EngineError> {
        if let Some(due) = self.release() {
            self.time.wait_for_completion(due.min(deadline_ns));
            return Ok(self.take_due());
        }
        self.check_hang()?;
        let done = self.inner.wait_until(deadline_ns)?;
        Ok(done.and_then(|done| self.spoil(done)))
    }

    fn facts(&self) -> EngineFacts {
        self.inner.facts()
    }
}
