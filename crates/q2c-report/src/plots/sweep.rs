//! The plots of `q2c poll sweep`.

use super::{heat_map, pareto, timeline};
use crate::plot::{Plot, with_data};
use crate::sweep::as_sweep;
use q2c_result::sweep::{SweepAnswer, SweepResult};

/// The plots of a trace's cells, and its best one I/O by I/O.
pub(crate) fn plots(result: &SweepResult, answer: &SweepAnswer) -> Vec<Plot> {
    let sweep = as_sweep(result, answer);
    let timeline = result.timeline.as_ref();
    let timeline = timeline.filter(|line| line.input == answer.input);
    let plots = [pareto::plot(Some(&sweep), &[]), heat_map::plot(&sweep)];
    let plots = plots.into_iter().chain(timeline.map(timeline::plot));
    with_data(plots, &format!("-{}", answer.input))
}
