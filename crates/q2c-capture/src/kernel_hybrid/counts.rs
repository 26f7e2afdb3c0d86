//! The counts of the BPF program, and the figures made of them.

use std::iter::Sum;

/// Number of fields of the program's `struct counts` (`probes/kernel_hybrid/pairing.h`).
pub(super) const FIELDS: usize = 8;

/// The program's counts over all polled requests of the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Polled requests that completed.
    pub polled: u64,
    /// Polled requests for which a thread slept first.
    pub slept: u64,
    /// Requests that were complete by the end of the first poll after their sleep: misses.
    pub missed: u64,
    /// Requests that were slept for, but of which it is not known whether they were missed, because
    /// an event was lost.
    pub unknown: u64,
    /// Sum of the sleeps asked, ns.
    pub asked_ns: u64,
    /// Sleeps whose end was seen; `slept_ns` is over these.
    pub timed: u64,
    /// Sum of the lengths of these sleeps, ns: from the timer's start to the next call of the poll
    /// function.
    pub slept_ns: u64,
    /// Sleeps for which the kernel's table had no room; their requests count as not slept for.
    pub not_kept: u64,
}

impl From<[u64; FIELDS]> for Counts {
    fn from(of: [u64; FIELDS]) -> Self {
        Counts {
            polled: of[0],
            slept: of[1],
            missed: of[2],
            unknown: of[3],
            asked_ns: of[4],
            timed: of[5],
            slept_ns: of[6],
            not_kept: of[7],
        }
    }
}

impl From<Counts> for [u64; FIELDS] {
    fn from(of: Counts) -> Self {
        [
            of.polled,
            of.slept,
            of.missed,
            of.unknown,
            of.asked_ns,
            of.timed,
            of.slept_ns,
            of.not_kept,
        ]
    }
}

impl Sum for Counts {
    fn sum<I: Iterator<Item = Counts>>(all: I) -> Counts {
        let add = |sum: Counts, one: Counts| sum.with(one, u64::wrapping_add);
        all.fold(Counts::default(), add)
    }
}

impl Counts {
    /// The counts of the interval from `earlier` to now.
    #[must_use]
    pub fn since(self, earlier: Counts) -> Counts {
        self.with(earlier, u64::saturating_sub)
    }

    fn with(self, other: Counts, each: fn(u64, u64) -> u64) -> Counts {
        let (fields, others): ([u64; FIELDS], [u64; FIELDS]) = (self.into(), other.into());
        Counts::from(std::array::from_fn(|n| each(fields[n], others[n])))
    }

    /// Miss rate, 0 to 1: misses / polled requests. `None` without a polled request.
    pub fn miss_rate(self) -> Option<f64> {
        ratio(self.missed, self.polled)
    }

    /// Effective sleep, ns: sum of the sleeps asked / polled requests. `None` without a polled
    /// request.
    pub fn effective_sleep_ns(self) -> Option<f64> {
        ratio(self.asked_ns, self.polled)
    }

    /// Mean sleep asked, ns, over the requests that were slept for. `None` without such a request.
    pub fn mean_asked_ns(self) -> Option<f64> {
        ratio(self.asked_ns, self.slept)
    }

    /// Mean length of a sleep, ns, from the timer's start to the next call of the poll function.
    /// `None` when no sleep's end was seen.
    pub fn mean_slept_ns(self) -> Option<f64> {
        ratio(self.slept_ns, self.timed)
    }
}

fn ratio(of: u64, all: u64) -> Option<f64> {
    (all > 0).then(|| of as f64 / all as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_over_all_polled_requests() {
        let cpus = [[6, 3, 1, 0, 120, 2, 90, 0], [4, 1, 1, 1, 80, 1, 60, 2]];
        let total: Counts = cpus.map(Counts::from).into_iter().sum();
        assert_eq!((total.polled, total.unknown, total.not_kept), (10, 1, 2));
        assert_eq!(total.miss_rate(), Some(0.2));
        assert_eq!((total.slept, total.polled), (4, 10));
        assert_eq!(total.effective_sleep_ns(), Some(20.0));
        assert_eq!(
            (total.mean_asked_ns(), total.mean_slept_ns()),
            (Some(50.0), Some(50.0))
        );
        let later = Counts {
            polled: 25,
            ..total
        };
        assert_eq!(later.since(total).polled, 15);
        assert_eq!(Counts::default().miss_rate(), None);
    }
}
