//! The statistics of a window as a rule sees them; and the samples of one bucket's open window, for
//! an engine that keeps windows on one thread.

use super::Gather;
use super::times::BinCounts;
use crate::Outcome;
use crate::state::{MAX_TIME_NS, StateReader};
use q2c_model::{Nanos, each_field};

/// Counts and sums over the completions of one window and one bucket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WindowTotals<T = u64> {
    /// Number of completions.
    pub samples: T,
    /// Sum of the observed times, ns.
    pub sum: T,
    /// Number of misses among the completions.
    pub misses: T,
    /// Sum of the amounts by which times lie below the previous window's mean, ns.
    pub shortfall: T,
    /// Number of misses among the times below that mean.
    pub misses_below: T,
}

each_field! { WindowTotals, samples, sum, misses, shortfall, misses_below }

/// The statistics that the open window of one bucket has gathered so far. Times are in ns.
#[derive(Clone, Debug)]
pub struct OpenWindow {
    /// Counts and sums; 0 completions at first.
    pub totals: WindowTotals,
    /// Time of the newest completion on the caller's clock, and its observed time.
    pub last: (u64, u64),
    /// Shortest observed time.
    pub min: u64,
    /// Longest observed time.
    pub max: u64,
    times: Option<Box<BinCounts>>,
}

impl OpenWindow {
    /// An empty window.
    pub fn new(gather: Gather) -> Self {
        OpenWindow {
            totals: WindowTotals::default(),
            last: (0, 0),
            min: u64::MAX,
            max: 0,
            times: (gather == Gather::Quantiles).then(Box::default),
        }
    }

    /// Adds a completion seen at `now`; `mean_before` is the last window's mean, 0 in the first.
    #[inline]
    pub fn add(&mut self, outcome: Outcome, now: Nanos, mean_before: Nanos) {
        let Nanos(ns) = outcome.observed;
        let (missed, totals) = (u64::from(outcome.missed), &mut self.totals);
        totals.samples += 1;
        totals.sum += ns;
        totals.misses += missed;
        if ns < mean_before.0 {
            totals.shortfall += mean_before.0 - ns;
            totals.misses_below += missed;
        }
        self.last = self.last.max((now.0, ns));
        self.min = self.min.min(ns);
        self.max = self.max.max(ns);
        self.add_to_bins(outcome.observed);
    }

    /// Adds a time to the bins only, for an engine that keeps all other figures itself.
    #[inline]
    pub fn add_to_bins(&mut self, observed: Nanos) {
        if let Some(times) = &mut self.times {
            times.add(observed.0);
        }
    }

    /// True if the window gathers times in bins.
    pub fn has_bins(&self) -> bool {
        self.times.is_some()
    }

    /// The window as a rule sees it. The window must have a completion.
    pub fn window(&self, bucket: usize, mean_before: Nanos) -> BucketWindow<'_> {
        BucketWindow {
            bucket,
            totals: self.totals,
            min: Nanos(self.min),
            max: Nanos(self.max),
            last: Nanos(self.last.1),
            mean_before,
            times: self.times.as_deref(),
        }
    }

    /// The open window, as numbers, for [`OpenWindow::from_numbers`].
    pub fn to_numbers(&self) -> Vec<u64> {
        let totals = &self.totals;
        let mut numbers = vec![
            totals.samples,
            totals.sum,
            totals.misses,
            totals.shortfall,
            totals.misses_below,
            self.last.0,
            self.last.1,
            self.min,
            self.max,
        ];
        if let Some(times) = &self.times {
            numbers.extend(times.to_numbers());
        }
        numbers
    }

    /// Restores a window that gathers `gather`; `None` if no completions give these numbers.
    pub fn from_numbers(gather: Gather, numbers: &[u64]) -> Option<Self> {
        let mut numbers = StateReader(numbers);
        let mut window = OpenWindow {
            totals: WindowTotals {
                samples: numbers.next_time()?,
                sum: numbers.next_time()?,
                misses: numbers.next_time()?,
                shortfall: numbers.next_time()?,
                misses_below: numbers.next_time()?,
            },
            last: (numbers.next_count()?, numbers.next_time()?),
            min: numbers.next_up_to(u64::MAX)?,
            max: numbers.next_time()?,
            times: None,
        };
        let (totals, empty) = (&window.totals, window.totals.samples == 0);
        let extremes_valid = empty || window.min <= window.max.min(MAX_TIME_NS);
        let counts_valid = totals.misses <= totals.samples && totals.misses_below <= totals.misses;
        if gather == Gather::Quantiles {
            window.times = Some(Box::new(BinCounts::read(&mut numbers)?));
        }
        numbers.finish()?;
        (extremes_valid && counts_valid).then_some(window)
    }

    /// Empties the window for the next one.
    pub fn clear(&mut self) {
        let mut times = self.times.take();
        if let Some(times) = &mut times {
            times.clear();
        }
        *self = OpenWindow::new(Gather::Totals);
        self.times = times;
    }
}

/// The samples of one window and one bucket, over all lanes.
#[derive(Clone, Copy, Debug)]
pub struct BucketWindow<'a> {
    /// The bucket, as [`bucket_of`](crate::bucket_of) numbers it.
    pub bucket: usize,
    /// Counts and sums over at least 1 completion, in part against [`BucketWindow::mean_before`].
    pub totals: WindowTotals,
    /// Shortest observed time.
    pub min: Nanos,
    /// Longest observed time.
    pub max: Nanos,
    /// The observed time of the last completion seen.
    pub last: Nanos,
    /// The mean of the bucket's previous window; 0 in the bucket's first window.
    pub mean_before: Nanos,
    pub(super) times: Option<&'a BinCounts>,
}

impl BucketWindow<'_> {
    /// Mean observed time, rounded down as in the kernel.
    pub fn mean(&self) -> Nanos {
        Nanos(self.totals.sum / self.totals.samples)
    }

    /// Left mean deviation: how far times lie below the previous window's mean, averaged over all
    /// times, rounded down (Begunkov, linux-block, April 2019); 0 in the first window.
    pub(crate) fn lmd(&self) -> Nanos {
        Nanos(self.totals.shortfall / self.totals.samples)
    }

    /// The smallest time that at least `share` (0 to 1) of the samples do not exceed: nearest rank,
    /// off by 0.8 % at most. Panics without [`Gather::Quantiles`](super::Gather).
    pub(crate) fn quantile(&self, share: f64) -> Nanos {
        let times = self
            .times
            .expect("a rule that asks for quantiles is built to gather them");
        let time = times.quantile((share.clamp(0.0, 1.0) * 1e9).round() as u64);
        // There is no time if all samples raced with the last merge, which had already taken their
        // times.
        time.unwrap_or(self.mean()).clamp(self.min, self.max)
    }
}
