//! What a rule sees of a window.

use super::times::Times;
use q2c_model::Nanos;

/// What one window gathered in one bucket, over all lanes.
#[derive(Clone, Copy, Debug)]
pub struct Window<'a> {
    /// Which bucket, as [`bucket_of`](crate::bucket_of) numbers them.
    pub bucket: usize,
    /// Completions, at least 1.
    pub samples: u64,
    /// Sum of their observed times, ns.
    pub sum: u64,
    /// How many of them had missed.
    pub misses: u64,
    /// Shortest observed time.
    pub min: Nanos,
    /// Longest observed time.
    pub max: Nanos,
    /// The observed time of the completion seen last.
    pub last: Nanos,
    /// The mean of the bucket's window before; 0 for its first.
    pub mean_before: Nanos,
    /// By how much the times below [`Window::mean_before`] fell short of it, summed, ns.
    pub shortfall: u64,
    /// Misses among those.
    pub misses_below: u64,
    /// With [`Gather::Quantiles`](super::Gather).
    pub(super) times: Option<&'a Times>,
}

impl Window<'_> {
    /// Mean observed time, rounded down as the kernel's is.
    #[must_use]
    pub fn mean(&self) -> Nanos {
        Nanos(self.sum / self.samples)
    }

    /// Left mean deviation: what the times below the mean of the window before fell short of it, over all of this window's
    /// samples, rounded down (Begunkov, linux-block, April 2019). 0 in a bucket's first window.
    #[must_use]
    pub fn lmd(&self) -> Nanos {
        Nanos(self.shortfall / self.samples)
    }

    /// The smallest time that at least `share` of the samples do not exceed (nearest rank), off by 0.8 % at most; `share` from 0 to
    /// 1, taken to the nearest part per billion.
    ///
    /// # Panics
    /// When the lanes were not built with [`Gather::Quantiles`](super::Gather).
    #[must_use]
    pub fn quantile(&self, share: f64) -> Nanos {
        let times = self
            .times
            .expect("a rule that asks for quantiles is built to gather them");
        let found = times.quantile((share.clamp(0.0, 1.0) * 1e9).round() as u64);
        // No time: the samples raced with the last merge, which took their times.
        found.unwrap_or(self.mean()).clamp(self.min, self.max)
    }
}
