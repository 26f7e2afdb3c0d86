//! Plots of a trace's analysis. Each title is the question that its plot answers.

mod excerpts;
mod load;
mod offsets;
mod queues;
pub(crate) mod stages;

use crate::plot::{Plot, with_data};
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

/// Colours of reads and of writes.
const READS: &str = "@a";
const WRITES: &str = "@poll";

/// Plots of fewer I/Os say how many these are: their shapes may be chance.
const FEW: u64 = 1000;

/// The plots of an analysis, in reading order; those without data are left out.
pub(crate) fn plots(result: &AnalyzeResult) -> Vec<Plot> {
    let mut plots = vec![
        stages::where_time_goes(result),
        load::latency(result),
        load::in_flight(result),
        load::throughput(result),
    ];
    plots.extend(offsets::plots(result));
    plots.push(stages::percentiles(result));
    plots.push(queues::plot(result));
    plots.extend(excerpts::plot(result));
    let mut plots = with_data(plots, "");
    if result.requests < FEW {
        let ios = if result.requests == 1 { "I/O" } else { "I/Os" };
        let few = format!(" Of {} {ios}.", count(result.requests));
        plots.iter_mut().for_each(|plot| plot.note += &few);
    }
    plots
}

/// The middle of a window of time, seconds.
fn middle_s(start_ns: u64, length_ns: u64) -> f64 {
    (start_ns + length_ns / 2) as f64 * 1e-9
}
