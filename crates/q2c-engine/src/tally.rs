use crate::Sample;
use q2c_model::Op;
use q2c_model::stats::Histogram;

/// Counts and sums over any number of I/Os. Only I/Os that hybrid polling handled change them.
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
    /// Sum of the sleeps asked, ns.
    pub asked_ns: u64,
    /// Sum of the sleeps from call to return, ns.
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

/// Counts and sums over I/Os, and a histogram of their latencies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IoTally {
    /// Latencies (U2C), ns.
    pub latencies: Histogram,
    /// The sleeps of hybrid polling.
    pub sleeps: SleepCounts,
    /// The same by kind of request; `None` if the lane's requests are of one kind.
    pub kinds: Option<Box<KindTallies>>,
}

/// The requests of a lane by their kinds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KindTallies {
    /// Requests that read.
    pub reads: IoTally,
    /// Requests that wrote.
    pub writes: IoTally,
    /// Latencies of flushes, ns. A flush is no I/O and counts nowhere else.
    pub flushes: Histogram,
}

impl KindTallies {
    // Out of line, and with a copy, so that the samples of other patterns stay in registers.
    #[inline(never)]
    fn count(&mut self, sample: Sample) {
        let tally = match sample.op() {
            Op::Write => &mut self.writes,
            _ => &mut self.reads,
        };
        tally.count_alone(&sample);
    }
}

impl IoTally {
    /// A tally without I/Os, by kind of request if `has_kinds`.
    pub(crate) fn empty(has_kinds: bool) -> Self {
        IoTally {
            kinds: has_kinds.then(Box::default),
            ..IoTally::default()
        }
    }

    /// Counts one I/O, also by its kind.
    #[inline]
    pub(crate) fn count(&mut self, sample: &Sample) {
        self.count_alone(sample);
        if let Some(kinds) = &mut self.kinds {
            kinds.count(*sample);
        }
    }

    // A function that called itself for the kinds would not be inlined: 7 ns for each I/O.
    #[inline]
    fn count_alone(&mut self, sample: &Sample) {
        self.latencies.record(sample.u2c().0);
        if sample.has_wait_flags() {
            self.sleeps.count(sample);
        }
    }

    /// Adds the counts of another tally.
    pub fn merge(&mut self, other: &IoTally) {
        self.latencies.merge(&other.latencies);
        self.sleeps.merge(&other.sleeps);
        if let Some(other) = &other.kinds {
            let kinds = self.kinds.get_or_insert_default();
            kinds.reads.merge(&other.reads);
            kinds.writes.merge(&other.writes);
            kinds.flushes.merge(&other.flushes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Request;

    #[test]
    fn sleeps_count_and_other_io_does_not_sleep() {
        let mut tally = IoTally::default();
        let slept = Sample {
            submit_len_ns: 100,
            wait_ns: 900,
            asked_ns: 500,
            slept_ns: 600,
            flags: Sample::HYBRID | Sample::SLEPT | Sample::MISSED,
            ..Sample::default()
        };
        tally.count(&slept);
        tally.count(&Sample::begin(0, &Request::default()).in_one_call(3_000, 512));
        let mut twice = tally.clone();
        twice.merge(&tally);
        let sleeps = tally.sleeps;
        assert_eq!((sleeps.handled, sleeps.slept, sleeps.misses), (1, 1, 1));
        let sleeps = twice.sleeps;
        assert_eq!((sleeps.asked_ns, sleeps.slept_ns), (1_000, 1_200));
        assert_eq!(twice.latencies.count(), 4);
        assert_eq!(twice.latencies.mean(), 2_000.0);
    }
}
