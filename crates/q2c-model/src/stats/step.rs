//! Counts of values in quarters of octaves, and in wider steps made of them.

use crate::stats::histogram::STEPS;

/// Whole numbers from a power of two to the next in four equal parts, and their count. All below 64
/// are in the first step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HistogramStep {
    /// Number of the step; 0 for the values below 64.
    pub(crate) number: u64,
    /// Number of values.
    pub count: u64,
}

const PARTS: u64 = 4;
/// The octave of 64, where the second step begins.
const OCTAVE: u64 = STEPS.ilog2() as u64;

fn begin(number: u64) -> u64 {
    let Some(n) = number.checked_sub(1) else {
        return 0;
    };
    match OCTAVE + n / PARTS - u64::from(PARTS.ilog2()) {
        shift @ ..=61 => (PARTS + n % PARTS) << shift,
        _ => u64::MAX,
    }
}

impl HistogramStep {
    pub(crate) fn of_class(class: u64) -> u64 {
        match class.checked_sub(STEPS) {
            None => 0,
            Some(from_64) => 1 + from_64 / (STEPS / PARTS),
        }
    }

    /// The step that begins at a value with which a step begins; `None` for other values.
    #[must_use]
    pub fn that_begins_at(from: u64, count: u64) -> Option<HistogramStep> {
        let number = match from.checked_ilog2() {
            None => 0,
            Some(octave) if u64::from(octave) >= OCTAVE => {
                let part = (from >> (octave - PARTS.ilog2())) % PARTS;
                1 + (u64::from(octave) - OCTAVE) * PARTS + part
            }
            _ => return None,
        };
        (begin(number) == from).then_some(HistogramStep { number, count })
    }

    /// The least value of the step.
    #[must_use]
    pub fn from(&self) -> u64 {
        begin(self.number)
    }

    /// The least value above the step.
    #[must_use]
    pub fn below(&self) -> u64 {
        begin(self.number + 1)
    }
}

/// Gapless ranges with the counts of all `steps`, which rise: begin, end, and count. There are at
/// most `most`, two or more, as narrow as that allows: a quarter to several octaves.
#[must_use]
pub fn coarser(steps: &[HistogramStep], most: usize) -> Vec<(u64, u64, u64)> {
    let (Some(first), Some(last)) = (steps.first(), steps.last()) else {
        return Vec::new();
    };
    // The first step has a group of its own, so that the others begin at powers of two.
    let group = |number: u64, width: u64| number.div_ceil(width);
    let mut width = 1;
    let rows = |width| group(last.number, width) - group(first.number, width) + 1;
    while rows(width) > most.max(2) as u64 {
        width *= 2;
    }
    let from = group(first.number, width);
    let range = |index: u64| match index.checked_sub(1) {
        None => (0, begin(1), 0),
        Some(before) => (begin(before * width + 1), begin(index * width + 1), 0),
    };
    let mut ranges: Vec<_> = (from..=group(last.number, width)).map(range).collect();
    for step in steps {
        ranges[(group(step.number, width) - from) as usize].2 += step.count;
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Histogram;
    use proptest::prelude::*;

    fn steps_of(values: &[u64]) -> Vec<HistogramStep> {
        let mut made = Histogram::default();
        values.iter().for_each(|value| made.record(*value));
        made.steps()
    }

    #[test]
    fn steps_are_quarters_of_octaves() {
        let begins: Vec<u64> = (0..10).map(begin).collect();
        assert_eq!(begins, [0, 64, 80, 96, 112, 128, 160, 192, 224, 256]);
        for number in 0..140 {
            let step = HistogramStep { number, count: 3 };
            assert_eq!(HistogramStep::that_begins_at(step.from(), 3), Some(step));
            assert_eq!(HistogramStep::that_begins_at(step.from() + 1, 3), None);
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
        assert_eq!(coarser(&steps, 9), quarters);
        let halves = [
            (0, 64, 1),
            (64, 96, 1),
            (96, 128, 1),
            (128, 192, 1),
            (192, 256, 1),
        ];
        assert_eq!(coarser(&steps, 8), halves);
        let octaves = [(0, 64, 1), (64, 128, 2), (128, 256, 2)];
        assert_eq!(coarser(&steps, 3), octaves);
        assert_eq!(coarser(&steps, 2), [(0, 64, 1), (64, 256, 4)]);
        assert_eq!(coarser(&[], 5), []);
    }

    proptest! {
        #[test]
        fn nothing_is_lost(
            drawn in prop::collection::vec((0u32..42, any::<u64>()), 1..100),
            most in 2usize..40,
        ) {
            let value = |(bits, random): &(u32, u64)| (1u64 << bits) + random % (1 << bits);
            let values: Vec<u64> = drawn.iter().map(value).collect();
            let ranges = coarser(&steps_of(&values), most);
            prop_assert!(ranges.len() <= most);
            prop_assert!(ranges.windows(2).all(|two| two[0].1 == two[1].0));
            for (from, below, count) in ranges {
                let wanted = values.iter().filter(|v| (from..below).contains(*v)).count();
                prop_assert_eq!(count, wanted as u64);
            }
        }
    }
}
