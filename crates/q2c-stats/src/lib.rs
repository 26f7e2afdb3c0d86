//! Statistics that storage results need: percentiles, medians with order-statistic intervals, ratios, scaling.

mod histogram;
mod interval;
mod percentile;
mod ratio;
mod rng;
pub mod scaling;

pub use histogram::Histogram;
pub use interval::Interval;
pub use percentile::{mean, median, percentile, quantiles, sorted};
pub use ratio::{Ratio, ratio_of_medians};
pub use rng::Rng;
