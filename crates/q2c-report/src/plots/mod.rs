//! The plots of results: the figures, axes and colours of each, and the note that explains it.

pub(crate) mod analysis;
mod calibration;
mod latency;
pub(crate) mod over_axes;
pub(crate) mod over_jobs;
pub(crate) mod over_time;
pub(crate) mod place;
pub(crate) mod poll_study;
pub(crate) mod replay;
pub(crate) mod reproduce;
pub(crate) mod sweep;
pub(crate) mod tune;

pub(crate) const NS_TO_US: f64 = 1e-3;

fn span(numbers: impl Iterator<Item = f64>) -> (f64, f64) {
    let nothing = (f64::INFINITY, f64::NEG_INFINITY);
    numbers.fold(nothing, |(low, high), n| (low.min(n), high.max(n)))
}
