//! Charts of a trace's analysis. Each title is the question that its chart answers.

mod excerpts;
mod load;
mod offsets;
mod queues;
pub(crate) mod stages;

use super::Chart;
use crate::quantity::count;
use q2c_result::analyze::AnalyzeResult;

/// Stages with the names of their colours, in the order of a request's life.
pub(crate) const STAGES: [(&str, &str); 8] = [
    ("Q2G", "@bad"),
    ("G2I", "@d"),
    ("Q2M", "@b"),
    ("I2D", "@caution"),
    ("G2D", "@e"),
    ("M2D", "@f"),
    ("D2C", "@a"),
    ("rest", "@interrupt"),
];

/// Charts of fewer I/Os say how many these are: their shapes may be chance.
const FEW: u64 = 1000;

/// The charts of an analysis, in reading order; those without data are left out.
pub(crate) fn all(result: &AnalyzeResult) -> Vec<Chart> {
    let mut charts = vec![
        stages::where_time_goes(result),
        load::latency(result),
        load::in_flight(result),
        load::throughput(result),
    ];
    charts.extend(offsets::charts(result));
    charts.push(stages::percentiles(result));
    charts.push(queues::chart(result));
    charts.extend(excerpts::chart(result));
    charts.retain(Chart::has_data);
    if result.requests < FEW {
        let ios = if result.requests == 1 { "I/O" } else { "I/Os" };
        let few = format!(" Of {} {ios}.", count(result.requests));
        charts.iter_mut().for_each(|chart| chart.note += &few);
    }
    charts
}
