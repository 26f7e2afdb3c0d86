//! The shape of a distribution of delays: its middle, its width, and how values lie about it.

use super::{median, percentile, sorted};

/// In the unit of the values: equal ones would have none, and deviations are counted in spreads.
const LEAST_SPREAD: f64 = 100.0;
/// Deviations are rounded to steps, of which the spread has this number.
const STEPS: f64 = 100.0;

/// The shape of a series of values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shape {
    /// The median.
    pub middle: f64,
    /// Half the distance of the 16th and 84th percentile: the deviation of normal values.
    pub spread: f64,
    /// Values are clamped at this one from below,
    pub least: f64,
    /// and at this one from above.
    pub most: f64,
    /// Consecutive deviations from the middle, in spreads, so that bursts stay bursts.
    pub z: Vec<f64>,
}

impl Shape {
    /// Clamps `series` at the percentiles `cuts` (0..1) and keeps at most `kept` deviations from
    /// its middle.
    pub fn from_values(series: &[f64], cuts: [f64; 2], kept: usize) -> Self {
        let ascending = sorted(series);
        let at = |q| percentile(&ascending, q);
        let (middle, [least, most]) = (median(&ascending), cuts.map(at));
        let spread = ((at(0.84) - at(0.16)) / 2.0).max(LEAST_SPREAD);
        let deviation = |value: &f64| (value.clamp(least, most) - middle) / spread;
        let from = series.len().saturating_sub(kept) / 2;
        let z = series.iter().skip(from).take(kept).map(deviation);
        Shape {
            middle,
            spread,
            least,
            most,
            z: z.map(|z| (z * STEPS).round() / STEPS).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of 0, 10, ... 1,000 the 16th percentile is 160 and the 84th is 840: the spread is 340.
    #[test]
    fn the_shape_of_an_even_distribution() {
        let series: Vec<f64> = (0..=100).map(|n| f64::from(n * 37 % 101) * 10.0).collect();
        let shape = Shape::from_values(&series, [0.05, 0.9], 3);
        let four = [shape.middle, shape.spread, shape.least, shape.most];
        assert_eq!(four, [500.0, 340.0, 50.0, 900.0]);
        // The values 49, 50 and 51 of the series are 960, 320 and 690; the first is clamped.
        let z = [900.0, 320.0, 690.0].map(|value: f64| ((value - 500.0) / 3.4).round() / 100.0);
        assert_eq!(shape.z, z);
    }

    #[test]
    fn values_that_are_alike_have_the_least_spread() {
        let shape = Shape::from_values(&[5.0; 10], [0.005, 0.995], 128);
        assert_eq!((shape.spread, shape.z), (LEAST_SPREAD, vec![0.0; 10]));
    }
}
