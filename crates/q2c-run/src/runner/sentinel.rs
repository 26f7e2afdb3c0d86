//! The drift of the device, seen by re-running one cell.

use q2c_stats::Interval;
use serde::{Deserialize, Serialize};

/// How the sentinel's metric moved over the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Drift {
    /// The metric of each run of the sentinel, oldest first; `None` for a run that failed or whose
    /// metric is not finite.
    pub values: Vec<Option<f64>>,
    /// Median and range of the known values.
    pub interval: Interval,
    /// Largest distance of a value from the median, as a share of the median (0.1 is 10 %); `None`
    /// with fewer than two values or a median of 0.
    pub max_deviation: Option<f64>,
}

impl Drift {
    /// The drift over `values`, the metric of each run in order; `None` stands for a run that
    /// failed.
    #[must_use]
    pub fn of(values: &[Option<f64>]) -> Self {
        let values: Vec<Option<f64>> = values.iter().map(|v| v.filter(|v| v.is_finite())).collect();
        let known: Vec<f64> = values.iter().copied().flatten().collect();
        let interval = Interval::of(&known);
        let (median, told) = (interval.median, known.len() >= 2);
        let furthest = (interval.max - median).max(median - interval.min);
        let max_deviation = (told && median != 0.0).then(|| furthest / median.abs());
        Drift {
            values,
            interval,
            max_deviation,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        // Sorted 90 100 104 110: median 102, furthest is 90, 12 / 102.
        let drift = Drift::of(&[Some(100.0), Some(110.0), None, Some(90.0), Some(104.0)]);
        assert_eq!(drift.interval.median, 102.0);
        assert_eq!(drift.max_deviation, Some(12.0 / 102.0));
        assert_eq!(drift.values[2], None);

        // Upwards, and with a negative metric: median -4, furthest -8.
        let drift = Drift::of(&[Some(-4.0), Some(-8.0), Some(-3.0)]);
        assert_eq!(drift.max_deviation, Some(1.0));
    }

    #[test]
    fn what_cannot_be_told_is_not() {
        assert_eq!(Drift::of(&[]).max_deviation, None);
        assert_eq!(Drift::of(&[Some(1.0)]).max_deviation, None);
        assert_eq!(Drift::of(&[Some(0.0), Some(0.0)]).max_deviation, None);
        assert_eq!(Drift::of(&[Some(1.0), Some(f64::NAN)]).max_deviation, None);
    }
}
