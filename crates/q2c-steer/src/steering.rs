//! From completions to the value that is written. Pure: no clock, no device.

use q2c_capture::kernel_hybrid::Delay;
use q2c_capture::latency::Completion;
use q2c_model::{Nanos, Op};
use q2c_policy::{
    BUCKETS, Decision, Io, KernelSleep, Lane, Outcome, PolicySpec, Statistic, bucket_of,
};

/// Rules that need nothing but the times of a window: the file's one value can carry them out.
const FITTING: [&str; 5] = ["fixed", "mean", "min", "quantile", "rule"];
/// All requests are one class for the rule, as the file has one value. Which is of no interest.
const ANY: Io = Io {
    direction: q2c_model::Direction::Read,
    bytes: 4_096,
};

/// A rule that this setting cannot carry out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("steer by {policy}: {why}; rules that do: {}", FITTING.join(", "))]
pub struct Unfit {
    /// The rule.
    pub policy: String,
    /// Why not.
    pub why: &'static str,
}

/// A rule at work.
pub struct Steering {
    lane: Box<dyn Lane>,
    /// The latest time that the rule was given.
    now: Nanos,
    /// Requests by class, as the kernel has them.
    classes: [u64; BUCKETS],
}

impl Steering {
    /// A rule that has seen nothing yet.
    ///
    /// # Errors
    /// The rule needs what is not known here.
    pub fn new(policy: &PolicySpec) -> Result<Steering, Unfit> {
        let unfit = |why| {
            let policy = policy.to_string();
            Err(Unfit { policy, why })
        };
        let reads = policy.formula().map(|f| f.statistics()).unwrap_or_default();
        if reads.contains(&Statistic::Misses) {
            return unfit("misses are not known to one who sees latencies only");
        }
        if !FITTING.contains(&policy.rule().name) {
            return unfit("it decides by more than the times of a device's last window");
        }
        let mut lanes = policy.build(1);
        Ok(Steering {
            lane: lanes.remove(0),
            now: Nanos::ZERO,
            classes: [0; BUCKETS],
        })
    }

    /// Takes a completion in; gives the time under which the rule counts it, or `None` when it does not count: only reads and
    /// writes of a sector and more do. Times that go back are taken as the latest before.
    pub fn complete(&mut self, done: &Completion) -> Option<Nanos> {
        let io = Io {
            direction: done.op.direction(),
            bytes: done.bytes,
        };
        let class = bucket_of(io).filter(|_| matches!(done.op, Op::Read | Op::Write))?;
        self.classes[class] += 1;
        self.now = self.now.max(done.at);
        let (_, token) = self.lane.decide(ANY, self.now);
        let outcome = Outcome {
            observed: done.latency,
            missed: false,
        };
        self.lane.complete(ANY, token, outcome, self.now);
        Some(self.now)
    }

    /// What the rule says at `now`, with the time under which it was asked.
    pub fn decide(&mut self, now: Nanos) -> (Nanos, Decision) {
        self.now = self.now.max(now);
        (self.now, self.lane.decide(ANY, self.now).0)
    }

    /// Requests by the kernel's classes since the last call.
    pub fn take_classes(&mut self) -> [u64; BUCKETS] {
        std::mem::take(&mut self.classes)
    }
}

/// The value that carries a decision out: the nearest whole microsecond, 1 at least.
#[must_use]
pub fn delay_of(decision: Decision) -> Delay {
    match decision {
        Decision::Poll | Decision::Interrupt => Delay::CLASSIC,
        Decision::Sleep(time) => Delay(KernelSleep::whole_us(time).into()),
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
        Completion {
            at: Nanos::from_micros(at_us),
            latency: Nanos(latency_ns),
            bytes: 4_096,
            op: Op::Read,
        }
    }

    /// What is in force after some completions, at a time in us.
    fn value(steering: &mut Steering, done: &[(u64, u64)], at_us: u64) -> i64 {
        for &(at, latency) in done {
            steering.complete(&read(at, latency));
        }
        delay_of(steering.decide(Nanos::from_micros(at_us)).1).0
    }

    /// min, 70 %, 10 ms: the first window is 1 to 11 ms.
    #[test]
    fn the_shortest_of_the_last_window_counts() {
        let mut steering = steering("min:70%,10ms");
        assert_eq!(value(&mut steering, &[], 500), -1, "nothing sleeps yet");
        let first = [(1_000, 90_000), (5_000, 81_600), (9_000, 200_000)];
        assert_eq!(value(&mut steering, &first, 10_999), -1, "not over yet");
        assert_eq!(value(&mut steering, &[], 11_000), 57, "57.12 us");
        // An empty window does not exist; the next begins with its first completion.
        assert_eq!(value(&mut steering, &[], 90_000), 57);
        assert_eq!(value(&mut steering, &[(90_000, 40_000)], 99_999), 57);
        assert_eq!(value(&mut steering, &[], 100_000), 28);
    }

    #[test]
    fn a_sleep_is_a_whole_microsecond_at_least() {
        let of = |ns| delay_of(Decision::Sleep(Nanos(ns))).0;
        assert_eq!(
            [of(1), of(499), of(500), of(1_499), of(1_500)],
            [1, 1, 1, 1, 2]
        );
        assert_eq!(
            of(10_000_000_000),
            2_147_483,
            "an int holds the nanoseconds"
        );
        assert_eq!(delay_of(Decision::Poll), Delay(-1));
    }

    #[test]
    fn what_is_no_read_or_write_does_not_count() {
        let mut steering = steering("min:70%,10ms");
        let flush = Completion {
            op: Op::Flush,
            bytes: 0,
            ..read(1_000, 10)
        };
        let discard = Completion {
            op: Op::Discard,
            ..flush
        };
        let passthrough = Completion {
            bytes: 4_096,
            op: Op::Other,
            ..flush
        };
        for other in [flush, discard, passthrough] {
            assert_eq!(steering.complete(&other), None);
        }
        assert_eq!(value(&mut steering, &[(1_000, 10_000)], 12_000), 7);
        let classes = steering.take_classes();
        assert_eq!(
            (classes[6], classes.iter().sum::<u64>()),
            (1, 1),
            "4 KiB reads"
        );
    }

    #[test]
    fn rules_that_need_more_are_refused() {
        for (policy, word) in [
            ("pas", "more than the times"),
            ("lmd", "more than the times"),
            ("ehp", "more than the times"),
            ("rule:if(misses > 3, 0, 0.5 * min)", "misses"),
        ] {
            let refused = Steering::new(&policy.parse().expect("a rule"));
            let why = refused.err().expect(policy).to_string();
            assert!(why.contains(word) && why.contains("quantile"), "{why}");
        }
    }

    /// The same as a few lines of integers: windows of 10 ms, 0.7 x minimum.
    fn model(done: &[(u64, u64)], at_us: u64) -> i64 {
        let (mut open, mut last): (Option<(u64, u64)>, Option<u64>) = (None, None);
        for &(at, latency) in done {
            open = match open {
                Some((end, min)) if at < end => Some((end, min.min(latency))),
                over => {
                    last = over.map(|(_, min)| min).or(last);
                    Some((at + 10_000, latency))
                }
            };
        }
        if let Some((end, min)) = open.filter(|(end, _)| at_us >= *end) {
            assert!(end <= at_us);
            last = Some(min);
        }
        last.map_or(-1, |min| (((min * 7 + 5) / 10 + 500) / 1_000).max(1) as i64)
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
}
