//! Turns completions into the value that is written. This module uses neither a clock nor a device.

use q2c_capture::kernel_hybrid::Delay;
use q2c_capture::latency::Completion;
use q2c_model::{Nanos, Op};
use q2c_policy::{
    BUCKETS, Decision, Io, KernelSleep, Lane, Outcome, PolicySpec, Statistic, bucket_of,
};
use std::mem::take;

/// Rules that need only the times of a window, so that the file's one value can carry them out.
const FITTING_RULES: [&str; 5] = ["fixed", "mean", "min", "quantile", "rule"];
/// Every request is given to the rule as this one, because the file has one value for all.
pub(crate) const ANY_REQUEST: Io = Io {
    direction: q2c_model::Direction::Read,
    bytes: 4_096,
};

/// A rule that the setting `io_poll_delay` cannot carry out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("steer by {policy}: {reason}; rules that do: {}", FITTING_RULES.join(", "))]
pub struct UnfitRule {
    pub policy: String,
    pub reason: &'static str,
}

/// A running rule; [`Steering::complete`] passes it each completion.
pub struct Steering {
    lane: Box<dyn Lane>,
    /// The latest time that the rule was given. Times given to the rule never go back.
    now: Nanos,
    /// Requests of each of the kernel's classes since the last [`Steering::take_counts`].
    classes: [u64; BUCKETS],
    /// Reads and writes that nobody polled for since the last [`Steering::take_counts`].
    unpolled: u64,
}

/// The class of a request that the kernel's hybrid polling handles: a polled read or write.
pub(crate) fn kernel_class(done: &Completion) -> Option<usize> {
    transfer_class(done).filter(|_| done.polled)
}

/// The class of a read or write of a sector or more, whether it was polled or not.
fn transfer_class(done: &Completion) -> Option<usize> {
    let (direction, bytes) = (done.op.direction(), done.bytes);
    bucket_of(Io { direction, bytes }).filter(|_| matches!(done.op, Op::Read | Op::Write))
}

impl Steering {
    /// A rule that has seen no completion yet.
    pub fn new(policy: &PolicySpec) -> Result<Steering, UnfitRule> {
        let statistics = policy.formula().map(|f| f.statistics()).unwrap_or_default();
        let reason = if statistics.contains(&Statistic::Misses) {
            "misses are not known to one who sees latencies only"
        } else if policy.rule().name == "recent" {
            "its windows are a number of I/Os, and the setting is written after windows of time"
        } else if !FITTING_RULES.contains(&policy.rule().name) {
            "it decides by more than the times of a device's last window"
        } else {
            return Ok(Steering {
                lane: policy.build(1).remove(0),
                now: Nanos::ZERO,
                classes: [0; BUCKETS],
                unpolled: 0,
            });
        };
        let policy = policy.to_string();
        Err(UnfitRule { policy, reason })
    }

    /// Returns the time under which the rule counts a completion. These times never go back.
    /// `None` for all but polled reads and writes: the kernel sleeps only for these, and requests
    /// of other sizes could make the sleep too long or too short.
    pub(crate) fn complete(&mut self, done: &Completion) -> Option<Nanos> {
        if !done.polled {
            self.unpolled += u64::from(transfer_class(done).is_some());
        }
        let class = kernel_class(done)?;
        self.classes[class] += 1;
        self.now = self.now.max(done.at);
        let (_, token) = self.lane.decide(ANY_REQUEST, self.now);
        let outcome = Outcome {
            observed: done.latency,
            missed: false,
        };
        self.lane.complete(ANY_REQUEST, token, outcome, self.now);
        Some(self.now)
    }

    /// The rule's decision at `now`, and the time under which the rule was asked.
    pub(crate) fn decide(&mut self, now: Nanos) -> (Nanos, Decision) {
        self.now = self.now.max(now);
        (self.now, self.lane.decide(ANY_REQUEST, self.now).0)
    }

    /// Takes out the number of requests of each class of the kernel, and of the reads and writes
    /// that nobody polled for, since the last call.
    pub(crate) fn take_counts(&mut self) -> ([u64; BUCKETS], u64) {
        (take(&mut self.classes), take(&mut self.unpolled))
    }
}

/// The value for a decision: -1 for no sleep, else the nearest whole microsecond, at least 1.
pub(crate) fn kernel_delay(decision: Decision) -> Delay {
    match decision {
        Decision::Poll | Decision::Interrupt => Delay::CLASSIC,
        Decision::Sleep(time) => Delay(KernelSleep::whole_us(time).into()),
    }
}

