//! The plots of `q2c poll sweep`.

use super::{NS_TO_US, heat_map, pareto};
use crate::plot::{Plot, PlotAxis, PlotSeries, View, with_data};
use crate::quantity::count;
use crate::sweep::as_sweep;
use q2c_result::sweep::{SweepAnswer, SweepResult, Timeline};

const NS_TO_MS: f64 = 1e-6;

/// The plots of one trace: its cells, and its best cell I/O by I/O.
pub(crate) fn plots(result: &SweepResult, answer: &SweepAnswer) -> Vec<Plot> {
    let sweep = as_sweep(result, answer);
    let timeline = result.timeline.as_ref();
    let timeline = timeline.filter(|line| line.input == answer.input);
    let plots = [pareto::plot(Some(&sweep), &[]), heat_map::plot(&sweep)];
    let plots = plots.into_iter().chain(timeline.map(io_by_io));
    with_data(plots, &format!("-{}", answer.input))
}

/// One configuration I/O by I/O: the device's latency, the sleep asked, and the misses.
fn io_by_io(timeline: &Timeline) -> Plot {
    let drawn = timeline.at_ns.len();
    let left_out = match timeline.left_out {
        0 => String::new(),
        n => format!(" The first {drawn} I/Os; {} follow.", count(n)),
    };
    let (x, y) = ("time, ms", "latency and sleep, us");
    let view = View::new("time line", PlotAxis::from_zero(x), PlotAxis::from_zero(y));
    Plot::new("timeline", "I/O by I/O: why it missed", 480)
        .note(format!(
            "{}, simulated on the first trace's first lane. Line: the sleep asked. Dots: the device's latency, in red where the I/O was \
             complete before its sleep ended.{left_out} Below: the simulated time from the submission's return to reaping.",
            timeline.policy
        ))
        .view(view.above(PlotAxis::from_zero("until reaped, us")).series(series(timeline)))
}

fn series(timeline: &Timeline) -> [PlotSeries; 4] {
    let over_time = |numbers| {
        let pairs = std::iter::zip(&timeline.at_ns, numbers);
        pairs.map(|(at, number): (&f64, &f64)| (at * NS_TO_MS, number * NS_TO_US))
    };
    let latencies = |name, is_missed: bool| {
        let pairs = over_time(&timeline.latency_ns).zip(&timeline.missed);
        let chosen = pairs.filter(|(_, missed)| **missed == is_missed);
        let dots = PlotSeries::dots(name, chosen.map(|(pair, _)| pair));
        dots.size(4.0).hover("{y} us at {x} ms")
    };
    let asked = format!("sleep asked: {}", timeline.policy);
    let reaped = PlotSeries::dots("reaped, simulated", over_time(&timeline.woke_ns));
    [
        latencies("latency, in time", false).colour("@muted"),
        latencies("latency, missed", true).colour("#e5484d"),
        PlotSeries::steps(asked, over_time(&timeline.asked_ns)).pen("@chosen", 1.5),
        reaped.below().size(3.0).colour("@ink"),
    ]
}
