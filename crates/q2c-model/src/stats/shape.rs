//! The shape of a distribution of delays: its median, its width, and its successive deviations.

use super::{median, percentile, sorted};

/// Least spread, in the unit of the values. Deviations are divided by it.
const MIN_SPREAD: f64 = 100.0;
/// Deviations are rounded to this fraction of the spread: 1 / 100.
const Z_STEPS: f64 = 100.0;

/// The shape of a series of values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shape {
    /// The median.
    pub median: f64,
    /// Half the distance from the 16th to the 84th percentile; for normal values their deviation.
    pub spread: f64,
    /// Smaller values are raised to this one.
    pub min: f64,
    /// Larger values are lowered to this one.
    pub max: f64,
    /// Successive deviations from the median, in spreads. Their order keeps bursts intact.
    pub z: Vec<f64>,
}

impl Shape {
    /// The shape of `series`. Clamps values at the percentiles `cuts` (0..1), and keeps at most
    /// `max_z` successive deviations, those in the middle of the series.
    pub fn from_values(series: &[f64], cuts: [f64; 2], max_z: usize) -> Self {
        let ascending = sorted(series);
        let quantile = |q| percentile(&ascending, q);
        let (median, [min, max]) = (median(&ascending), cuts.map(quantile));
        let spread = ((quantile(0.84) - quantile(0.16)) / 2.0).max(MIN_SPREAD);
        let deviation = |value: &f64| (value.clamp(min, max) - median) / spread;
        let skipped = series.len().saturating_sub(max_z) / 2;
        let z = series.iter().skip(skipped).take(max_z).map(deviation);
        Shape {
            median,
            spread,
            min,
            max,
            z: z.map(|z| (z * Z_STEPS).round() / Z_STEPS).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For 0, 10, ... 1,000, the 16th percentile is 160 and the 84th is 840: the spread is 340.
    #[test]
    fn the_shape_of_an_even_distribution() {
        let series: Vec<f64> = (0..=100).map(|n| f64::from(n * 37 % 101) * 10.0).collect();
        let shape = Shape::from_values(&series, [0.05, 0.9], 3);
        let four = [shape.median, shape.spread, shape.min, shape.max];
        assert_eq!(four, [500.0, 340.0, 50.0, 900.0]);
        // Values number 49, 50 and 51 are 960, 320 and 690; the first is clamped to 900.
        let z = [900.0, 320.0, 690.0].map(|value: f64| ((value - 500.0) / 3.4).round() / 100.0);
        assert_eq!(shape.z, z);
    }

    #[test]
    fn values_that_are_alike_have_the_least_spread() {
        let shape = Shape::from_values(&[5.0; 10], [0.005, 0.995], 128);
        assert_eq!((shape.spread, shape.z), (MIN_SPREAD, vec![0.0; 10]));
    }
}
