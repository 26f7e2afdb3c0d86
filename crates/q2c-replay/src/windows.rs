//! Sums over windows: equal parts of a replay's time.

/// Sums over windows of equal length. When there would be too many windows, their length doubles.
#[derive(Clone, Debug, PartialEq)]
pub struct Windows {
    length: u64,
    parts: Vec<Part>,
}

/// The sums of one window.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Part {
    /// Requests that begin in this window.
    pub ios: u64,
    /// Time in flight within this window, summed over requests, ns.
    pub in_flight_ns: u128,
    /// Largest lateness of the requests that begin in this window, ns.
    pub latest_ns: u64,
    /// Sum of the latencies of the requests that begin in this window, ns.
    pub latency_ns: u128,
}

impl Part {
    fn add(&mut self, other: &Part) {
        self.ios += other.ios;
        self.in_flight_ns += other.in_flight_ns;
        self.latest_ns = self.latest_ns.max(other.latest_ns);
        self.latency_ns += other.latency_ns;
    }
}

impl Windows {
    /// The most windows that are kept.
    const MOST: usize = 512;

    /// Windows that are `length` ns long at first.
    pub fn new(length: u64) -> Self {
        Windows {
            length: length.max(1),
            parts: Vec::with_capacity(Self::MOST),
        }
    }

    fn at(&mut self, time: u64) -> usize {
        while time / self.length >= Self::MOST as u64 {
            self.coarsen();
        }
        let at = (time / self.length) as usize;
        if at >= self.parts.len() {
            self.parts.resize(at + 1, Part::default());
        }
        at
    }

    /// Doubles the length: two windows become one.
    fn coarsen(&mut self) {
        self.length *= 2;
        let pairs = self.parts.chunks(2).map(|pair| {
            let mut one = pair[0];
            pair[1..].iter().for_each(|other| one.add(other));
            one
        });
        self.parts = pairs.collect();
    }

    /// Counts a request that begins at `time`, ns from the start, and its lateness.
    pub fn begin(&mut self, time: u64, lateness: u64) {
        let at = self.at(time);
        self.parts[at].ios += 1;
        self.parts[at].latest_ns = self.parts[at].latest_ns.max(lateness);
    }

    /// Counts the time in flight of a request, from `from` to `to`.
    pub fn flight(&mut self, from: u64, to: u64) {
        let last = self.at(to.max(from));
        let first = self.at(from);
        self.parts[first].latency_ns += u128::from(to.saturating_sub(from));
        for at in first..=last {
            let begin = (at as u64 * self.length).max(from);
            let end = match at == last {
                true => to,
                false => (at as u64 + 1) * self.length,
            };
            self.parts[at].in_flight_ns += u128::from(end.saturating_sub(begin));
        }
    }

    /// Doubles the length until it is at least `length`. Both are the first length times a power of
    /// two.
    pub fn coarsen_to(&mut self, length: u64) {
        while self.length < length {
            self.coarsen();
        }
    }

    /// Adds the sums of another thread's windows, which MUST have begun with the same length.
    pub fn merge(&mut self, mut other: Windows) {
        self.coarsen_to(other.length);
        other.coarsen_to(self.length);
        if self.parts.len() < other.parts.len() {
            self.parts.resize(other.parts.len(), Part::default());
        }
        let each = self.parts.iter_mut().zip(&other.parts);
        each.for_each(|(part, more)| part.add(more));
    }

    /// Length of a window, ns.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// The windows from the start on.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// However the time is divided, the sum over all windows is the sum of the latencies.
        #[test]
        fn nothing_is_lost_between_parts(flights in prop::collection::vec((0u64..1000, 0u64..500), 1..50), length in 1u64..20) {
            let mut windows = Windows::new(length);
            for (from, length) in &flights {
                windows.begin(*from, *length);
                windows.flight(*from, from + length);
            }
            let sum: u64 = flights.iter().map(|(_, length)| length).sum();
            let parts = windows.parts();
            prop_assert_eq!(parts.iter().map(|p| p.in_flight_ns).sum::<u128>(), u128::from(sum));
            prop_assert_eq!(parts.iter().map(|p| p.latency_ns).sum::<u128>(), u128::from(sum));
            prop_assert_eq!(parts.iter().map(|p| p.ios).sum::<u64>(), flights.len() as u64);
            prop_assert_eq!(parts.iter().map(|p| p.latest_ns).max(), flights.iter().map(|f| f.1).max());
        }
    }

    #[test]
    fn a_flight_over_three_parts() {
        let mut windows = Windows::new(10);
        windows.flight(5, 25);
        let sums: Vec<u128> = windows
            .parts()
            .iter()
            .map(|part| part.in_flight_ns)
            .collect();
        assert_eq!(sums, [5, 10, 5]);
    }
}
