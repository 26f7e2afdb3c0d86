//! Tests of which engine calls a decision leads to.

use super::*;
use crate::engine::EngineFacts;
use q2c_model::Bytes;
use q2c_policy::Token;
use std::cell::Cell;
use std::rc::Rc;

/// The calls that one I/O made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Calls {
    submits: u32,
    looks: u32,
    waits: u32,
    both_in_one: u32,
}

/// An engine that counts its calls. Every request is complete at the second look, or when it is
/// waited for.
struct Counting(Rc<Cell<Calls>>);

impl Counting {
    fn note(&self, change: impl Fn(&mut Calls)) -> Calls {
        let mut calls = self.0.get();
        change(&mut calls);
        self.0.set(calls);
        calls
    }
}

const DONE: Completion = Completion {
    slot: 0,
    result: 512,
};

impl Engine for Counting {
    fn submit(&mut self, _: &[Request]) -> Result<(), EngineError> {
        self.note(|c| c.submits += 1);
        Ok(())
    }

    fn poll(&mut self) -> Result<Option<Completion>, EngineError> {
        let calls = self.note(|c| c.looks += 1);
        Ok((calls.looks == 2).then_some(DONE))
    }

    fn wait(&mut self) -> Result<Completion, EngineError> {
        self.note(|c| c.waits += 1);
        Ok(DONE)
    }

    fn submit_and_wait(&mut self, _: &[Request]) -> Result<Completion, EngineError> {
        self.note(|c| c.both_in_one += 1);
        Ok(DONE)
    }

    fn facts(&self) -> EngineFacts {
        EngineFacts::default()
    }
}

/// A rule that always gives the same decision.
struct Says(Decision);

impl q2c_policy::Lane for Says {
    fn decide(&mut self, _: Io, _: Nanos) -> (Decision, Token) {
        (self.0, Token::default())
    }

    fn complete(&mut self, _: Io, _: Token, outcome: Outcome, _: Nanos) {
        assert!(!outcome.missed || matches!(self.0, Decision::Sleep(_)));
    }
}

/// Does one I/O, and returns the calls that it made and the flags of its sample.
fn one(wait: &mut Wait) -> (Calls, u64) {
    let calls = Rc::new(Cell::new(Calls::default()));
    let (bs, span) = (Bytes(512), Bytes(1 << 20));
    let pattern = "randread".parse().expect("a known pattern");
    let mut lane = Lane {
        engine: Box::new(Counting(Rc::clone(&calls))),
        offsets: Offsets::new(pattern, bs, span, 1),
        clock: Clock::new(),
        recorder: Recorder::new(1),
        write: false,
        length: 512,
        stop: &AtomicBool::new(false),
        stop_on_fault: false,
        waits: Waits::Asleep,
        helper: None,
        depth: 1,
        slots: Vec::new(),
        flights: Flights::default(),
        in_flight: 0,
        carries: false,
        pace: None,
    };
    lane.run_until(wait, 0).expect("one I/O");
    let samples = lane.recorder.into_samples();
    (calls.get(), samples[0].flags)
}

#[test]
fn a_decision_is_carried_out_and_nothing_else_is() {
    let submitted = Calls {
        submits: 1,
        ..Calls::default()
    };
    let looked = Calls {
        looks: 2,
        ..submitted
    };
    let waited = Calls {
        waits: 1,
        ..submitted
    };
    let (hybrid, slept) = (Sample::HYBRID, Sample::HYBRID | Sample::SLEPT);
    for (decision, calls, flags) in [
        (Decision::Interrupt, waited, hybrid | Sample::INTERRUPT),
        (Decision::Poll, looked, hybrid),
        (Decision::Sleep(Nanos::ZERO), looked, hybrid),
        (Decision::Sleep(Nanos(1_000)), looked, slept),
    ] {
        let got = one(&mut Wait::Hybrid(Box::new(Says(decision))));
        assert_eq!(got, (calls, flags), "{decision:?}");
    }
    let together = Calls {
        both_in_one: 1,
        ..Calls::default()
    };
    assert_eq!(one(&mut Wait::Interrupt), (together, Sample::ONE_CALL));
    assert_eq!(one(&mut Wait::Poll), (looked, 0));
}
