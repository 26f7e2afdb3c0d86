//! One configuration of a sweep I/O by I/O: the device's latency, the sleep asked, and the misses.

use super::NS_TO_US;
use crate::plot::{Axis, Plot, Series, Values, View};
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
    let some = |numbers: &[f64], missed: bool, scale: f64| -> Values {
        let pairs = numbers.iter().zip(&timeline.missed);
        let own = pairs.filter(|(_, is_missed)| **is_missed == missed);
        own.map(|(number, _)| number * scale).collect()
    };
    let latencies = |name: &str, missed: bool| {
        let at = some(&timeline.at_ns, missed, NS_TO_MS);
        Series::dots(name, at, some(&timeline.latency_ns, missed, NS_TO_US))
            .size(4.0)
            .hover("{y} us at {x} ms")
    };
    let time = || Values::scaled(&timeline.at_ns, NS_TO_MS);
    let asked = Values::scaled(&timeline.asked_ns, NS_TO_US);
    let reaped = Values::scaled(&timeline.woke_ns, NS_TO_US);
    [
        latencies("latency, in time", false).colour("@muted"),
        latencies("latency, missed", true).colour("#e5484d"),
        Series::steps(format!("sleep asked: {}", timeline.policy), time(), asked)
            .colour("@chosen")
            .width(1.5),
        Series::dots("reaped, simulated", time(), reaped)
            .below()
            .size(3.0)
            .colour("@ink"),
    ]
}
