//! Figures of samples: percentiles by the nearest rank, which are always observed values; the
//! interval of a median, which always comes with its number of trials; and the ratio of two medians
//! with a bootstrap interval.

use super::Rng;
use serde::{Deserialize, Serialize};

/// Returns the finite values, sorted.
pub fn sorted(values: &[f64]) -> Vec<f64> {
    let mut values: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
    values.sort_unstable_by(f64::total_cmp);
    values
}

/// Arithmetic mean; 0 for an empty slice.
pub fn mean(values: &[f64]) -> f64 {
    if values.is_empty() {
        0.0
    } else {
        values.iter().sum::<f64>() / values.len() as f64
    }
}

/// Median of sorted values (mean of the middle two for an even count); 0 for an empty slice.
pub fn median(sorted: &[f64]) -> f64 {
    match sorted.len() {
        0 => 0.0,
        n if n % 2 == 1 => sorted[n / 2],
        n => f64::midpoint(sorted[n / 2 - 1], sorted[n / 2]),
    }
}

/// Nearest-rank percentile: the smallest value with at least the share `q` (0..=1) of values at or
/// below it; the default of `T` for an empty slice.
pub fn percentile<T: Copy + Default>(sorted: &[T], q: f64) -> T {
    let rank = (q * sorted.len() as f64).ceil() as usize;
    let index = rank.clamp(1, sorted.len().max(1)) - 1;
    sorted.get(index).copied().unwrap_or_default()
}

/// The `n` quantiles at the shares (i + 1/2) / n, for i from 0 to n - 1.
pub fn quantiles<T: Copy + Default>(sorted: &[T], n: usize) -> Vec<T> {
    let share = |i| (i as f64 + 0.5) / n as f64;
    (0..n).map(|i| percentile(sorted, share(i))).collect()
}

/// Fewest trials of each of two methods whose disjoint intervals are significant: the intervals of
/// equal methods are disjoint by chance in 2.9 % of cases with 4 trials each, in 10 % with 3.
pub const CLEAR_TRIALS: u32 = 4;

/// The median of independent trials with their range. `[min, max]` of n trials covers the true
/// median with probability `1 - 2 / 2^n` (93.75 % at n = 5), for any distribution.
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
    /// The interval of the trials' values. Ignores values that are not finite.
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

    /// The probability that `[min, max]` covers the true median, 0..1.
    pub fn coverage(&self) -> f64 {
        match self.trials {
            0 => 0.0,
            n => 1.0 - 2.0 / 2f64.powi(n as i32),
        }
    }

    /// True if all of this interval is above `other`.
    pub fn is_above(&self, other: &Interval) -> bool {
        self.min > other.max
    }

    /// The probability that equal methods with these numbers of trials have disjoint intervals.
    pub fn chance_above(&self, other: &Interval) -> f64 {
        let few = self.trials.min(other.trials);
        let many = f64::from(self.trials.max(other.trials));
        // The trials have C(few + many, few) orders, the product of (many + i) / i. No factor is
        // below 2, so after 1,024 factors the product is infinite.
        let factors = (1..=few.min(1_024)).map(f64::from).map(|i| (many + i) / i);
        let orders: f64 = factors.product();
        (2.0 / orders).min(1.0)
    }
}

/// A ratio of two medians and its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ratio {
    /// Median of a over median of b.
    pub ratio: f64,
    /// 2.5th percentile of the resampled ratios.
    pub low: f64,
    /// 97.5th percentile of the resampled ratios.
    pub high: f64,
}

/// Returns median(a) / median(b) with a 95 % percentile-bootstrap interval (2,000 resamples drawn
/// with `seed`), which is too narrow for few trials. `None` if a side is empty, or if the median of
/// b is 0.
pub fn ratio_of_medians(a: &[f64], b: &[f64], seed: u64) -> Option<Ratio> {
    let (a, b) = (sorted(a), sorted(b));
    let base = median(&b);
    if a.is_empty() || base == 0.0 {
        return None;
    }
    let mut rng = Rng::new(seed);
    let mut draw = |values: &[f64]| resampled_median(values, &mut rng);
    let ratios: Vec<f64> = (0..2_000).map(|_| draw(&a) / draw(&b)).collect();
    let ResampledRange { low, high } = ResampledRange::from_draws(&ratios)?;
    Some(Ratio {
        ratio: median(&a) / base,
        low,
        high,
    })
}

/// The median of as many values as there are, drawn with replacement.
pub(crate) fn resampled_median(values: &[f64], rng: &mut Rng) -> f64 {
    let pick = |_: &f64| values[rng.below(values.len() as u64) as usize];
    let picks: Vec<f64> = values.iter().map(pick).collect();
    median(&sorted(&picks))
}

/// The 2.5th and the 97.5th percentile of a value over resampled trials.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ResampledRange {
    /// 2.5th percentile.
    pub low: f64,
    /// 97.5th percentile.
    pub high: f64,
}

impl ResampledRange {
    /// The range of the finite values; `None` if there is none.
    pub fn from_draws(values: &[f64]) -> Option<ResampledRange> {
        let values = sorted(values);
        (!values.is_empty()).then(|| ResampledRange {
            low: percentile(&values, 0.025),
            high: percentile(&values, 0.975),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nearest_rank_on_the_textbook_example() {
        // The example of the nearest-rank method in common statistics texts.
        let values = [15, 20, 35, 40, 50];
        let got = [0.05, 0.30, 0.40, 0.50, 1.0].map(|q| percentile(&values, q));
        assert_eq!(got, [15, 20, 20, 35, 50]);
    }

    proptest! {
        #[test]
        fn a_percentile_has_its_share_below(mut v in prop::collection::vec(0u32..1000, 1..200), q in 0.0..1.0f64) {
            v.sort_unstable();
            let p = percentile(&v, q);
            let below = v.iter().filter(|&&x| x <= p).count() as f64;
            prop_assert!(below >= q * v.len() as f64);
            prop_assert!(v.contains(&p));
        }
    }

    #[test]
    fn five_trials() {
        let five = Interval::from_samples(&[5.0, 1.0, 3.0, 2.0, 4.0]);
        assert_eq!((five.median, five.min, five.max), (3.0, 1.0, 5.0));
        assert_eq!(five.trials, 5);
        assert_eq!(five.coverage(), 0.9375);
    }

    /// C(8, 4) is 70, C(6, 3) is 20, and C(2, 1) is 2: two single trials never overlap.
    #[test]
    fn few_trials_lie_above_others_by_chance() {
        let chance = |n: usize, m: usize| {
            let interval_of = |n| Interval::from_samples(&vec![1.0; n]);
            interval_of(n).chance_above(&interval_of(m))
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
        assert_eq!(most.chance_above(&most), 0.0);
        // C(2^32, 1) is 2^32.
        let one_of_most = 2.0 / 4_294_967_296.0;
        assert_eq!(most.chance_above(&trials(1)), one_of_most);
    }

    #[test]
    fn nothing_measured_says_so() {
        assert_eq!(Interval::from_samples(&[f64::NAN]).trials, 0);
    }

    #[test]
    fn equal_sides_straddle_one() {
        let side = [9.0, 10.0, 11.0, 10.5, 9.5];
        let r = ratio_of_medians(&side, &side, 7).unwrap();
        assert!(r.ratio == 1.0 && r.low <= 1.0 && r.high >= 1.0, "{r:?}");
    }

    #[test]
    fn no_base_no_ratio() {
        assert_eq!(ratio_of_medians(&[1.0], &[], 1), None);
    }
}
