//! PAS (FAST'26): every I/O's outcome, too early or too late, moves the sleep of its bucket. No time is measured, so oversleep
//! cannot inflate the estimate.
//!
//! Two outcomes in the same direction add to the step (`up`) or take from it (`down`), a change of direction starts it anew at
//! `1 + up` or `1 - down`; the sleep is multiplied by the step. It starts from (late, early) and 0.1 us, and the first submission
//! applies that pair. In the adaptive mode the sensitivity itself moves: it grows by 5 % with two equal outcomes, up to `up` and
//! `down`, and shrinks by 10 % with a change, down to a tenth of them. The published constants are up = 0.01, down = 0.1, so up lies in
//! [0.001, 0.01]. The ratio of the two pins the miss rate near 20 % whatever the device.
//!
//! With several I/Os in flight a sleep's first completion alone gives an outcome, and only the first submission after it
//! changes the sleep; all others use it as it is.

mod duration;

use crate::bucket::{BUCKETS, bucket_of};
use crate::registry::{Kind, Param, Rule, Scope};
use crate::{Decision, Io, Lane, Outcome, PolicySpec, Token};
use duration::Duration;
pub(super) use duration::Sensitivity;
use q2c_model::Nanos;

pub(super) const RULE: Rule = Rule {
    name: "pas",
    summary: "lengthen the sleep after each early wake-up and shorten it after each late one (FAST'26)",
    scope: Scope::PerCpu,
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
    build,
};

fn build(spec: &PolicySpec, lanes: usize) -> Vec<Box<dyn Lane>> {
    let sensitivity = Sensitivity {
        up: spec.value("up"),
        down: spec.value("down"),
        adaptive: spec.value("adaptive") != 0.0,
    };
    let lane = |_| -> Box<dyn Lane> { Box::new(Pas::new(sensitivity)) };
    (0..lanes).map(lane).collect()
}

/// The rule, alone or within [`dpas`](super::dpas).
pub(super) struct Pas {
    sensitivity: Sensitivity,
    buckets: [Bucket; BUCKETS],
    /// How often a sleep would have become shorter than the shortest.
    failures: u64,
}

struct Bucket {
    duration: Duration,
    /// Counts the sleeps handed out; an I/O's token is the number of the sleep it used.
    generation: u64,
    news: News,
}

/// What is known of the present generation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum News {
    /// None of its I/Os has completed.
    Awaited,
    /// The first one has; `true` if it was late.
    Outcome(bool),
}

impl Default for Bucket {
    fn default() -> Self {
        Bucket {
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

    /// How often a sleep would have become shorter than the shortest, since the last call: not the device is fast then but the timer
    /// late.
    pub(super) fn take_failures(&mut self) -> u64 {
        std::mem::take(&mut self.failures)
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
}
