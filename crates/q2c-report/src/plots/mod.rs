//! The plots of results: the figures, axes and colours of each, and the note that explains it.

pub(crate) mod analysis;
mod calibration;
mod fidelity;
mod heat_map;
pub(crate) mod kernel_tune;
mod latency;
pub(crate) mod over_axes;
pub(crate) mod over_jobs;
mod over_time;
mod pareto;
pub(crate) mod phases;
pub(crate) mod place;
pub(crate) mod poll_study;
pub(crate) mod replay;
pub(crate) mod reproduce;
pub(crate) mod scale;
pub(crate) mod stages_over_jobs;
pub(crate) mod sweep;
pub(crate) mod tune;
pub(crate) mod tune_jobs;

const NS_TO_US: f64 = 1e-3;

fn span(numbers: impl Iterator<Item = f64>) -> (f64, f64) {
    let nothing = (f64::INFINITY, f64::NEG_INFINITY);
    numbers.fold(nothing, |(low, high), n| (low.min(n), high.max(n)))
}
