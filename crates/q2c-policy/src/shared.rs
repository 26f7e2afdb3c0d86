//! One state of a rule (a [`Lane`]) that several threads of one CPU use in turn, as the kernel uses
//! per-CPU state. Its lock is free unless a thread lost the CPU within its few nanoseconds of work.

use crate::{Decision, Io, Lane, Outcome, Token};
use q2c_model::{CpuId, Nanos};
use std::sync::{Arc, Mutex, PoisonError};

/// Returns one handle per entry of `cpus`; equal entries share one of the lanes that `build` makes.
pub(crate) fn share_by_cpu(
    cpus: &[CpuId],
    build: impl Fn(usize) -> Vec<Box<dyn Lane>>,
) -> Vec<Box<dyn Lane>> {
    let mut distinct = cpus.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    if distinct.len() == cpus.len() {
        return build(cpus.len());
    }
    let lanes = build(distinct.len()).into_iter();
    let lanes: Vec<SharedLane> = lanes.map(SharedLane::new).collect();
    let handle = |cpu| -> Box<dyn Lane> {
        let index = distinct.binary_search(cpu);
        Box::new(lanes[index.expect("every CPU is among the distinct")].clone())
    };
    cpus.iter().map(handle).collect()
}

#[derive(Clone)]
struct SharedLane(Arc<Mutex<SharedState>>);

struct SharedState {
    lane: Box<dyn Lane>,
    /// The latest time that any thread gave: time must not go back within a lane.
    now: Nanos,
}

impl SharedLane {
    fn new(lane: Box<dyn Lane>) -> Self {
        let now = Nanos::ZERO;
        SharedLane(Arc::new(Mutex::new(SharedState { lane, now })))
    }

    fn with_lane<T>(&self, now: Nanos, action: impl FnOnce(&mut dyn Lane, Nanos) -> T) -> T {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.now = state.now.max(now);
        let now = state.now;
        action(&mut *state.lane, now)
    }
}

impl Lane for SharedLane {
    fn decide(&mut self, io: Io, now: Nanos) -> (Decision, Token) {
        self.with_lane(now, |lane, now| lane.decide(io, now))
    }

    fn complete(&mut self, io: Io, token: Token, outcome: Outcome, now: Nanos) {
        self.with_lane(now, |lane, now| lane.complete(io, token, outcome, now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PolicySpec;

    /// The first submission makes 101 ns of PAS's 0.1 us; each early outcome then adds 2 % and 3 %:
    /// 103.02, 106.11. Threads that share a CPU step together, the one that is alone by itself.
    #[test]
    fn threads_of_one_cpu_learn_together() {
        let spec: PolicySpec = "pas:adaptive=off".parse().expect("a rule");
        let mut lanes = spec.build_on(&[CpuId(3), CpuId(0), CpuId(3)]);
        let io = Io::READ_4K;
        let early_outcome = Outcome::new(50_000, false);
        let mut run_io = |lane: usize, now| {
            let (decision, token) = lanes[lane].decide(io, Nanos(now));
            lanes[lane].complete(io, token, early_outcome, Nanos(now + 1));
            decision
        };
        let got = [(0, 10), (2, 5), (1, 20), (0, 30)].map(|(lane, now)| run_io(lane, now));
        let expected = [101, 103, 101, 106].map(|ns| Decision::Sleep(Nanos(ns)));
        assert_eq!(got, expected);
    }
}
