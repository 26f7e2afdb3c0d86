//! One configuration of a sweep I/O by I/O: the device's latency, the sleep asked, and the misses.

use super::{Chart, View, axis, value, values};
use crate::html::escape::chart_text;
use q2c_result::sweep::Timeline;
use serde_json::{Value, json};

const NS_TO_US: f64 = 1e-3;
const NS_TO_MS: f64 = 1e-6;

/// The chart of latency, sleep asked and misses over time.
pub(crate) fn chart(timeline: &Timeline) -> Chart {
    let left_out = match timeline.left_out {
        0 => String::new(),
        n => format!(
            " The first {} I/Os; {} follow.",
            timeline.at_ns.len(),
            crate::quantity::count(n)
        ),
    };
    Chart {
        id: "timeline".into(),
        title: "I/O by I/O: why it missed".into(),
        note: format!(
            "{}, simulated on the first trace's first lane. Line: the sleep asked. Dots: the device's latency, in red where the I/O was \
             complete before its sleep ended.{left_out} Below: the simulated time from the submission's return to reaping.",
            timeline.policy
        ),
        height: 480,
        wide: true,
        views: vec![View {
            label: "time line",
            traces: traces(timeline),
            layout: axis::stacked(
                &axis::from_zero("time, ms"),
                &axis::from_zero("latency and sleep, us"),
                &axis::from_zero("until reaped, us"),
            ),
        }],
    }
}

fn traces(timeline: &Timeline) -> Vec<Value> {
    let at = |wanted: bool| some(timeline, wanted, &timeline.at_ns, NS_TO_MS);
    let latency = |wanted: bool| some(timeline, wanted, &timeline.latency_ns, NS_TO_US);
    let dots = |name: &str, missed: bool, colour: &str| {
        json!({
            "type": "scatter", "mode": "markers", "name": name,
            "x": at(missed), "y": latency(missed),
            "marker": {"size": 4, "color": colour},
            "hovertemplate": "%{y} us at %{x} ms",
        })
    };
    let time = values(&timeline.at_ns, NS_TO_MS);
    vec![
        dots("latency, in time", false, "@muted"),
        dots("latency, missed", true, "#e5484d"),
        json!({
            "type": "scatter", "mode": "lines", "name": chart_text(&format!("sleep asked: {}", timeline.policy)),
            "x": time, "y": values(&timeline.asked_ns, NS_TO_US),
            "line": {"color": "@chosen", "width": 1.5, "shape": "hv"},
        }),
        json!({
            "type": "scatter", "mode": "markers", "name": "reaped, simulated", "yaxis": "y2",
            "x": time, "y": values(&timeline.woke_ns, NS_TO_US),
            "marker": {"size": 3, "color": "@ink"},
        }),
    ]
}

fn some(timeline: &Timeline, missed: bool, of: &[f64], scale: f64) -> Value {
    let each = of.iter().zip(&timeline.missed);
    each.filter(|(_, m)| **m == missed)
        .map(|(v, _)| value(v * scale))
        .collect()
}
