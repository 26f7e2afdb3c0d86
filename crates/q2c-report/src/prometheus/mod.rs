//! Metrics of live views for Prometheus: totals since the begin, as a page in the text format
//! 0.0.4. Times are in seconds, and every sample has the label `device`.

mod exposition;
mod kernel;
mod live;
mod watch;

pub use kernel::KernelMetrics;
pub use live::LiveMetrics;
pub use watch::WatchMetrics;

/// The content type of a page.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Totals of the intervals of a live view.
pub trait Metrics {
    /// An interval of the live view.
    type Interval;

    /// Adds an interval that has ended.
    fn add(&mut self, interval: &Self::Interval);

    /// The page. Before the first interval all counters are 0.
    fn page(&self) -> String;
}
