//! `fault:` wraps any engine and spoils one request: EIO, short, or late.

use crate::engine::{Completion, Engine, EngineError, Facts, Request};
use q2c_model::Nanos;
use q2c_sys::clock::monotonic_ns;
use q2c_sys::thread::sleep_until;

/// EIO (include/uapi/asm-generic/errno-base.h).
const EIO: i32 = 5;

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// The request fails with EIO.
    Eio,
    /// Half the bytes are moved.
    Short,
    /// The completion is held back this long, and those behind it with it.
    Late(Nanos),
}

/// An engine with a fault.
pub struct Fault {
    inner: Box<dyn Engine>,
    kind: FaultKind,
    /// Completions until the fault, from 1.
    countdown: u64,
    /// A completion held back until an instant of CLOCK_MONOTONIC.
    held: Option<(u64, Completion)>,
}

impl Fault {
    /// The `nth` completion (from 1) of `inner` is spoilt.
    pub fn open(inner: Box<dyn Engine>, kind: FaultKind, nth: u64) -> Self {
        Fault {
            inner,
            kind,
            countdown: nth,
            held: None,
        }
    }

    /// The completion as the caller gets it, or `None` while it is held back.
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

impl Engine for Fault {
    fn submit(&mut self, requests: &[Request]) -> Result<(), EngineError> {
        self.inner.submit(requests)
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
            // Waiting sleeps: a spinning fault would charge the lane CPU that no device charges.
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

    fn facts(&self) -> Facts {
        self.inner.facts()
    }
}
