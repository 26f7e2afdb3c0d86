//! PAS (FAST'26): every I/O's outcome, too early or too late, moves the sleep of its bucket. No
//! time is measured, so oversleep cannot inflate the estimate.
//!
//! The sleep is multiplied by a step. Two outcomes in the same direction add to the step (`up`) or
//! take from it (`down`); a change of direction starts it anew at `1 + up` or `1 - down`. The rule
//! starts from the pair (late, early) and 0.1 us, and the first submission applies that pair. In
//! the adaptive mode the sensitivity itself moves: it grows by 5 % with two equal outcomes, up to
//! the full `up` and `down`, and shrinks by 10 % with a change, down to a tenth of them. The
//! published constants are up = 0.01, down = 0.1, so up lies in [0.001, 0.01]. The ratio of the two
//! holds the miss rate near 20 % on any device.
//!
//! With several I/Os in flight only the first completion after a sleep was chosen gives an outcome,
//! and only the first submission after that changes the sleep; all other I/Os use it unchanged.

mod duration;

pub use duration::{COOL_DOWN, COOLEST, HEAT_UP, NOTHING, SHORTEST, Sensitivity};

use super::each_lane;
use crate::bucket::{BUCKETS, bucket_of};
use crate::form::Form;
use crate::learned::{MOST, Numbers};
use crate::registry::{Kind, Param, Scope, SleepRule};
use crate::{Decision, Io, Lane, Outcome, PolicySpec, Token};
use duration::Duration;
use q2c_model::Nanos;

pub(super) const RULE: SleepRule = SleepRule {
    name: "pas",
    summary: "lengthen the sleep after each early wake-up and shorten it after each late one (FAST'26)",
    scope: Scope::PerCpu,
    follows_device: true,
    interrupts: false,
    params: &[
        Param {
            name: "up",
            summary: "step up after an early wake-up, as a part of 1",
            kind: Kind::Number,
            default: Some(0.01),
            min: 1e-6,
            max: 1.0,
        },
        Param {
            name: "down",
            summary: "step down after a late wake-up, as a part of 1",
            kind: Kind::Number,
            default: Some(0.1),
            min: 1e-6,
            max: 0.9,
        },
        Param {
            name: "adaptive",
            summary: "let the steps shrink and grow with the outcomes",
            kind: Kind::Switch,
            default: Some(1.0),
            min: 0.0,
            max: 1.0,
        },
    ],
    example: "pas:up=0.01,down=0.1",
    build: |spec, lanes| each_lane(lanes, || Pas::new(sensitivity(spec))),
    form: |spec| Form::Pas(sensitivity(spec)),
};

fn sensitivity(spec: &PolicySpec) -> Sensitivity {
    Sensitivity {
        up: spec.value("up"),
        down: spec.value("down"),
        adaptive: spec.value("adaptive") != 0.0,
    }
}

pub(super) struct Pas {
    sensitivity: Sensitivity,
    buckets: [BucketSleep; BUCKETS],
    /// Sleeps that would have become shorter than [`SHORTEST`], not yet taken.
    failures: u64,
}

struct BucketSleep {
    duration: Duration,
    generation: u64,
    news: News,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum News {
    /// None of its I/Os has completed.
    Awaited,
    Outcome(bool),
}

impl Default for BucketSleep {
    fn default() -> Self {
        BucketSleep {
            duration: Duration::default(),
            generation: 0,
            news: News::Outcome(false),
        }
    }
}

impl Pas {
    pub(super) fn new(sensitivity: Sensitivity) -> Self {
        Pas {
            sensitivity,
            buckets: Default::default(),
            failures: 0,
        }
    }

    /// Sleeps held at the shortest since the last call: the timer is late, not the device fast.
    pub(super) fn take_failures(&mut self) -> u64 {
        std::mem::take(&mut self.failures)
    }

    fn read(&mut self, learned: &[u64]) -> Option<()> {
        let mut numbers = Numbers::new(learned);
        self.failures = numbers.count()?;
        for bucket in &mut self.buckets {
            *bucket = BucketSleep {
                generation: numbers.up_to(MOST)?,
                news: match numbers.up_to(2)? {
                    2 => News::Awaited,
                    late => News::Outcome(late == 1),
                },
                duration: Duration::read(&mut numbers)?,
            };
        }
        numbers.end()
    }
}

impl Lane for Pas {
    fn decide(&mut self, io: Io, _: Nanos) -> (Decision, Token) {
        let Some(bucket) = bucket_of(io) else {
            return (Decision::Poll, Token::default());
        };
        let bucket = &mut self.buckets[bucket];
        if let News::Outcome(late) = bucket.news {
            let enough = bucket.duration.learn(late, &self.sensitivity);
            self.failures += u64::from(!enough);
            bucket.generation += 1;
            bucket.news = News::Awaited;
        }
        let sleep = bucket.duration.sleep();
        (Decision::Sleep(sleep), Token(bucket.generation))
    }

    fn complete(&mut self, io: Io, token: Token, outcome: Outcome, _: Nanos) {
        let Some(bucket) = bucket_of(io) else {
            return;
        };
        let bucket = &mut self.buckets[bucket];
        if token.0 == bucket.generation && bucket.news == News::Awaited {
            bucket.news = News::Outcome(outcome.missed);
        }
    }

    fn learned(&self) -> Option<Vec<u64>> {
        let mut numbers = vec![self.failures];
        for bucket in &self.buckets {
            let news = match bucket.news {
                News::Awaited => 2,
                News::Outcome(late) => u64::from(late),
            };
            numbers.extend([bucket.generation, news]);
            numbers.extend(bucket.duration.learned());
        }
        Some(numbers)
    }

    fn go_on_from(&mut self, learned: &[u64]) -> bool {
        self.read(learned).is_some()
    }
}
