//! The ratio of two medians with a bootstrap interval.

use crate::stats::{Rng, percentile::median, percentile::percentile, percentile::sorted};
use serde::{Deserialize, Serialize};

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

/// median(a) / median(b) with a 95 % percentile-bootstrap interval (2,000 resamples drawn with
/// `seed`), which is too narrow for few trials. `None`: an empty side, or a median of b of 0.
pub fn ratio_of_medians(a: &[f64], b: &[f64], seed: u64) -> Option<Ratio> {
    let (a, b) = (sorted(a), sorted(b));
    let base = median(&b);
    if a.is_empty() || base == 0.0 {
        return None;
    }
    let mut rng = Rng::new(seed);
    let mut draw = |values: &[f64]| drawn_median(values, &mut rng);
    let ratios: Vec<f64> = (0..2_000).map(|_| draw(&a) / draw(&b)).collect();
    let ratios = sorted(&ratios);
    Some(Ratio {
        ratio: median(&a) / base,
        low: percentile(&ratios, 0.025),
        high: percentile(&ratios, 0.975),
    })
}

/// The median of as many values drawn with replacement.
pub(crate) fn drawn_median(values: &[f64], rng: &mut Rng) -> f64 {
    let pick = |_: &f64| values[rng.below(values.len() as u64) as usize];
    let picks: Vec<f64> = values.iter().map(pick).collect();
    median(&sorted(&picks))
}

#[cfg(test)]
mod tests {
    use super::*;

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
