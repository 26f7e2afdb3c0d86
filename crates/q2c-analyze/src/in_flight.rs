//! The number of I/Os in flight over time.

use crate::activity::Idle;
use q2c_result::analyze::{Activity, InFlight};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Follows the number of I/Os in flight from one queueing to the next. A heap holds the completions
/// of those in flight.
#[derive(Default)]
pub(crate) struct Sweep {
    ends: BinaryHeap<Reverse<u64>>,
    /// The time up to which all is counted; `None` before the first I/O.
    now: Option<u64>,
    integral: u128,
    sum: u128,
    most: u64,
    idle: Idle,
}

impl Sweep {
    /// Takes an I/O by the times queued and complete. Returns the number in flight when it was
    /// queued, itself included.
    pub(crate) fn add(&mut self, from: u64, to: u64) -> u64 {
        let to = to.max(from);
        self.sum += u128::from(to - from);
        let now = *self.now.get_or_insert(from);
        if from < now {
            // The I/O comes late: its time before `now` was passed already and is added here.
            self.integral += u128::from(to.min(now) - from);
        } else {
            self.advance(from);
        }
        if to > now {
            self.ends.push(Reverse(to));
        }
        let depth = self.ends.len() as u64;
        self.most = self.most.max(depth);
        depth.max(1)
    }

    fn advance(&mut self, until: u64) {
        while let Some(Reverse(end)) = self.ends.peek().copied() {
            if end > until {
                break;
            }
            self.step(end);
            self.ends.pop();
        }
        self.step(until);
    }

    fn step(&mut self, to: u64) {
        let from = self.now.replace(to).unwrap_or(to);
        let depth = self.ends.len() as u64;
        self.integral += u128::from(depth) * u128::from(to - from);
        match depth {
            0 => self.idle.add(to - from),
            _ => self.idle.ends(to - from),
        }
    }

    /// Counts on to the last completion.
    pub(crate) fn finish(&mut self) {
        while let Some(Reverse(end)) = self.ends.peek().copied() {
            self.step(end);
            self.ends.pop();
        }
    }

    pub(crate) fn in_flight(&self, span_ns: u64) -> InFlight {
        InFlight {
            sum_q2c_ns: self.sum,
            integral_ns: self.integral,
            mean: if span_ns == 0 {
                0.0
            } else {
                self.integral as f64 / span_ns as f64
            },
            most: self.most,
        }
    }

    pub(crate) fn activity(&self) -> Activity {
        self.idle.activity()
    }
}
