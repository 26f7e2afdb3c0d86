//! A histogram for latencies, with constant memory and a few instructions per value.

use crate::Bytes;
use serde::{Deserialize, Serialize};

/// A class is at most 1.6 % wide, and its middle is at most 0.8 % off. Below 128, each value has
/// its own class.
pub(crate) const CLASSES_PER_OCTAVE: u64 = 64;
const CLASSES: usize = class(u64::MAX) + 1;

/// Counts values in classes of equal relative width. Sum, least and greatest value are exact.
/// Merging the histograms of parts, in any order, gives that of the whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "StoredHistogram", try_from = "StoredHistogram")]
pub struct Histogram {
    counts: Box<[u64]>,
    sum: u128,
    least: u64,
    greatest: u64,
}

#[inline]
const fn class(value: u64) -> usize {
    let octave = (value | (CLASSES_PER_OCTAVE - 1)).ilog2() + 1 - CLASSES_PER_OCTAVE.ilog2();
    let shift = octave.saturating_sub(1);
    (shift as u64 * CLASSES_PER_OCTAVE + (value >> shift)) as usize
}

fn class_middle(class: usize) -> f64 {
    let class = class as u64;
    let shift = (class / CLASSES_PER_OCTAVE).saturating_sub(1);
    let first = (class - shift * CLASSES_PER_OCTAVE) << shift;
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

#[derive(Serialize, Deserialize)]
struct StoredHistogram {
    classes: Vec<(u32, u64)>,
    sum: u128,
    least: u64,
    greatest: u64,
}

impl From<Histogram> for StoredHistogram {
    fn from(histogram: Histogram) -> Self {
        let classes = (0..).zip(histogram.counts);
        StoredHistogram {
            classes: classes.filter(|(_, n)| *n > 0).collect(),
            sum: histogram.sum,
            least: histogram.least,
            greatest: histogram.greatest,
        }
    }
}

/// The error for a serialised histogram that no values can produce.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HistogramError {
    /// A class number that does not exist.
    #[error("read a histogram: expected classes below {CLASSES}, found class {0}")]
    Class(u32),
    /// More values, or a larger sum, than any histogram can have.
    #[error("read a histogram: expected at most 2^56 values, found more")]
    TooMany,
}

impl TryFrom<StoredHistogram> for Histogram {
    type Error = HistogramError;

    /// The limit leaves room for merging: the sums of several parts do not overflow.
    fn try_from(stored: StoredHistogram) -> Result<Self, HistogramError> {
        const MAX_VALUES: u64 = 1 << 56;
        let (mut histogram, mut total) = (Histogram::default(), 0_u64);
        for (class, n) in stored.classes {
            let count = histogram.counts.get_mut(class as usize);
            let count = count.ok_or(HistogramError::Class(class))?;
            total = total.saturating_add(n);
            if total > MAX_VALUES {
                return Err(HistogramError::TooMany);
            }
            *count += n;
        }
        if stored.sum > u128::from(MAX_VALUES) << 64 {
            return Err(HistogramError::TooMany);
        }
        histogram.sum = stored.sum;
        (histogram.least, histogram.greatest) = (stored.least, stored.greatest);
        Ok(histogram)
    }
}

impl Histogram {
    /// Size of one in memory.
    pub const BYTES: Bytes = Bytes((CLASSES * size_of::<u64>()) as u64);

    /// The largest relative error of a percentile: half the width of a class; 0 below 128.
    pub const ERROR: f64 = 0.5 / CLASSES_PER_OCTAVE as f64;

    /// Counts one value.
    #[inline]
    pub fn record(&mut self, value: u64) {
        self.counts[class(value)] += 1;
        self.sum += u128::from(value);
        self.least = self.least.min(value);
        self.greatest = self.greatest.max(value);
    }

    /// Adds the values of another histogram.
    pub fn merge(&mut self, other: &Histogram) {
        let pairs = self.counts.iter_mut().zip(&other.counts);
        pairs.for_each(|(count, more)| *count += more);
        self.sum += other.sum;
        self.least = self.least.min(other.least);
        self.greatest = self.greatest.max(other.greatest);
    }

