//! Tests of which engine calls each decision leads to.

use super::*;
use crate::{EngineFacts, Real};
use q2c_model::Bytes;
use q2c_policy::Token;
use q2c_sys::Clock;
use std::sync::{Arc, Mutex};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Calls {
    submits: u32,
    for_interrupt: u32,
    looks: u32,
    waits: u32,
    both_in_one: u32,
    /// True if the rule decided before anything was submitted.
    decided_first: bool,
}

/// An engine that counts its calls. Every request is complete at the second look, or when the lane
/// waits for it.
struct CountingEngine(Arc<Mutex<Calls>>);

impl CountingEngine {
    fn note(&self, change: impl Fn(&mut Calls)) -> Calls {
        let mut calls = self.0.lock().expect("one thread");
        change(&mut calls);
        *calls
    }
}

const DONE: RingCompletion = RingCompletion {
    slot: 0,
    result: 512,
};

impl Engine for CountingEngine {
    fn submit(&mut self, _: &[Request]) -> Result<(), EngineError> {
        self.note(|c| c.submits += 1);
        Ok(())
    }

    fn submit_interrupting(&mut self, _: &[Request]) -> Result<(), EngineError> {
        self.note(|c| c.for_interrupt += 1);
        Ok(())
    }

    fn poll(&mut self) -> Result<Option<RingCompletion>, EngineError> {
        let calls = self.note(|c| c.looks += 1);
        Ok((calls.looks == 2).then_some(DONE))
    }

    fn wait(&mut self) -> Result<RingCompletion, EngineError> {
        self.note(|c| c.waits += 1);
        Ok(DONE)
    }

    fn submit_and_wait(&mut self, _: &[Request]) -> Result<RingCompletion, EngineError> {
        self.note(|c| c.both_in_one += 1);
        Ok(DONE)
    }

    fn facts(&self) -> EngineFacts {
        EngineFacts::default()
    }
}

/// A rule that always gives the same decision, and notes whether it was asked before submission.
struct ConstantRule(Decision, CountingEngine);

impl q2c_policy::Lane for ConstantRule {
    fn decide(&mut self, _: Io, _: Nanos) -> (Decision, Token) {
        let ConstantRule(decision, calls) = self;
        calls.note(|c| c.decided_first = c.submits + c.for_interrupt == 0);
        (*decision, Token::default())
    }

    fn complete(&mut self, _: Io, _: Token, outcome: Outcome, _: Nanos) {
        assert!(!outcome.missed || matches!(self.0, Decision::Sleep(_)));
    }
}

/// Waiting by a rule that always gives this decision.
fn wait_by_rule(decision: Decision) -> impl Fn(&Arc<Mutex<Calls>>) -> Wait {
    move |calls| {
        Wait::Hybrid(Box::new(ConstantRule(
            decision,
            CountingEngine(Arc::clone(calls)),
        )))
    }
}

/// Does one I/O on an engine that waits in this way. Returns the calls that it made and the flags
/// of its sample. An engine that waits by polling has two paths.
fn run_one(waits: Waits, wait: impl Fn(&Arc<Mutex<Calls>>) -> Wait) -> (Calls, u64) {
    let calls = Arc::new(Mutex::new(Calls::default()));
    let wait = &mut wait(&calls);
    let (bs, span) = (Bytes(512), Bytes(1 << 20));
    let pattern = "randread".parse().expect("a known pattern");
    let mut lane = EngineLane {
        engine: Box::new(CountingEngine(Arc::clone(&calls))),
        offsets: Offsets::new(pattern, bs, span, 1),
        time: Real(Clock::new()),
        recorder: SampleRecorder {
            capacity: 1,
            ..SampleRecorder::default()
        },
        length: 512,
        stop: &AtomicBool::new(false),
        stop_on_fault: false,
        waits,
        two_paths: waits == Waits::Polling,
        helper: None,
        depth: 1,
        slots: Vec::new(),
        flights: Flights::default(),
        in_flight: 0,
        carries_requests: false,
        pace: None,
        think: None,
    };
    lane.run_until(wait, 0).expect("one I/O");
    let samples = lane.recorder.samples;
    (*calls.lock().expect("one thread"), samples[0].flags)
}

fn calls_with(change: fn(&mut Calls)) -> Calls {
    let mut calls = Calls::default();
    change(&mut calls);
    calls
}

#[test]
fn a_decision_is_carried_out_and_nothing_else_is() {
    let looked = calls_with(|c| (c.submits, c.looks) = (1, 2));
    let waited = calls_with(|c| (c.submits, c.waits) = (1, 1));
    let (hybrid, slept) = (Sample::HYBRID, Sample::HYBRID | Sample::SLEPT);
    for (decision, calls, flags) in [
        (Decision::Interrupt, waited, hybrid | Sample::INTERRUPT),
        (Decision::Poll, looked, hybrid),
        (Decision::Sleep(Nanos::ZERO), looked, hybrid),
        (Decision::Sleep(Nanos(1_000)), looked, slept),
    ] {
        let got = run_one(Waits::Asleep, wait_by_rule(decision));
        assert_eq!(got, (calls, flags), "{decision:?}");
    }
    let together = calls_with(|c| c.both_in_one = 1);
    let asleep = |wait: fn() -> Wait| run_one(Waits::Asleep, |_| wait());
    assert_eq!(asleep(|| Wait::Interrupt), (together, Sample::ONE_CALL));
    assert_eq!(asleep(|| Wait::Poll), (looked, 0));
}

/// The rule is asked first, because its decision selects the path. One look after the sleep shows a
/// miss; then the engine polls in one call.
#[test]
fn on_two_paths_the_decision_chooses_one_before_the_submission() {
    let decided = |c: &mut Calls| (c.waits, c.decided_first) = (1, true);
    let mut interrupted = calls_with(decided);
    interrupted.for_interrupt = 1;
    let mut polled = calls_with(decided);
    polled.submits = 1;
    let looked = Calls { looks: 1, ..polled };
    let (hybrid, slept) = (Sample::HYBRID, Sample::HYBRID | Sample::SLEPT);
    for (decision, calls, flags) in [
        (Decision::Interrupt, interrupted, hybrid | Sample::INTERRUPT),
        (Decision::Poll, polled, hybrid),
        (Decision::Sleep(Nanos::ZERO), polled, hybrid),
        (Decision::Sleep(Nanos(1_000)), looked, slept),
    ] {
        let got = run_one(Waits::Polling, wait_by_rule(decision));
        assert_eq!(got, (calls, flags), "{decision:?}");
    }
}
