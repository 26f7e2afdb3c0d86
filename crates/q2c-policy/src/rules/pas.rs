//! PAS (FAST'26): every I/O's outcome, early or late, changes the sleep of its bucket. No time is
//! measured, so oversleep cannot inflate the estimate.
//!
//! The sleep is multiplied by a step. Two equal outcomes in a row add to the step (`up`) or take
//! from it (`down`); a different outcome restarts it at `1 + up` or `1 - down`. The rule starts
//! from the pair (late, early) and 0.1 us, and the first submission applies that pair. In the
//! adaptive mode the sensitivity changes too: it grows by 5 % with two equal outcomes, up to the
//! full `up` and `down`, and shrinks by 10 % with a change, down to a tenth of them. The published
//! constants are up = 0.01, down = 0.1, so up lies in [0.001, 0.01]. Their ratio holds the miss
//! rate near 20 % on any device.
//!
//! With several I/Os in flight, only the first completion after a new sleep gives an outcome, and
//! only the first submission after that changes the sleep; all other I/Os use it unchanged.

use crate::bucket::{BUCKETS, bucket_of};
use crate::form::Form;
use crate::registry::{Param, ParamKind, Scope, SleepRule};
use crate::state::StateReader;
use crate::{Decision, Io, Lane, MAX_SLEEP, Outcome, Token};
use q2c_model::Nanos;

pub(super) const RULE: SleepRule = SleepRule {
    name: "pas",
    summary: "lengthen the sleep after each early wake-up and shorten it after each late one (FAST'26)",
    scope: Scope::PerCpu,
    follows_device: true,
    interrupts: false,
    params: &[
        Param::new(
            "up",
            "step up after an early wake-up, as a part of 1",
            ParamKind::Number,
            Some(0.01),
            1e-6..=1.0,
        ),
        Param::new(
            "down",
            "step down after a late wake-up, as a part of 1",
            ParamKind::Number,
            Some(0.1),
            1e-6..=0.9,
        ),
        Param::new(
            "adaptive",
            "let the steps shrink and grow with the outcomes",
            ParamKind::Switch,
            Some(1.0),
            0.0..=1.0,
        ),
    ],
    example: "pas:up=0.01,down=0.1",
    form: |spec| {
        Form::Pas(Sensitivity {
            up: spec.value("up"),
            down: spec.value("down"),
            adaptive: spec.value("adaptive") != 0.0,
        })
    },
};

pub(crate) struct Pas {
    sensitivity: Sensitivity,
    buckets: [BucketSleep; BUCKETS],
    /// How often a sleep was held at [`MIN_SLEEP_NS`] since `dpas` last took this count. Even the
    /// shortest sleep then ends late.
    pub(super) timer_failures: u64,
}

#[derive(Default)]
struct BucketSleep {
    sleep: PasSleep,
    generation: u64,
    /// True while none of the generation's I/Os has completed.
    awaits: bool,
    /// The outcome from which the next decision learns.
    late: bool,
}

impl Pas {
    pub(crate) fn new(sensitivity: Sensitivity) -> Self {
        Pas {
            sensitivity,
            buckets: Default::default(),
            timer_failures: 0,
        }
    }
}

impl Lane for Pas {
    fn decide(&mut self, io: Io, _: Nanos) -> (Decision, Token) {
        let Some(bucket) = bucket_of(io) else {
            return (Decision::Poll, Token::default());
        };
        let bucket = &mut self.buckets[bucket];
        if !bucket.awaits {
            let is_long_enough = bucket.sleep.learn(bucket.late, &self.sensitivity);
            self.timer_failures += u64::from(!is_long_enough);
            bucket.generation += 1;
            bucket.awaits = true;
        }
        let sleep = bucket.sleep.rounded_sleep();
        (Decision::Sleep(sleep), Token(bucket.generation))
    }

    fn complete(&mut self, io: Io, token: Token, outcome: Outcome, _: Nanos) {
        let Some(bucket) = bucket_of(io) else {
            return;
        };
        let bucket = &mut self.buckets[bucket];
        if token.0 == bucket.generation && bucket.awaits {
            (bucket.awaits, bucket.late) = (false, outcome.missed);
        }
    }

    fn state(&self) -> Option<Vec<u64>> {
        let mut numbers = vec![self.timer_failures];
        for bucket in &self.buckets {
            // 2 stands for an outcome that is still to come.
            let outcome = if bucket.awaits { 2 } else { bucket.late.into() };
            numbers.extend([bucket.generation, outcome]);
            numbers.extend(bucket.sleep.state());
        }
        Some(numbers)
    }

    fn restore(&mut self, state: &[u64]) -> Option<()> {
        let mut numbers = StateReader(state);
        self.timer_failures = numbers.next_count()?;
        for bucket in &mut self.buckets {
            let (generation, outcome) = (numbers.next_count()?, numbers.next_up_to(2)?);
            *bucket = BucketSleep {
                generation,
                awaits: outcome == 2,
                late: outcome == 1,
                sleep: PasSleep::read(&mut numbers)?,
            };
        }
        numbers.finish()
    }
}

