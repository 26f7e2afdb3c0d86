//! What a rule has learned, as a list of numbers, so that a state can move between machines. A
//! reader may get any list, so it checks every number against what the rule can hold.

/// Largest count, and largest sum of times in ns. It leaves room to go on counting.
pub(crate) const MOST: u64 = 1 << 60;

/// Largest time, and largest sum of a window's times, ns: 13 days.
pub(crate) const LONG: u64 = 1 << 50;

pub(crate) struct Numbers<'a>(pub(crate) &'a [u64]);

impl Numbers<'_> {
    fn next(&mut self) -> Option<u64> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    pub(crate) fn up_to(&mut self, most: u64) -> Option<u64> {
        self.next().filter(|number| *number <= most)
    }

    pub(crate) fn count(&mut self) -> Option<u64> {
        self.up_to(MOST)
    }

    pub(crate) fn time(&mut self) -> Option<u64> {
        self.up_to(LONG)
    }

    pub(crate) fn flag(&mut self) -> Option<bool> {
        Some(self.up_to(1)? == 1)
    }

    pub(crate) fn real(&mut self, least: f64, most: f64) -> Option<f64> {
        let real = f64::from_bits(self.next()?);
        (least..=most).contains(&real).then_some(real)
    }

    pub(crate) fn end(&self) -> Option<()> {
        self.0.is_empty().then_some(())
    }
}
