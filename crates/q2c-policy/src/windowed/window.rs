//! The statistics of a window that a rule sees.

use super::times::Times;
use q2c_model::Nanos;

/// The samples of one window and one bucket, over all lanes.
#[derive(Clone, Copy, Debug)]
pub struct BucketWindow<'a> {
    /// The bucket, as [`bucket_of`](crate::bucket_of) numbers it.
    pub bucket: usize,
    /// Number of completions, at least 1.
    pub samples: u64,
    /// Sum of the observed times, ns.
    pub sum: u64,
    /// Number of misses among the completions.
    pub misses: u64,
    /// Shortest observed time.
    pub min: Nanos,
    /// Longest observed time.
    pub max: Nanos,
    /// The observed time of the completion seen last.
    pub last: Nanos,
    /// The mean of the bucket's window before; 0 in the bucket's first window.
    pub mean_before: Nanos,
    /// Sum over the times below [`BucketWindow::mean_before`] of their distance from it, ns.
    pub shortfall: u64,
    /// Number of misses among the times below [`BucketWindow::mean_before`].
    pub misses_below: u64,
    pub(super) times: Option<&'a Times>,
}

impl BucketWindow<'_> {
    /// Mean observed time, rounded down as the kernel's is.
    #[must_use]
    pub fn mean(&self) -> Nanos {
        Nanos(self.sum / self.samples)
    }

    /// Left mean deviation: how far times lie below the mean of the window before, averaged over
    /// all, rounded down (Begunkov, linux-block, April 2019); 0 in the first window.
    #[must_use]
    pub(crate) fn lmd(&self) -> Nanos {
        Nanos(self.shortfall / self.samples)
    }

    /// The smallest time that at least `share` (0 to 1) of the samples do not exceed, by nearest
    /// rank, off by 0.8 % at most. Panics without [`Gather::Quantiles`](super::Gather).
    #[must_use]
    pub(crate) fn quantile(&self, share: f64) -> Nanos {
        let times = self
            .times
            .expect("a rule that asks for quantiles is built to gather them");
        let time = times.quantile((share.clamp(0.0, 1.0) * 1e9).round() as u64);
        // There is no time when all samples raced with the last merge, which took their times
        // already.
        time.unwrap_or(self.mean()).clamp(self.min, self.max)
    }
}
