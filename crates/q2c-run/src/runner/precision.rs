use q2c_model::stats::{Interval, sorted};

/// The least probability with which an interval must contain the true median. The range of five
/// trials has exactly this coverage.
const MIN_COVERAGE: f64 = 0.9375;

/// The requested precision: a cell gets more trials, one per round, while the interval of its
/// median is wider than this allows.
///
/// The interval is the narrowest pair of order statistics that covers the median with at least
/// 93.75 % ([`median_interval`]). Up to 8 trials it is the whole range, which more trials can only
/// widen. From 9 trials on the outermost trials drop out and the interval narrows. A `max_trials`
/// below 9 therefore only brings the cell to 5 trials. Trials stop when the interval happens to be
/// narrow, so its true coverage is somewhat smaller than stated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Precision {
    /// Wanted width of the interval as a share of the median, above 0: 0.05 is 5 %.
    pub relative_width: f64,
    /// Largest number of trials per cell, including the requested ones.
    pub max_trials: u32,
}

impl Precision {
    /// True if the interval of the median of `values` is narrow enough.
    pub(super) fn is_reached(&self, values: &[f64]) -> bool {
        median_interval(values)
            .is_some_and(|i| i.max - i.min <= self.relative_width * i.median.abs())
    }
}

/// The narrowest interval of order statistics, symmetrical in rank, that covers the true median
/// with at least 93.75 %, whatever the distribution. `None` below five values. Values that are not
/// finite are left out; `trials` counts the values used.
pub(crate) fn median_interval(values: &[f64]) -> Option<Interval> {
    let values = sorted(values);
    let dropped = droppable(values.len())?;
    let whole = Interval::from_samples(&values);
    Some(Interval {
        min: values[dropped],
        max: values[values.len() - 1 - dropped],
        ..whole
    })
}

/// How many of the `n` sorted values can be left out at each end. `None` if even the range of all
/// `n` values covers too little.
///
/// The interval from value k to value n-1-k (counted from 0) misses the median when at most k of
/// the n values fall on one side of it. The probability is 2 * sum of C(n, i) / 2^n over i in
/// 0..=k.
fn droppable(n: usize) -> Option<usize> {
    // The sum is taken in logarithms, since 2^-n is 0 in an f64 from n = 1075 on.
    let mut term = -(n as f64) * std::f64::consts::LN_2;
    let mut missed = 0.0;
    let mut dropped = None;
    for k in 0..n.div_ceil(2) {
        missed += 2.0 * term.exp();
        if missed > 1.0 - MIN_COVERAGE {
            break;
        }
        dropped = Some(k);
        term += ((n - k) as f64 / (k + 1) as f64).ln();
    }
    dropped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_as_in_the_tables_of_the_sign_test() {
        // Coverage by hand: n=8, one dropped: 1 - 2*(1+8)/256 = 92.97 %, too little. n=9: 1 -
        // 2*(1+9)/512 = 96.09 %. n=12, two: 1 - 2*(1+12+66)/4096 = 96.14 %. n=11, two: 1 -
        // 2*(1+11+55)/2048 = 93.46 %, too little. n=14, three: 1 - 2*(1+14+91+364)/16384 = 94.26 %.
        let expected = [
            (0, None),
            (4, None),
            (5, Some(0)),
            (8, Some(0)),
            (9, Some(1)),
            (11, Some(1)),
            (12, Some(2)),
            (14, Some(3)),
        ];
        for (n, dropped) in expected {
            assert_eq!(droppable(n), dropped, "n = {n}");
        }
        // For thousands of trials, the normal approximation gives median +- 1.863 * sqrt(n) / 2
        // ranks.
        let n = 10_000;
        let near = (n as f64 / 2.0 - 1.863 * (n as f64).sqrt() / 2.0) as usize;
        assert!(droppable(n).unwrap().abs_diff(near) <= 2);
    }

    #[test]
    fn one_wild_trial_in_nine_does_not_spoil_the_interval() {
        let values = [10.0, 11.0, 10.5, 10.2, 10.8, 10.1, 10.9, 10.4, 99.0];
        let interval = median_interval(&values).unwrap();
        assert_eq!((interval.min, interval.max), (10.1, 11.0));
        assert_eq!((interval.median, interval.trials), (10.5, 9));
        let of_width = |relative_width| Precision {
            relative_width,
            max_trials: 20,
        };
        // The width of 0.9 is 8.57 % of 10.5.
        assert!(of_width(0.086).is_reached(&values));
        assert!(!of_width(0.085).is_reached(&values));
        assert!(!of_width(9.0).is_reached(&values[..4]));
    }
}
