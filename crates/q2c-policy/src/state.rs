//! The state of a rule as a list of numbers, so that it can move between machines. A reader may get
//! any list, so it checks every number against what the rule can hold.

/// Largest number of I/Os, clock reading in ns or mean in ns. It leaves room to go on counting.
pub(crate) const MAX_COUNT: u64 = 1 << 60;

/// Largest time of an I/O, ns: 13 days. A window's counts and sums have the same limit.
pub(crate) const MAX_TIME_NS: u64 = 1 << 50;

/// Takes numbers from the front of a list; `None` for a number that is missing or out of range.
pub(crate) struct StateReader<'a>(pub(crate) &'a [u64]);

impl StateReader<'_> {
    pub(crate) fn next_up_to(&mut self, max: u64) -> Option<u64> {
        self.0.split_off_first().copied().filter(|n| *n <= max)
    }

    pub(crate) fn next_count(&mut self) -> Option<u64> {
        self.next_up_to(MAX_COUNT)
    }

    pub(crate) fn next_time(&mut self) -> Option<u64> {
        self.next_up_to(MAX_TIME_NS)
    }

    pub(crate) fn next_flag(&mut self) -> Option<bool> {
        Some(self.next_up_to(1)? == 1)
    }

    pub(crate) fn next_real(&mut self, min: f64, max: f64) -> Option<f64> {
        let real = f64::from_bits(self.next_up_to(u64::MAX)?);
        (min..=max).contains(&real).then_some(real)
    }

    /// Returns `None` if a number has not been taken.
    pub(crate) fn finish(&self) -> Option<()> {
        self.0.is_empty().then_some(())
    }
}
