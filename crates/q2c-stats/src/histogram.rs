//! A histogram for latencies, with constant memory and a few instructions per value.

/// Classes per octave. Each class is at most 1.6 % wide, and its middle within 0.8 % of all values
/// in it. Below 128 every value has its own class.
const STEPS: u64 = 64;
/// Number of bits of a class's number within its octave.
const BITS: u32 = STEPS.trailing_zeros();
/// Values from 2^42 on, 73 minutes in nanoseconds, count as the greatest.
const MOST: u64 = (1 << 42) - 1;
/// Number of classes.
const CLASSES: usize = class(MOST) + 1;

/// Counts of values in classes of equal relative width. Sum, least and greatest value are exact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    counts: Box<[u64]>,
    sum: u128,
    least: u64,
    greatest: u64,
}

#[inline]
const fn class(value: u64) -> usize {
    let octave = (value | (STEPS - 1)).ilog2() + 1 - BITS;
    let shift = octave.saturating_sub(1);
    (shift as u64 * STEPS + (value >> shift)) as usize
}

/// The middle of the whole numbers in a class.
fn middle(class: usize) -> f64 {
    let class = class as u64;
    let shift = (class / STEPS).saturating_sub(1);
    let first = (class - shift * STEPS) << shift;
    first as f64 + ((1u64 << shift) - 1) as f64 / 2.0
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram {
            counts: vec![0; CLASSES].into_boxed_slice(),
            sum: 0,
            least: u64::MAX,
            greatest: 0,
        }
    }
}

impl Histogram {
    /// Counts one value.
    #[inline]
    pub fn record(&mut self, value: u64) {
        self.counts[class(value.min(MOST))] += 1;
        self.sum += u128::from(value);
        self.least = self.least.min(value);
        self.greatest = self.greatest.max(value);
    }

    /// Adds the values of another histogram.
    pub fn merge(&mut self, other: &Histogram) {
        let each = self.counts.iter_mut().zip(&other.counts);
        each.for_each(|(count, more)| *count += more);
        self.sum += other.sum;
        self.least = self.least.min(other.least);
        self.greatest = self.greatest.max(other.greatest);
    }

    /// Removes all values; the memory stays.
    pub fn clear(&mut self) {
        self.counts.fill(0);
        (self.sum, self.least, self.greatest) = (0, u64::MAX, 0);
    }

    /// Number of values.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The exact mean of the values; 0 when there are none.
    #[must_use]
    pub fn mean(&self) -> f64 {
        match self.count() {
            0 => 0.0,
            n => self.sum as f64 / n as f64,
        }
    }

    /// The least value, exact; 0 when there are none.
    #[must_use]
    pub fn least(&self) -> u64 {
        if self.least > self.greatest {
            0
        } else {
            self.least
        }
    }

    /// The greatest value, exact; 0 when there are none.
    #[must_use]
    pub fn greatest(&self) -> u64 {
        self.greatest
    }

    /// The nearest-rank percentile `q` (0..=1) within 0.8 %, never outside the values seen; 0 when
    /// there are none.
    #[must_use]
    pub fn percentile(&self, q: f64) -> f64 {
        let count = self.count();
        if count == 0 {
            return 0.0;
        }
        let rank = ((q * count as f64).ceil() as u64).clamp(1, count);
        let mut seen = 0;
        let reached = self.counts.iter().position(|&n| {
            seen += n;
            seen >= rank
        });
        let value = middle(reached.unwrap_or(CLASSES - 1));
        value.clamp(self.least as f64, self.greatest as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::percentile;
    use proptest::prelude::*;

    #[test]
    fn classes_are_contiguous_and_narrow() {
        let mut last = 0;
        for value in (0..20_000).chain((20_000..1u64 << 41).step_by(1_234_567_891)) {
            let class = class(value);
            assert!(class >= last, "{value}");
            if value < 20_000 {
                assert!(class <= last + 1, "{value}");
            }
            let off = (middle(class) - value as f64).abs();
            assert!(off <= 0.008 * value as f64, "{value}: {}", middle(class));
            last = class;
        }
        assert_eq!(middle(class(127)), 127.0);
    }

    #[test]
    fn nothing_and_too_much() {
        let mut histogram = Histogram::default();
        assert_eq!((histogram.percentile(0.5), histogram.mean()), (0.0, 0.0));
        histogram.record(u64::MAX / 4);
        assert_eq!(histogram.least(), u64::MAX / 4);
        histogram.clear();
        assert_eq!(histogram.least(), 0);
        histogram.record(u64::MAX / 4);
        assert_eq!(histogram.count(), 1);
        assert_eq!(histogram.greatest(), u64::MAX / 4);
    }

    proptest! {
        /// Compares the percentile of two merged histograms with the exact percentile of the
        /// values.
        #[test]
        fn percentiles_are_those_of_the_values(
            mut values in prop::collection::vec(0u64..50_000_000, 1..400),
            q in 0.0..=1.0f64,
            cut in 0usize..400,
        ) {
            let (mut all, mut part) = (Histogram::default(), Histogram::default());
            for (i, &value) in values.iter().enumerate() {
                if i < cut { all.record(value) } else { part.record(value) }
            }
            all.merge(&part);
            values.sort_unstable();
            let wanted = percentile(&values, q) as f64;
            let off = (all.percentile(q) - wanted).abs();
            prop_assert!(off <= 0.008 * wanted, "{} for {wanted}", all.percentile(q));
            let mean = values.iter().sum::<u64>() as f64 / values.len() as f64;
            prop_assert!((all.mean() - mean).abs() <= 1e-9 * mean);
            prop_assert_eq!(all.count(), values.len() as u64);
        }
    }
}
