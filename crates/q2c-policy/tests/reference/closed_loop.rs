//! The closed loop of both implementations: streams of depth 1 with think times.

use q2c_model::Nanos;
use q2c_policy::{Decision, Io, Lane, Outcome, PolicySpec, Token};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Stands for a sleep when the I/O waits for its interrupt.
pub(crate) const INTERRUPT: u64 = u64::MAX;
/// Time from a completion until the waiting thread has it by an interrupt, ns.
pub(crate) const INTERRUPT_DELAY: u64 = 1_900;

#[derive(Clone, Copy, Debug)]
pub(crate) struct LoopRequest {
    pub io: Io,
    /// The device's own time, ns.
    pub latency: u64,
    /// From the completion to the next submission, ns.
    pub think: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IoResult {
    pub latency: u64,
    /// The sleep asked, ns; 0 for polling, [`INTERRUPT`] for the interrupt.
    pub asked: u64,
    pub missed: bool,
    pub observed: u64,
}

#[derive(Clone, Copy)]
pub(crate) struct Finish {
    pub lane: usize,
    pub io: Io,
    pub token: u64,
    pub observed: u64,
    pub missed: bool,
    pub now: u64,
}

pub(crate) trait RuleUnderTest {
    /// Returns the sleep asked, ns, 0 or [`INTERRUPT`], and the I/O's token.
    fn submit(&mut self, lane: usize, io: Io, now: u64) -> (u64, u64);
    fn finish(&mut self, finish: Finish);
}

pub(crate) struct CrateRule(Vec<Box<dyn Lane>>);

impl CrateRule {
    pub(crate) fn new(spec: &str, lanes: usize) -> Self {
        let spec: PolicySpec = spec.parse().unwrap_or_else(|e| panic!("{e}"));
        CrateRule(spec.build(lanes))
    }
}

impl RuleUnderTest for CrateRule {
    fn submit(&mut self, lane: usize, io: Io, now: u64) -> (u64, u64) {
        match self.0[lane].decide(io, Nanos(now)) {
            (Decision::Sleep(Nanos(ns)), Token(token)) => (ns, token),
            (Decision::Poll, Token(token)) => (0, token),
            (Decision::Interrupt, Token(token)) => (INTERRUPT, token),
        }
    }

    fn finish(&mut self, f: Finish) {
        let outcome = Outcome::new(f.observed, f.missed);
        self.0[f.lane].complete(f.io, Token(f.token), outcome, Nanos(f.now));
    }
}

/// Runs stream `i` on lane `i % lanes`. Results are in the order of submission; sleeps take
/// `wake_delay` ns longer than asked.
pub(crate) fn run(
    subject: &mut dyn RuleUnderTest,
    lanes: usize,
    streams: &[Vec<LoopRequest>],
    wake_delay: u64,
) -> Vec<IoResult> {
    let mut ios = Vec::new();
    let mut next_request = vec![0; streams.len()];
    let mut in_flight: Vec<Option<Finish>> = vec![None; streams.len()];
    let starts = (0..streams.len()).map(|stream| Reverse((stream as u64, stream)));
    let mut events: BinaryHeap<_> = starts.collect();
    while let Some(Reverse((now, stream))) = events.pop() {
        if let Some(finish) = in_flight[stream].take() {
            subject.finish(finish);
            let think = streams[stream][next_request[stream]].think;
            next_request[stream] += 1;
            events.push(Reverse((now + think, stream)));
        } else if let Some(&request) = streams[stream].get(next_request[stream]) {
            let lane = stream % lanes;
            let (asked, token) = subject.submit(lane, request.io, now);
            let result = io_result(request.latency, asked, wake_delay);
            in_flight[stream] = Some(Finish {
                lane,
                io: request.io,
                token,
                observed: result.observed,
                missed: result.missed,
                now: now + result.observed,
            });
            events.push(Reverse((now + result.observed, stream)));
            ios.push(result);
        }
    }
    ios
}

fn io_result(latency: u64, asked: u64, wake_delay: u64) -> IoResult {
    if asked == INTERRUPT {
        let observed = latency + INTERRUPT_DELAY;
        return IoResult {
            latency,
            asked,
            missed: false,
            observed,
        };
    }
    let wake = if asked == 0 { 0 } else { asked + wake_delay };
    IoResult {
        latency,
        asked,
        missed: asked > 0 && wake >= latency,
        observed: latency.max(wake),
    }
}

pub(crate) fn reads(latencies: impl IntoIterator<Item = u64>) -> Vec<LoopRequest> {
    let (io, think) = (Io::READ_4K, 0);
    let request = |latency| LoopRequest { io, latency, think };
    latencies.into_iter().map(request).collect()
}

pub(crate) fn run_one(spec: &str, latencies: &[u64], wake_delay: u64) -> Vec<IoResult> {
    let streams = [reads(latencies.iter().copied())];
    run(&mut CrateRule::new(spec, 1), 1, &streams, wake_delay)
}
