//! `fault:` is an engine around any other that spoils one request: it fails with EIO, is short, or
//! is late.

use crate::engine::{Completion, Engine, EngineError, EngineFacts, Request};
use q2c_model::Nanos;
use q2c_sys::clock::monotonic_ns;
use q2c_sys::thread::sleep_until;

/// EIO (include/uapi/asm-generic/errno-base.h).
const EIO: i32 = 5;

/// The way in which the request is spoilt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// The request fails with EIO.
    Eio,
    /// Half the bytes are moved.
    Short,
    /// The completion is held back for this time, and so are those behind it.
    Late(Nanos),
}

/// The engine: another engine, of which one completion is spoilt.
pub struct FaultEngine {
    inner: Box<dyn Engine>,
    kind: FaultKind,
    /// Completions up to and including the spoilt one that are still to come.
    countdown: u64,
    /// A completion that is held back, with the instant of CLOCK_MONOTONIC at which it is given
    /// out.
    held: Option<(u64, Completion)>,
}

impl FaultEngine {
    /// Spoils the `nth` completion (from 1) of `inner`.
    pub fn open(inner: Box<dyn Engine>, kind: FaultKind, nth: u64) -> Self {
        FaultEngine {
            inner,
            kind,
            countdown: nth,
            held: None,
        }
    }

    /// The completion as the caller gets it, or `None` when it is held back now.
    fn spoil(&mut self, mut done: Completion) -> Option<Completion> {
        self.countdown = self.countdown.wrapping_sub(1);
        if self.countdown != 0 {
            return Some(done);
        }
        match self.kind {
            FaultKind::Eio => done.result = -EIO,
            FaultKind::Short => done.result /= 2,
            FaultKind::Late(by) => {
                self.held = Some((monotonic_ns() + by.0, done));
                return None;
            }
        }
        Some(done)
    }

    fn released(&mut self) -> Option<Completion> {
        self.held
            .take_if(|(due, _)| *due <= monotonic_ns())
            .map(|(_, done)| done)
    }
}

impl Engine for FaultEngine {
    fn submit(&mut self, requests: &[Request]) -> Result<(), EngineError> {
        self.inner.submit(requests)
    }

    fn submit_interrupting(&mut self, requests: &[Request]) -> Result<(), EngineError> {
        self.inner.submit_interrupting(requests)
    }

    fn poll(&mut self) -> Result<Option<Completion>, EngineError> {
        if self.held.is_some() {
            return Ok(self.released());
        }
        let done = self.inner.poll()?;
        Ok(done.and_then(|done| self.spoil(done)))
    }

    fn wait(&mut self) -> Result<Completion, EngineError> {
        if self.held.is_none() {
            let done = self.inner.wait()?;
            if let Some(done) = self.spoil(done) {
                return Ok(done);
            }
        }
        loop {
            if let Some(done) = self.released() {
                return Ok(done);
            }
            // It sleeps here, because spinning would charge the lane CPU that no device takes.
            self.held.iter().for_each(|(due, _)| sleep_until(*due));
        }
    }

    fn wait_until(&mut self, deadline_ns: u64) -> Result<Option<Completion>, EngineError> {
        if self.held.is_none() {
            let done = self.inner.wait_until(deadline_ns)?;
            return Ok(done.and_then(|done| self.spoil(done)));
        }
        let until = |(due, _): &(u64, Completion)| sleep_until(deadline_ns.min(*due));
        self.held.iter().for_each(until);
        Ok(self.released())
    }

    fn facts(&self) -> EngineFacts {
        self.inner.facts()
    }
}
