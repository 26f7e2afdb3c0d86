//! Plots of a trace's analysis. Each title is a question that its plot answers.

mod excerpts;
mod load;
mod offsets;
pub(crate) mod stages;

use crate::phrase::counted;
use crate::plot::{Colours, Plot, PlotAxis, PlotSeries, View, grid, with_data};
use q2c_result::analyze::{AnalyzeResult, Hctx};
use std::collections::BTreeSet;

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

const READS: &str = "@a";
const WRITES: &str = "@poll";

/// Plots of fewer I/Os state their number, because their shapes may be chance.
const FEW: u64 = 1000;

/// The plots of an analysis, in reading order; a plot without data is left out.
pub(crate) fn plots(result: &AnalyzeResult) -> Vec<Plot> {
    let loads = [load::latency, load::in_flight, load::throughput];
    let mut plots = vec![stages::where_time_goes(result)];
    plots.extend(loads.map(|plot| plot(result)));
    plots.extend(offsets::plots(result));
    plots.push(stages::percentiles(result));
    plots.push(queues(result));
    plots.extend(excerpts::plot(result));
    let mut plots = with_data(plots, "");
    if result.requests < FEW {
        let few = format!(" Of {}.", counted(result.requests, "I/O"));
        plots.iter_mut().for_each(|plot| plot.note += &few);
    }
    plots
}

/// The middle of a window of time, seconds.
fn middle_s(start_ns: u64, length_ns: u64) -> f64 {
    (start_ns + length_ns / 2) as f64 * 1e-9
}

/// The requests of each hardware queue, and the CPUs that submitted them.
fn queues(result: &AnalyzeResult) -> Plot {
    let queues = &result.hctx[..];
    let note = result.balance.as_ref().map_or_else(String::new, |b| {
        format!(
            "{} over {} queues: standard deviation {:.1} % of the mean, chi-square p = {:.2e}. Line: the mean.",
            b.verdict,
            b.queues,
            b.cv * 100.0,
            b.p
        )
    });
    let names = || PlotAxis::names("hardware queue");
    let mut requests = View::new("requests", names(), PlotAxis::from_zero("requests"));
    let mut from_cpus = View::new("from CPUs", PlotAxis::names("submitting CPU"), names());
    if queues.len() > 1 {
        requests = requests.series(bars(queues));
        from_cpus = from_cpus.series([cpus(queues)]);
    }
    Plot::new("queues", "Are the hardware queues used evenly?", 420)
        .note(note)
        .view(requests)
        .view(from_cpus.colours(Colours::new("requests")))
}

fn name(queue: &Hctx) -> String {
    queue.hctx.to_string()
}

fn bars(queues: &[Hctx]) -> [PlotSeries; 2] {
    let requests = queues.iter();
    let requests = requests.map(|queue| (name(queue), queue.requests as f64));
    let mean = queues.iter().map(|queue| queue.requests).sum::<u64>() as f64 / queues.len() as f64;
    let bars = PlotSeries::bars("requests", requests).exact().colour("@a");
    let line = PlotSeries::line("mean", queues.iter().map(|queue| (name(queue), mean)));
    [
        bars.hover_alone("{y} requests of queue {x}"),
        line.pen("@ink", 1.5).dash("dot").without_hover(),
    ]
}

fn cpus(queues: &[Hctx]) -> PlotSeries {
    let cpus = queues.iter().flat_map(|queue| queue.cpus.keys().copied());
    let cpus: BTreeSet<u32> = cpus.collect();
    let cpus: Vec<u32> = cpus.into_iter().collect();
    let requests = |cpu, queue: &Hctx| Some(*queue.cpus.get(cpu)? as f64);
    let rows = grid(&cpus, queues, requests);
    let names = cpus.iter().map(u32::to_string).collect();
    let map = PlotSeries::heat_map(names, queues.iter().map(name).collect(), rows);
    let map = map.exact().spaced();
    map.hover_alone("{z} requests from CPU {x} to queue {y}")
}
