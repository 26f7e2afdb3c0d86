//! What the program counted.

use std::iter::Sum;

/// Fields of the program's `struct counts`, in its order.
pub(super) const FIELDS: usize = 8;

/// Sums over all requests, and the numbers made of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Polled requests that completed.
    pub polled: u64,
    /// Slept for.
    pub slept: u64,
    /// Slept for, and complete by the end of the first poll after.
    pub missed: u64,
    /// Slept for; not known whether missed: an event was lost.
    pub unknown: u64,
    /// Sum of the sleeps asked, ns.
    pub asked_ns: u64,
    /// Sleeps whose end was seen.
    pub timed: u64,
    /// Sum of their lengths, ns: from the timer's start to the next call of the poll function.
    pub slept_ns: u64,
    /// Sleeps for which there was no room; their requests count as not slept for.
    pub not_kept: u64,
}

impl From<[u64; FIELDS]> for Counts {
    fn from(of: [u64; FIELDS]) -> Self {
        let [
            polled,
            slept,
            missed,
            unknown,
            asked_ns,
            timed,
            slept_ns,
            not_kept,
        ] = of;
        Counts {
            polled,
            slept,
            missed,
            unknown,
            asked_ns,
            timed,
            slept_ns,
            not_kept,
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
    /// What came since `earlier`.
    #[must_use]
    pub fn since(self, earlier: Counts) -> Counts {
        self.with(earlier, u64::saturating_sub)
    }

    fn with(self, other: Counts, each: fn(u64, u64) -> u64) -> Counts {
        let (own, other): ([u64; FIELDS], [u64; FIELDS]) = (self.into(), other.into());
        Counts::from(std::array::from_fn(|n| each(own[n], other[n])))
    }

    /// Misses / polled requests; `None` without any.
    #[must_use]
    pub fn miss_rate(self) -> Option<f64> {
        ratio(self.missed, self.polled)
    }

    /// Slept for / polled requests; `None` without any.
    #[must_use]
    pub fn slept_share(self) -> Option<f64> {
        ratio(self.slept, self.polled)
    }

    /// Sum of sleeps asked / polled requests, ns; `None` without any.
    #[must_use]
    pub fn effective_sleep_ns(self) -> Option<f64> {
        ratio(self.asked_ns, self.polled)
    }

    /// Mean sleep asked, ns; `None` when none was.
    #[must_use]
    pub fn mean_asked_ns(self) -> Option<f64> {
        ratio(self.asked_ns, self.slept)
    }

    /// Mean sleep from the timer's start to the next poll, ns; `None` when the end of none was seen.
    #[must_use]
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
        let all: Counts = cpus.map(Counts::from).into_iter().sum();
        assert_eq!((all.polled, all.unknown, all.not_kept), (10, 1, 2));
        assert_eq!(all.miss_rate(), Some(0.2));
        assert_eq!(all.slept_share(), Some(0.4));
        assert_eq!(all.effective_sleep_ns(), Some(20.0));
        assert_eq!(
            (all.mean_asked_ns(), all.mean_slept_ns()),
            (Some(50.0), Some(50.0))
        );
        let later = Counts { polled: 25, ..all };
        assert_eq!(later.since(all).polled, 15);
        assert_eq!(Counts::default().miss_rate(), None);
    }
}
