//! The placements of `q2c place run` as CSV.

use super::{field, text};
use crate::{place, place_run};
use q2c_result::place_run::{PlaceRunResult, PollFigures};
use q2c_stats::Interval;

/// A row for each placement of each kind of computing task.
///
/// # Errors
/// The CSV writer refused a row; the types of the rows leave no way for that.
pub fn place_run(result: &PlaceRunResult) -> Result<String, ::csv::Error> {
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    writer.write_record([
        "task",
        "placement",
        "c_slowdown",
        "c_slowdown_min",
        "c_slowdown_max",
        "trials",
        "p_iops",
        "p_bytes_per_s",
        "p_p50_ns",
        "p_p99_ns",
        "p_p999_ns",
        "moves",
    ])?;
    for class in &result.classes {
        for run in &class.placements {
            let polls = |get: fn(&PollFigures) -> Interval| {
                let polls = run.polls.as_ref();
                polls.map_or_else(String::new, |polls| field(get(polls).median))
            };
            writer.write_record([
                place_run::task(&class.task),
                place::policy(run.policy).to_owned(),
                field(run.c_slowdown.median),
                field(run.c_slowdown.min),
                field(run.c_slowdown.max),
                run.c_slowdown.trials.to_string(),
                polls(|polls| polls.iops),
                polls(|polls| polls.bytes_per_s),
                polls(|polls| polls.latency.p50_ns),
                polls(|polls| polls.latency.p99_ns),
                polls(|polls| polls.latency.p999_ns),
                run.moves
                    .map_or_else(String::new, |moves| field(moves.median)),
            ])?;
        }
    }
    text(writer)
}