/// A polled read of 4 KiB by thread 1.
#[cfg(test)]
pub(crate) fn polled_read(at: Nanos, latency: Nanos) -> Completion {
    Completion {
        at,
        latency,
        bytes: 4_096,
        op: Op::Read,
        tid: 1,
        polled: true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn steering(policy: &str) -> Steering {
        Steering::new(&policy.parse().expect("a rule")).expect("one that fits")
    }

    fn read(at_us: u64, latency_ns: u64) -> Completion {
        polled_read(Nanos::from_micros(at_us), Nanos(latency_ns))
    }

    /// The value in force at `at_us` after the completions `done`: times in us, latencies in ns.
    fn value(steering: &mut Steering, done: &[(u64, u64)], at_us: u64) -> i64 {
        for &(at, latency) in done {
            steering.complete(&read(at, latency));
        }
        kernel_delay(steering.decide(Nanos::from_micros(at_us)).1).0
    }

    /// min, 70 %, 10 ms: the first window lasts from 1 to 11 ms.
    #[test]
    fn the_shortest_of_the_last_window_counts() {
        let mut steering = steering("min:70%,10ms");
        assert_eq!(value(&mut steering, &[], 500), -1, "nothing sleeps yet");
        let first = [(1_000, 90_000), (5_000, 81_600), (9_000, 200_000)];
        assert_eq!(value(&mut steering, &first, 10_999), -1, "not over yet");
        assert_eq!(value(&mut steering, &[], 11_000), 57, "57.12 us");
        // A window is never empty: the next one begins with its first completion.
        assert_eq!(value(&mut steering, &[], 90_000), 57);
        assert_eq!(value(&mut steering, &[(90_000, 40_000)], 99_999), 57);
        assert_eq!(value(&mut steering, &[], 100_000), 28);
    }

    #[test]
    fn a_sleep_is_a_whole_microsecond_at_least() {
        let delay_us = |ns| kernel_delay(Decision::Sleep(Nanos(ns))).0;
        assert_eq!([1, 499, 500, 1_499, 1_500].map(delay_us), [1, 1, 1, 1, 2]);
        // An int holds the nanoseconds.
        assert_eq!(delay_us(10_000_000_000), 2_147_483);
        assert_eq!(kernel_delay(Decision::Poll), Delay(-1));
    }

    #[test]
    fn what_is_no_read_or_write_does_not_count() {
        let mut steering = steering("min:70%,10ms");
        for (op, bytes) in [(Op::Flush, 0), (Op::Discard, 0), (Op::Other, 4_096)] {
            let mut other = read(1_000, 10);
            (other.op, other.bytes) = (op, bytes);
            assert_eq!(steering.complete(&other), None);
        }
        assert_eq!(value(&mut steering, &[(1_000, 10_000)], 12_000), 7);
        let (classes, _) = steering.take_counts();
        let total: u64 = classes.iter().sum();
        assert_eq!((classes[6], total), (1, 1), "4 KiB reads");
    }

    #[test]
    fn rules_that_need_more_are_refused() {
        for (policy, word) in [
            ("pas", "more than the times"),
            ("lmd", "more than the times"),
            ("ehp", "more than the times"),
            ("recent:0.5 * min", "a number of I/Os"),
            ("rule:if(misses > 3, 0, 0.5 * min)", "misses"),
        ] {
            let refused = Steering::new(&policy.parse().expect("a rule"));
            let reason = refused.err().expect(policy).to_string();
            let is_told = reason.contains(word) && reason.contains("quantile");
            assert!(is_told, "{reason}");
        }
    }

    /// The rule as a model of a few lines on integers: windows of 10 ms, 0.7 x minimum.
    fn model(done: &[(u64, u64)], at_us: u64) -> i64 {
        let (mut window, mut last_min): (Option<(u64, u64)>, Option<u64>) = (None, None);
        for &(at, latency) in done {
            window = match window {
                Some((end, min)) if at < end => Some((end, min.min(latency))),
                ended => {
                    last_min = ended.map(|(_, min)| min).or(last_min);
                    Some((at + 10_000, latency))
                }
            };
        }
        if let Some((end, min)) = window.filter(|(end, _)| at_us >= *end) {
            assert!(end <= at_us);
            last_min = Some(min);
        }
        last_min.map_or(-1, |min| (((min * 7 + 5) / 10 + 500) / 1_000).max(1) as i64)
    }

    proptest! {
        #[test]
        fn as_the_model_says(steps in proptest::collection::vec((0_u64..6_000, 100_u64..300_000), 1..60), wait in 0_u64..30_000) {
            let mut at = 7;
            let done: Vec<(u64, u64)> = steps
                .into_iter()
                .map(|(step, latency)| {
                    at += step;
                    (at, latency)
                })
                .collect();
            let got = value(&mut steering("min:70%,10ms"), &done, at + wait);
            prop_assert_eq!(got, model(&done, at + wait));
        }
    }

    /// Reads by interrupts take 500 us beside polled ones of 100 us.
    #[test]
    fn only_polled_requests_make_the_sleep() {
        let mut steering = steering("mean:50%,10ms");
        for n in 0..100 {
            let at = 1_000 + n * 100;
            let mut unpolled = read(at + 10, 500_000);
            unpolled.polled = false;
            assert!(steering.complete(&read(at, 100_000)).is_some());
            assert_eq!(steering.complete(&unpolled), None);
        }
        assert_eq!(value(&mut steering, &[], 12_000), 50);
        assert_eq!(steering.take_counts().1, 100);
        assert_eq!(steering.take_counts().1, 0);
    }
}