    /// Removes all values, but keeps the memory.
    pub fn clear(&mut self) {
        self.counts.fill(0);
        (self.sum, self.least, self.greatest) = (0, u64::MAX, 0);
    }

    /// The values' [`HistogramStep`]s that are not empty, in rising order.
    pub fn steps(&self) -> Vec<HistogramStep> {
        let mut steps: Vec<HistogramStep> = Vec::new();
        for (class, &count) in self.counts.iter().enumerate().filter(|(_, n)| **n > 0) {
            let above_64 = (class as u64).checked_sub(CLASSES_PER_OCTAVE);
            let number = above_64.map_or(0, |n| 1 + n / (CLASSES_PER_OCTAVE / STEPS_PER_OCTAVE));
            match steps.last_mut() {
                Some(last) if last.number == number => last.count += count,
                _ => steps.push(HistogramStep { number, count }),
            }
        }
        steps
    }

    /// The exact sum of the values.
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The exact mean of the values; 0 if there are none.
    pub fn mean(&self) -> f64 {
        match self.count() {
            0 => 0.0,
            n => self.sum as f64 / n as f64,
        }
    }

    /// The least value, exact; 0 if there are none.
    pub fn least(&self) -> u64 {
        if self.least > self.greatest {
            0
        } else {
            self.least
        }
    }

    /// The greatest value, exact; 0 if there are none.
    pub fn greatest(&self) -> u64 {
        self.greatest
    }

    /// Nearest-rank percentile `q` (0..=1), within [`Histogram::ERROR`] and the range of the
    /// values; 0 if there are none.
    pub fn percentile(&self, q: f64) -> f64 {
        let count = self.count();
        if count == 0 {
            return 0.0;
        }
        let rank = ((q * count as f64).ceil() as u64).clamp(1, count);
        let mut counted = 0;
        let class_of_rank = self.counts.iter().position(|&n| {
            counted += n;
            counted >= rank
        });
        let value = class_middle(class_of_rank.unwrap_or(CLASSES - 1));
        value.max(self.least as f64).min(self.greatest as f64)
    }
}

/// A range of whole numbers, with the number of values in it: a quarter of the range from one power
/// of two to the next. The first step holds all numbers below 64.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HistogramStep {
    /// Number of the step; 0 for the values below 64.
    pub(crate) number: u64,
    /// Number of values.
    pub count: u64,
}

const STEPS_PER_OCTAVE: u64 = 4;
/// log2 of 64, where the second step begins.
const FIRST_OCTAVE: u64 = CLASSES_PER_OCTAVE.ilog2() as u64;

fn step_start(number: u64) -> u64 {
    let Some(n) = number.checked_sub(1) else {
        return 0;
    };
    match FIRST_OCTAVE + n / STEPS_PER_OCTAVE - u64::from(STEPS_PER_OCTAVE.ilog2()) {
        shift @ ..=61 => (STEPS_PER_OCTAVE + n % STEPS_PER_OCTAVE) << shift,
        _ => u64::MAX,
    }
}

impl HistogramStep {
    /// The step that begins at `start`; `None` if no step begins there.
    pub fn from_start(start: u64, count: u64) -> Option<HistogramStep> {
        let number = match start.checked_ilog2() {
            None => 0,
            Some(octave) if u64::from(octave) >= FIRST_OCTAVE => {
                let quarter = (start >> (octave - STEPS_PER_OCTAVE.ilog2())) % STEPS_PER_OCTAVE;
                1 + (u64::from(octave) - FIRST_OCTAVE) * STEPS_PER_OCTAVE + quarter
            }
            _ => return None,
        };
        (step_start(number) == start).then_some(HistogramStep { number, count })
    }

    /// The least value of the step.
    pub fn start(&self) -> u64 {
        step_start(self.number)
    }

    /// The exclusive upper end: the least number above the step.
    pub fn end(&self) -> u64 {
        step_start(self.number + 1)
    }
}

