//! Statistics that storage results need: percentiles, medians with order-statistic intervals,
//! ratios, scaling.
//!
//! # Example
//! ```
//! use q2c_model::stats::{Interval, percentile, sorted};
//!
//! let latencies = sorted(&[81.0, 79.0, 350.0, 80.0, 82.0]);
//! assert_eq!(percentile(&latencies, 0.5), 81.0);
//! let trials = Interval::from_samples(&[10.4, 9.8, 10.1, 10.0, 10.6]);
//! assert_eq!((trials.median, trials.min, trials.max), (10.1, 9.8, 10.6));
//! // [min, max] misses the true median where all five trials lie on one side of it: 2 * 0.5^5.
//! assert_eq!(trials.coverage(), 1.0 - 2.0 * 0.5_f64.powi(5));
//! ```

mod histogram;
mod rng;
mod samples;
pub mod scaling;
mod shape;

pub use histogram::{Histogram, HistogramError, HistogramStep, join_steps};
pub use rng::Rng;
pub use samples::{
    CLEAR_TRIALS, Interval, Ratio, ResampledRange, mean, median, percentile, quantiles,
    ratio_of_medians, sorted,
};
pub use shape::Shape;
