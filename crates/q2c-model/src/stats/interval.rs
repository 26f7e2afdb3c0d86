//! The interval of a median, which is never handed on without it and its number of trials.

use crate::stats::percentile::{median, sorted};
use serde::{Deserialize, Serialize};

/// Fewest trials on each side that say something when wholly apart: equal sides are so in 2.9 % of
/// cases with 4 trials each, in 10 % with 3.
pub const CLEAR_TRIALS: u32 = 4;

/// The median of independent trials with their range: `[min, max]` of n trials covers the true
/// median with probability `1 - 2 / 2^n` (93.75 % at n = 5), whatever the distribution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The median of the trials.
    pub median: f64,
    /// The smallest trial.
    pub min: f64,
    /// The largest trial.
    pub max: f64,
    /// Number of trials; 0 means that nothing was measured.
    pub trials: u32,
}

impl Interval {
    /// The interval of the trials' values. Values that are not finite are left out.
    pub fn from_samples(values: &[f64]) -> Self {
        let values = sorted(values);
        match (values.first(), values.last()) {
            (Some(&min), Some(&max)) => Interval {
                median: median(&values),
                min,
                max,
                trials: values.len() as u32,
            },
            _ => Interval::default(),
        }
    }

    /// Probability that `[min, max]` covers the true median, 0..1.
    pub fn coverage(&self) -> f64 {
        match self.trials {
            0 => 0.0,
            n => 1.0 - 2.0 / 2f64.powi(n as i32),
        }
    }

    /// Whether this interval lies wholly above `other`.
    pub fn above(&self, other: &Interval) -> bool {
        self.min > other.max
    }

    /// Probability that all trials of one of two equal sides of this size lie above the other's.
    pub fn above_by_chance(&self, other: &Interval) -> f64 {
        let few = self.trials.min(other.trials);
        let many = f64::from(self.trials.max(other.trials));
        // C(few + many, few) is the product of (many + i) / i. No factor is below 2, so that it is
        // beyond all numbers after 1,024 of them.
        let factors = (1..=few.min(1_024)).map(f64::from).map(|i| (many + i) / i);
        let orders: f64 = factors.product();
        (2.0 / orders).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_trials() {
        let five = Interval::from_samples(&[5.0, 1.0, 3.0, 2.0, 4.0]);
        assert_eq!(
            five,
            Interval {
                median: 3.0,
                min: 1.0,
                max: 5.0,
                trials: 5
            }
        );
        assert_eq!(five.coverage(), 0.9375);
    }

    /// C(8, 4) is 70, C(6, 3) is 20, and C(2, 1) is 2: of two single trials one is always above.
    #[test]
    fn few_trials_lie_above_others_by_chance() {
        let chance = |n: usize, m: usize| {
            let interval_of = |n| Interval::from_samples(&vec![1.0; n]);
            interval_of(n).above_by_chance(&interval_of(m))
        };
        assert!((chance(4, 4) - 2.0 / 70.0).abs() < 1e-12);
        assert!((chance(3, 3) - 0.1).abs() < 1e-12);
        assert!((chance(2, 3) - 0.2).abs() < 1e-12);
        assert_eq!(chance(1, 1), 1.0);
        let trials = |trials| Interval {
            trials,
            ..Interval::default()
        };
        let most = trials(u32::MAX);
        assert_eq!(most.above_by_chance(&most), 0.0);
        // C(2^32, 1) is 2^32.
        let one_of_most = 2.0 / 4_294_967_296.0;
        assert_eq!(most.above_by_chance(&trials(1)), one_of_most);
    }

    #[test]
    fn nothing_measured_says_so() {
        assert_eq!(Interval::from_samples(&[f64::NAN]).trials, 0);
    }
}