/// Joins rising `steps` to adjacent ranges (begin, exclusive end, count). There are at most
/// `max_ranges` (or 2), as narrow as that allows: from a quarter of an octave to several octaves.
pub fn join_steps(steps: &[HistogramStep], max_ranges: usize) -> Vec<(u64, u64, u64)> {
    let (Some(first), Some(last)) = (steps.first(), steps.last()) else {
        return Vec::new();
    };
    // The first step has its own group, so that other groups begin at powers of two.
    let group = |number: u64, width: u64| number.div_ceil(width);
    let mut width = 1;
    let group_count = |width| group(last.number, width) - group(first.number, width) + 1;
    while group_count(width) > max_ranges.max(2) as u64 {
        width *= 2;
    }
    let lowest = group(first.number, width);
    let range = |index: u64| match index.checked_sub(1) {
        None => (0, step_start(1), 0),
        Some(i) => (step_start(i * width + 1), step_start(index * width + 1), 0),
    };
    let mut ranges: Vec<_> = (lowest..=group(last.number, width)).map(range).collect();
    for step in steps {
        ranges[(group(step.number, width) - lowest) as usize].2 += step.count;
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::percentile;
    use proptest::prelude::*;

    #[test]
    fn classes_are_contiguous_and_narrow() {
        let mut last = 0;
        for value in (0..20_000)
            .chain((20_000..1u64 << 41).step_by(1_234_567_891))
            .chain((1 << 41..u64::MAX).step_by(1 << 57))
        {
            let class = class(value);
            assert!(class >= last, "{value}");
            if value < 20_000 {
                assert!(class <= last + 1, "{value}");
            }
            let off = (class_middle(class) - value as f64).abs();
            assert!(
                off <= Histogram::ERROR * value as f64,
                "{value}: {}",
                class_middle(class)
            );
            last = class;
        }
        assert_eq!(class_middle(class(127)), 127.0);
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

    fn stored(classes: &[(u32, u64)], sum: u128) -> StoredHistogram {
        StoredHistogram {
            classes: classes.to_vec(),
            sum,
            least: 0,
            greatest: 0,
        }
    }

    #[test]
    fn what_no_values_made_is_refused() {
        let read = |classes: &[(u32, u64)], sum| Histogram::try_from(stored(classes, sum));
        assert!(read(&[(0, 3), (CLASSES as u32 - 1, 1)], 9).is_ok());
        let beyond = CLASSES as u32;
        assert_eq!(read(&[(beyond, 1)], 0), Err(HistogramError::Class(beyond)));
        let many = [(1, u64::MAX), (2, u64::MAX)];
        assert_eq!(read(&many, 0), Err(HistogramError::TooMany));
        assert_eq!(read(&[(1, 1)], u128::MAX), Err(HistogramError::TooMany));
    }

    proptest! {
        #[test]
        fn steps_count_what_lies_between_their_bounds(
            drawn in prop::collection::vec((0u32..64, any::<u64>()), 0..200),
        ) {
            let value = |(bits, random): &(u32, u64)| (1u64 << bits) + random % (1 << bits);
            let values: Vec<u64> = drawn.iter().map(value).collect();
            let mut histogram = Histogram::default();
            values.iter().for_each(|value| histogram.record(*value));
            let steps = histogram.steps();
            prop_assert_eq!(steps.iter().map(|step| step.count).sum::<u64>(), histogram.count());
            prop_assert!(steps.windows(2).all(|two| two[0].end() <= two[1].start()));
            for step in steps {
                let within = |value: &&u64| (step.start()..step.end()).contains(*value);
                let wanted = values.iter().filter(within).count() as u64;
                prop_assert_eq!(step.count, wanted, "{:?}", step);
            }
        }

        #[test]
        fn what_is_stored_comes_back(values in prop::collection::vec(any::<u64>(), 0..50)) {
            let mut histogram = Histogram::default();
            values.iter().for_each(|value| histogram.record(*value));
            prop_assert_eq!(Histogram::try_from(StoredHistogram::from(histogram.clone())), Ok(histogram));
        }

        /// Merging parts in any order gives the whole, and the error of a percentile is as stated.
        #[test]
        fn the_error_is_as_stated(
            drawn in prop::collection::vec((0u32..64, any::<u64>(), 0usize..5), 1..300),
            q in 0.0..=1.0f64,
        ) {
            let value = |bits: u32, random: u64| (1u64 << bits) + random % (1 << bits);
            let mut parts = vec![Histogram::default(); 5];
            let mut whole = Histogram::default();
            for (bits, random, part) in &drawn {
                parts[*part].record(value(*bits, *random));
                whole.record(value(*bits, *random));
            }
            let mut merged = Histogram::default();
            parts.iter().for_each(|part| merged.merge(part));
            prop_assert_eq!(&merged, &whole);
            let mut values: Vec<u64> = drawn.iter().map(|(b, r, _)| value(*b, *r)).collect();
            values.sort_unstable();
            let wanted = percentile(&values, q) as f64;
            let off = (merged.percentile(q) - wanted).abs();
            prop_assert!(off <= Histogram::ERROR * wanted, "{} for {wanted}", merged.percentile(q));
        }

        #[test]
        fn percentiles_are_those_of_the_values(
            mut values in prop::collection::vec(0u64..50_000_000, 1..400),
            q in 0.0..=1.0f64,
            cut in 0usize..400,
        ) {
            let (mut merged, mut part) = (Histogram::default(), Histogram::default());
            for (i, &value) in values.iter().enumerate() {
                if i < cut { merged.record(value) } else { part.record(value) }
            }
            merged.merge(&part);
            values.sort_unstable();
            let wanted = percentile(&values, q) as f64;
            let off = (merged.percentile(q) - wanted).abs();
            prop_assert!(off <= Histogram::ERROR * wanted, "{} for {wanted}", merged.percentile(q));
            let mean = values.iter().sum::<u64>() as f64 / values.len() as f64;
            prop_assert!((merged.mean() - mean).abs() <= 1e-9 * mean);
            prop_assert_eq!(merged.count(), values.len() as u64);
        }
    }

    fn steps_of(values: &[u64]) -> Vec<HistogramStep> {
        let mut histogram = Histogram::default();
        values.iter().for_each(|value| histogram.record(*value));
        histogram.steps()
    }

    #[test]
    fn steps_are_quarters_of_octaves() {
        let begins: Vec<u64> = (0..10).map(step_start).collect();
        assert_eq!(begins, [0, 64, 80, 96, 112, 128, 160, 192, 224, 256]);
        for number in 0..140 {
            let step = HistogramStep { number, count: 3 };
            assert_eq!(HistogramStep::from_start(step.start(), 3), Some(step));
            assert_eq!(HistogramStep::from_start(step.start() + 1, 3), None);
        }
    }

    #[test]
    fn ranges_are_as_narrow_as_there_is_room() {
        let steps = steps_of(&[10, 64, 100, 130, 255]);
        let quarters = [
            (0, 64, 1),
            (64, 80, 1),
            (80, 96, 0),
            (96, 112, 1),
            (112, 128, 0),
            (128, 160, 1),
            (160, 192, 0),
            (192, 224, 0),
            (224, 256, 1),
        ];
        assert_eq!(join_steps(&steps, 9), quarters);
        let halves = [
            (0, 64, 1),
            (64, 96, 1),
            (96, 128, 1),
            (128, 192, 1),
            (192, 256, 1),
        ];
        assert_eq!(join_steps(&steps, 8), halves);
        let octaves = [(0, 64, 1), (64, 128, 2), (128, 256, 2)];
        assert_eq!(join_steps(&steps, 3), octaves);
        assert_eq!(join_steps(&steps, 2), [(0, 64, 1), (64, 256, 4)]);
        assert_eq!(join_steps(&[], 5), []);
    }

    proptest! {
        #[test]
        fn nothing_is_lost(
            drawn in prop::collection::vec((0u32..42, any::<u64>()), 1..100),
            max_steps in 2usize..40,
        ) {
            let value = |(bits, random): &(u32, u64)| (1u64 << bits) + random % (1 << bits);
            let values: Vec<u64> = drawn.iter().map(value).collect();
            let ranges = join_steps(&steps_of(&values), max_steps);
            prop_assert!(ranges.len() <= max_steps);
            prop_assert!(ranges.windows(2).all(|two| two[0].1 == two[1].0));
            for (from, below, count) in ranges {
                let wanted = values.iter().filter(|v| (from..below).contains(*v)).count();
                prop_assert_eq!(count, wanted as u64);
            }
        }
    }
}
