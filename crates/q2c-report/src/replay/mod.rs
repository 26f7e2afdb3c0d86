//! Tables and sentences of `q2c replay` that terminal and page share.

mod change;
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

use crate::quantity::seconds;
use q2c_result::replay::ReplayResult;

/// The replay in a line: trace, mode, trials, targets and duration.
pub(crate) fn about(result: &ReplayResult) -> String {
    let targets: Vec<&str> = result.targets.iter().map(|t| t.path.as_str()).collect();
    let trials = match result.trials.len() {
        0 | 1 => String::new(),
        n => format!(" · {n} trials"),
    };
    format!(
        "{} · {}{trials} · to {} · took {}",
        trace(&result.trace),
        mode(&result.job),
        targets.join(", "),
        seconds(result.seconds)
    )
}
