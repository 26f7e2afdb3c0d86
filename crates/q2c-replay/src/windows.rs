//! Sums over windows: a replay's time in pieces of equal length.

/// Sums over windows of equal length. If there are too many windows, their length doubles.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct WindowSeries {
    pub length_ns: u64,
    pub sums: Vec<WindowCounts>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct WindowCounts {
    pub ios: u64,
    pub in_flight_ns: u128,
    /// Largest lateness of requests that begin in this window, ns.
    pub max_late_ns: u64,
    /// Sum of the latencies of requests that begin in this window, ns.
    pub latency_ns: u128,
}

impl Default for WindowSeries {
    fn default() -> Self {
        WindowSeries::new(1)
    }
}

impl WindowCounts {
    fn add(&mut self, other: &WindowCounts) {
        self.ios += other.ios;
        self.in_flight_ns += other.in_flight_ns;
        self.max_late_ns = self.max_late_ns.max(other.max_late_ns);
        self.latency_ns += other.latency_ns;
    }
}

impl WindowSeries {
    const MAX_WINDOWS: usize = 512;

    pub(crate) fn new(length_ns: u64) -> Self {
        WindowSeries {
            length_ns: length_ns.max(1),
            sums: Vec::with_capacity(Self::MAX_WINDOWS),
        }
    }

    fn window_index(&mut self, time_ns: u64) -> usize {
        while time_ns / self.length_ns >= Self::MAX_WINDOWS as u64 {
            self.coarsen();
        }
        let index = (time_ns / self.length_ns) as usize;
        if index >= self.sums.len() {
            self.sums.resize(index + 1, WindowCounts::default());
        }
        index
    }

    /// Doubles the length: two windows become one.
    fn coarsen(&mut self) {
        self.length_ns *= 2;
        let pairs = self.sums.chunks(2).map(|pair| {
            let mut joined = pair[0];
            pair[1..].iter().for_each(|other| joined.add(other));
            joined
        });
        self.sums = pairs.collect();
    }

    pub(crate) fn add_begin(&mut self, time_ns: u64, late_ns: u64) {
        let index = self.window_index(time_ns);
        self.sums[index].ios += 1;
        self.sums[index].max_late_ns = self.sums[index].max_late_ns.max(late_ns);
    }

    pub(crate) fn add_flight(&mut self, from_ns: u64, to_ns: u64) {
        let last = self.window_index(to_ns.max(from_ns));
        let first = self.window_index(from_ns);
        self.sums[first].latency_ns += u128::from(to_ns.saturating_sub(from_ns));
        for index in first..=last {
            let begin_ns = (index as u64 * self.length_ns).max(from_ns);
            let window_end_ns = (index as u64 + 1) * self.length_ns;
            let end_ns = if index == last { to_ns } else { window_end_ns };
            self.sums[index].in_flight_ns += u128::from(end_ns.saturating_sub(begin_ns));
        }
    }

    /// Doubles the length until it is at least `length_ns`, a power of two times the first length.
    pub(crate) fn coarsen_to(&mut self, length_ns: u64) {
        while self.length_ns < length_ns {
            self.coarsen();
        }
    }

    /// Adds the sums of another thread's windows, which MUST have started with the same length.
    pub(crate) fn merge(&mut self, mut other: WindowSeries) {
        self.coarsen_to(other.length_ns);
        other.coarsen_to(self.length_ns);
        if self.sums.len() < other.sums.len() {
            self.sums.resize(other.sums.len(), WindowCounts::default());
        }
        for (sums, more) in self.sums.iter_mut().zip(&other.sums) {
            sums.add(more);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// However time is divided, the sum over all windows is the sum of all latencies.
        #[test]
        fn nothing_is_lost_between_windows(flights in prop::collection::vec((0u64..1000, 0u64..500), 1..50), length in 1u64..20) {
            let mut windows = WindowSeries::new(length);
            for (from, length) in &flights {
                windows.add_begin(*from, *length);
                windows.add_flight(*from, from + length);
            }
            let sum: u64 = flights.iter().map(|(_, length)| length).sum();
            let sums = windows.sums;
            prop_assert_eq!(sums.iter().map(|p| p.in_flight_ns).sum::<u128>(), u128::from(sum));
            prop_assert_eq!(sums.iter().map(|p| p.latency_ns).sum::<u128>(), u128::from(sum));
            prop_assert_eq!(sums.iter().map(|p| p.ios).sum::<u64>(), flights.len() as u64);
            prop_assert_eq!(sums.iter().map(|p| p.max_late_ns).max(), flights.iter().map(|f| f.1).max());
        }
    }

    #[test]
    fn a_flight_over_three_windows() {
        let mut windows = WindowSeries::new(10);
        windows.add_flight(5, 25);
        let in_flight = windows.sums.iter().map(|window| window.in_flight_ns);
        assert_eq!(in_flight.collect::<Vec<_>>(), [5, 10, 5]);
    }
}
