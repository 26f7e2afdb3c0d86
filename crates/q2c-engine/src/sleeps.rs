use crate::sample::Sample;

/// Counts and sums over any number of I/Os. An I/O that hybrid polling did not handle leaves them
/// as they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SleepCounts {
    /// I/Os that hybrid polling handled.
    pub handled: u64,
    /// I/Os that slept.
    pub slept: u64,
    /// I/Os that the sleep rule left to the interrupt.
    pub interrupted: u64,
    /// I/Os that were complete when their sleep ended.
    pub misses: u64,
    /// Sum of sleeps asked.
    pub asked_ns: u64,
    /// Sum of sleeps from call to return.
    pub slept_ns: u64,
}

impl SleepCounts {
    /// Counts one I/O.
    #[inline]
    pub(crate) fn count(&mut self, sample: &Sample) {
        self.handled += u64::from(sample.is(Sample::HYBRID));
        self.interrupted += u64::from(sample.is(Sample::INTERRUPT));
        self.misses += u64::from(sample.is(Sample::MISSED));
        if sample.is(Sample::SLEPT) {
            self.slept += 1;
            self.asked_ns += u64::from(sample.asked_ns);
            self.slept_ns += u64::from(sample.slept_ns);
        }
    }

    /// Adds the counts of other I/Os.
    pub fn merge(&mut self, other: &SleepCounts) {
        self.handled += other.handled;
        self.slept += other.slept;
        self.interrupted += other.interrupted;
        self.misses += other.misses;
        self.asked_ns += other.asked_ns;
        self.slept_ns += other.slept_ns;
    }
}
