//! Percentiles by the nearest rank: always a value that was observed.

/// A sorted copy without values that are not finite.
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

/// The smallest value with at least the share `q` (0..=1) of all sorted ones at or below it.
pub fn percentile<T: Copy + Default>(sorted: &[T], q: f64) -> T {
    let rank = (q * sorted.len() as f64).ceil() as usize;
    let index = rank.clamp(1, sorted.len().max(1)) - 1;
    sorted.get(index).copied().unwrap_or_default()
}

/// `n` quantiles at the midpoints of equal shares: (i + 1/2) / n.
pub fn quantiles<T: Copy + Default>(sorted: &[T], n: usize) -> Vec<T> {
    let share = |i| (i as f64 + 0.5) / n as f64;
    (0..n).map(|i| percentile(sorted, share(i))).collect()
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
}
