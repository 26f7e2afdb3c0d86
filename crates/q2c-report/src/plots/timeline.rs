//! One configuration of a sweep I/O by I/O: the device's latency, the sleep asked, and the misses.

use super::NS_TO_US;
use crate::plot::{Axis, Plot, Series, View};
use crate::quantity::count;
use q2c_result::sweep::Timeline;

const NS_TO_MS: f64 = 1e-6;

/// Latency, sleep asked and misses over time.
pub(crate) fn plot(timeline: &Timeline) -> Plot {
    let left_out = match timeline.left_out {
        0 => String::new(),
        n => format!(
            " The first {} I/Os; {} follow.",
            timeline.at_ns.len(),
            count(n)
        ),
    };
    let view = View::new(
        "time line",
        Axis::from_zero("time, ms"),
        Axis::from_zero("latency and sleep, us"),
    );
    Plot::new("timeline", "I/O by I/O: why it missed", 480)
        .note(format!(
            "{}, simulated on the first trace's first lane. Line: the sleep asked. Dots: the device's latency, in red where the I/O was \
             complete before its sleep ended.{left_out} Below: the simulated time from the submission's return to reaping.",
            timeline.policy
        ))
        .view(view.above(Axis::from_zero("until reaped, us")).series(series(timeline)))
}

fn series(timeline: &Timeline) -> [Series; 4] {
    let over_time = |numbers: &[f64]| {
        let pairs = timeline.at_ns.iter().zip(numbers);
        let pairs = pairs.map(|(at, number)| (at * NS_TO_MS, number * NS_TO_US));
        pairs.collect::<Vec<(f64, f64)>>()
    };
    let latencies = |name: &str, is_missed: bool| {
        let pairs = over_time(&timeline.latency_ns)
            .into_iter()
            .zip(&timeline.missed);
        let chosen = pairs.filter(|(_, missed)| **missed == is_missed);
        Series::dots(name, chosen.map(|(pair, _)| pair))
            .size(4.0)
            .hover("{y} us at {x} ms")
    };
    let asked = format!("sleep asked: {}", timeline.policy);
    [
        latencies("latency, in time", false).colour("@muted"),
        latencies("latency, missed", true).colour("#e5484d"),
        Series::steps(asked, over_time(&timeline.asked_ns)).pen("@chosen", 1.5),
        Series::dots("reaped, simulated", over_time(&timeline.woke_ns))
            .below()
            .size(3.0)
            .colour("@ink"),
    ]
}