/// The sleep with which a bucket starts, and the shortest sleep, ns.
pub const MIN_SLEEP_NS: f64 = 100.0;
/// A step at or below this counts as used up. Ten steps of 0.1 down from 1 end at 1e-16 in binary,
/// but at 0 in the kernel's decimals.
pub const MIN_STEP: f64 = 1e-9;
/// The factor by which the sensitivity grows with two equal outcomes.
pub const HEAT_UP: f64 = 1.05;
/// The factor by which the sensitivity shrinks when the outcome changes.
pub const COOL_DOWN: f64 = 0.9;
/// The least sensitivity, as a share of the full one.
pub const MIN_HEAT: f64 = 0.1;

/// The parameters of `pas`.
#[derive(Clone, Copy, Debug)]
pub struct Sensitivity {
    /// Step up after an early wake-up, as a part of 1.
    pub up: f64,
    /// Step down after a late wake-up, as a part of 1.
    pub down: f64,
    /// True if the steps shrink and grow with the outcomes.
    pub adaptive: bool,
}

impl Sensitivity {
    pub(super) const PUBLISHED: Sensitivity = Sensitivity {
        up: 0.01,
        down: 0.1,
        adaptive: true,
    };
}

struct PasSleep {
    ns: f64,
    /// The factor by which the last outcome changed the sleep; an equal outcome changes it further.
    step: f64,
    /// The present share of the full sensitivity; it scales up and down alike.
    heat: f64,
    last_late: bool,
}

impl Default for PasSleep {
    fn default() -> Self {
        PasSleep {
            ns: MIN_SLEEP_NS,
            step: 1.0,
            heat: 1.0,
            last_late: true,
        }
    }
}

impl PasSleep {
    /// Changes the sleep. Returns false if it had to be held at [`MIN_SLEEP_NS`].
    fn learn(&mut self, late: bool, sensitivity: &Sensitivity) -> bool {
        let change = if late {
            -sensitivity.down
        } else {
            sensitivity.up
        };
        let repeated = self.last_late == late;
        let base = if repeated { self.step } else { 1.0 };
        let step = base + change * self.heat;
        self.step = if step <= MIN_STEP { 1.0 } else { step };
        let asked = self.ns * self.step;
        self.ns = asked.clamp(MIN_SLEEP_NS, MAX_SLEEP.0 as f64);
        if sensitivity.adaptive {
            self.heat = if repeated {
                (self.heat * HEAT_UP).min(1.0)
            } else {
                (self.heat * COOL_DOWN).max(MIN_HEAT)
            };
        }
        self.last_late = late;
        asked >= MIN_SLEEP_NS
    }

    fn state(&self) -> [u64; 4] {
        let [ns, step, heat] = [self.ns, self.step, self.heat].map(f64::to_bits);
        [ns, step, heat, self.last_late.into()]
    }

    fn read(numbers: &mut StateReader<'_>) -> Option<PasSleep> {
        Some(PasSleep {
            ns: numbers.next_real(MIN_SLEEP_NS, MAX_SLEEP.0 as f64)?,
            step: numbers.next_real(0.0, f64::MAX)?,
            heat: numbers.next_real(0.0, 1.0)?,
            last_late: numbers.next_flag()?,
        })
    }

    fn rounded_sleep(&self) -> Nanos {
        Nanos((self.ns + 0.5) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIXED: Sensitivity = Sensitivity {
        adaptive: false,
        ..Sensitivity::PUBLISHED
    };

    /// Worked out by hand from 10 us: the outcomes (early, early, late, late, early) give the steps
    /// 1.01, 1.02, 0.9, 0.8, 1.01.
    #[test]
    fn steps_grow_shrink_and_start_anew() {
        let mut sleep = PasSleep {
            ns: 10_000.0,
            ..PasSleep::default()
        };
        let slept = [false, false, true, true, false].map(|late| {
            sleep.learn(late, &FIXED);
            sleep.rounded_sleep().0
        });
        assert_eq!(slept, [10_100, 10_302, 9_272, 7_417, 7_492]);
    }

    /// The ninth late outcome after a change leaves a step of 1 - 9 * 0.1 = 0.1, the tenth leaves
    /// 0: the step becomes 1 again.
    #[test]
    fn ten_late_outcomes_use_the_step_up() {
        let mut sleep = PasSleep {
            ns: 1e9,
            last_late: false,
            ..PasSleep::default()
        };
        (0..10).for_each(|_| assert!(sleep.learn(true, &FIXED)));
        assert_eq!(sleep.step, 1.0);
        // 1e9 * 0.9 * 0.8 * ... * 0.1 = 1e9 * 9! / 1e9.
        assert!((sleep.ns - 362_880.0).abs() < 1e-3, "{}", sleep.ns);
    }

    /// From the shortest, 0.1 us, one late outcome asks for 0.09 us.
    #[test]
    fn a_sleep_held_at_the_shortest_is_told() {
        let mut sleep = PasSleep::default();
        assert!(!sleep.learn(true, &FIXED));
        assert_eq!(sleep.rounded_sleep(), Nanos(100));
        assert!(sleep.learn(false, &FIXED));
    }

    #[test]
    fn adaptive_sensitivity_stays_within_a_tenth_and_all() {
        let mut sleep = PasSleep::default();
        let adaptive = Sensitivity::PUBLISHED;
        for i in 0..100 {
            sleep.learn(i % 2 == 0, &adaptive);
        }
        assert!((sleep.heat - 0.1).abs() < 1e-12);
        (0..100).for_each(|_| assert!(sleep.learn(false, &adaptive)));
        assert_eq!(sleep.heat, 1.0);
    }
}
