//! Tables and sentences of `q2c replay` that terminal and page share.

mod in_flight;
mod invalid;
mod job;
mod tables;
mod verdict;
mod words;

pub(crate) use invalid::reasons;
pub(crate) use job::{job, mode, timed, trace, without_idle_time};
pub(crate) use tables::{latencies, spread, sums, trials};
pub use verdict::not_captured;
pub(crate) use verdict::{metric, overall, verdict};
pub(crate) use words::{invalid_trials, words};

use crate::phrase::listed;
use crate::quantity::seconds;
use q2c_result::replay::ReplayResult;

pub(crate) fn about(result: &ReplayResult) -> String {
    let trials = match result.trials.len() {
        0 | 1 => String::new(),
        n => format!(" · {n} trials"),
    };
    format!(
        "{} · {}{trials} · to {} · took {}",
        trace(&result.trace),
        mode(&result.job),
        listed(result.targets.iter().map(|target| &target.path)),
        seconds(result.seconds)
    )
}
