//! One bucket's sleep and how an outcome moves it.

use crate::MAX_SLEEP;
use q2c_model::Nanos;

/// The sleep a bucket starts with, and the shortest, ns.
const SHORTEST: f64 = 100.0;
/// A step at or below this is none left: ten steps of 0.1 from 1 end at 1e-16 in binary, at 0 in the kernel's decimals.
const NOTHING: f64 = 1e-9;
/// Growth of the sensitivity with two equal outcomes.
const HEAT_UP: f64 = 1.05;
/// Its shrinking with a change.
const COOL_DOWN: f64 = 0.9;
/// The least sensitivity, as a part of the full.
const COOLEST: f64 = 0.1;

/// The parameters.
#[derive(Clone, Copy)]
pub(in crate::rules) struct Sensitivity {
    pub(in crate::rules) up: f64,
    pub(in crate::rules) down: f64,
    pub(in crate::rules) adaptive: bool,
}

impl Sensitivity {
    /// As published.
    pub(in crate::rules) const PUBLISHED: Sensitivity = Sensitivity {
        up: 0.01,
        down: 0.1,
        adaptive: true,
    };
}

pub(super) struct Duration {
    /// The sleep, ns.
    ns: f64,
    /// What the sleep is multiplied with at the next outcome.
    step: f64,
    /// The present part of the full sensitivity; up and down always keep their ratio, so one number holds both.
    heat: f64,
    /// The last outcome.
    late: bool,
}

impl Default for Duration {
    fn default() -> Self {
        Duration {
            ns: SHORTEST,
            step: 1.0,
            heat: 1.0,
            late: true,
        }
    }
}

impl Duration {
    /// Takes in the newest outcome. Tells whether the sleep is as short as that asks for: false when it was held at the shortest.
    pub(super) fn learn(&mut self, late: bool, sensitivity: &Sensitivity) -> bool {
        let change = if late {
            -sensitivity.down
        } else {
            sensitivity.up
        };
        let from = if self.late == late { self.step } else { 1.0 };
        let step = from + change * self.heat;
        self.step = if step <= NOTHING { 1.0 } else { step };
        let asked = self.ns * self.step;
        self.ns = asked.clamp(SHORTEST, MAX_SLEEP.0 as f64);
        if sensitivity.adaptive {
            self.heat = if self.late == late {
                (self.heat * HEAT_UP).min(1.0)
            } else {
                (self.heat * COOL_DOWN).max(COOLEST)
            };
        }
        self.late = late;
        asked >= SHORTEST
    }

    /// The sleep, to the nearest nanosecond.
    pub(super) fn sleep(&self) -> Nanos {
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

    /// Worked by hand from 10 us: steps 1.01, 1.02, 0.9, 0.8, 1.01 of (early, early, late, late, early).
    #[test]
    fn steps_grow_shrink_and_start_anew() {
        let mut duration = Duration {
            ns: 10_000.0,
            ..Duration::default()
        };
        let slept = [false, false, true, true, false].map(|late| {
            duration.learn(late, &FIXED);
            duration.sleep().0
        });
        assert_eq!(slept, [10_100, 10_302, 9_272, 7_417, 7_492]);
    }

    /// The ninth late outcome after a change leaves 1 - 9 * 0.1 = 0.1 of the step, the tenth nothing: the step becomes 1 again.
    #[test]
    fn ten_late_outcomes_use_the_step_up() {
        let mut duration = Duration {
            ns: 1e9,
            late: false,
            ..Duration::default()
        };
        (0..10).for_each(|_| assert!(duration.learn(true, &FIXED)));
        assert_eq!(duration.step, 1.0);
        // 1e9 * 0.9 * 0.8 * ... * 0.1 = 1e9 * 9! / 1e9.
        assert!((duration.ns - 362_880.0).abs() < 1e-3, "{}", duration.ns);
    }

    /// From the shortest, 0.1 us, one late outcome asks for 0.09 us.
    #[test]
    fn a_sleep_held_at_the_shortest_is_told() {
        let mut duration = Duration::default();
        assert!(!duration.learn(true, &FIXED));
        assert_eq!(duration.sleep(), Nanos(100));
        assert!(duration.learn(false, &FIXED));
    }

    #[test]
    fn adaptive_sensitivity_stays_within_a_tenth_and_all() {
        let mut duration = Duration::default();
        let adaptive = Sensitivity::PUBLISHED;
        for i in 0..100 {
            duration.learn(i % 2 == 0, &adaptive);
        }
        assert!((duration.heat - 0.1).abs() < 1e-12);
        (0..100).for_each(|_| assert!(duration.learn(false, &adaptive)));
        assert_eq!(duration.heat, 1.0);
    }
}
