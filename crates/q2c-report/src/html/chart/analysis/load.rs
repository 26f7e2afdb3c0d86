//! Charts of latency, throughput and I/Os in flight over time.

use super::offsets::{READS, WRITES};
use crate::html::chart::{Chart, View, axis, value};
use q2c_result::analyze::{AnalyzeResult, Load, Moved, Throughput};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The middle of a window, seconds.
fn at(load: &Load) -> Value {
    value((load.start_ns + load.length_ns / 2) as f64 * 1e-9)
}

/// The heat map of latencies over time.
pub(crate) fn latency(result: &AnalyzeResult) -> Chart {
    let loads = &result.over_time;
    let seen: BTreeSet<u64> = loads
        .iter()
        .flat_map(|load| &load.latencies)
        .map(|(end, _)| *end)
        .collect();
    let traces = match (seen.first(), seen.last()) {
        (Some(first), Some(last)) => vec![heat_map(loads, &classes(*first, *last))],
        _ => Vec::new(),
    };
    Chart {
        id: "latency".into(),
        title: "How long do I/Os take, and when does that change?".into(),
        note: "Colour: I/Os per second (logarithmic) of a latency, by the time at which they were queued. A band is a usual way; a second band \
               or a cloud above it is another."
            .into(),
        height: 420,
        wide: true,
        views: vec![View {
            label: "heat map",
            traces,
            layout: axis::single(&axis::over_time("time, s"), &axis::logarithmic_us("latency")),
        }],
    }
}

/// The lower ends of all latency classes from one to another, four to each doubling. Classes
/// without I/Os are included, so that all rows have the same height.
fn classes(first: u64, last: u64) -> Vec<u64> {
    let next = |end: &u64| {
        let octave = end.max(&1).ilog2();
        let step = if octave < 2 { *end } else { 1 << (octave - 2) };
        end.checked_add(step).filter(|next| *next <= last)
    };
    std::iter::successors(Some(first), next).collect()
}

fn heat_map(loads: &[Load], classes: &[u64]) -> Value {
    let row = |class: &u64| -> Value { loads.iter().map(|load| rate(load, *class)).collect() };
    // plotly draws a row around its value, so the middle of the class is given.
    let middle = |end: &u64| value(*end as f64 * 1.09 * 1e-3);
    json!({
        "type": "heatmap",
        "x": loads.iter().map(at).collect::<Vec<_>>(),
        "y": classes.iter().map(middle).collect::<Vec<_>>(),
        "z": classes.iter().map(row).collect::<Vec<_>>(),
        "colorscale": "@scale",
        "colorbar": {
            "title": {"text": "I/Os<br>per s"}, "thickness": 12, "outlinewidth": 0,
            "tickvals": [0, 1, 2, 3, 4, 5, 6, 7],
            "ticktext": ["1", "10", "100", "1 K", "10 K", "100 K", "1 M", "10 M"],
        },
        "hoverongaps": false,
        "hovertemplate": "%{y:.3g} us at %{x} s<extra></extra>",
    })
}

/// log10 of the I/Os per second of a class; null, a gap, where there are none.
fn rate(load: &Load, class: u64) -> Value {
    let found = load.latencies.iter().find(|(end, _)| *end == class);
    found.map_or(Value::Null, |(_, n)| {
        value((*n as f64 / (load.length_ns as f64 * 1e-9)).log10())
    })
}

/// The chart of I/Os in flight and throughput.
pub(crate) fn in_flight(result: &AnalyzeResult) -> Chart {
    let loads = &result.over_time;
    let line = |name: &str, colour: &str, of: &dyn Fn(&Load) -> f64| {
        json!({
            "type": "scatter", "mode": "lines", "name": name,
            "x": loads.iter().map(at).collect::<Vec<_>>(),
            "y": loads.iter().map(|load| value(of(load))).collect::<Vec<_>>(),
            "line": {"color": colour, "width": 1.5},
            "hovertemplate": "%{y}",
        })
    };
    let kiops = |load: &Load| load.requests as f64 / load.length_ns as f64 * 1e6;
    let queued = line("KIOPS", "@accent", &kiops);
    let time = axis::over_time("time, s");
    let unended = loads.iter().all(|load| load.latencies.is_empty());
    let (traces, layout) = if loads.is_empty() {
        (Vec::new(), Value::Null)
    } else if unended {
        (vec![queued], axis::single(&time, &axis::from_zero("KIOPS")))
    } else {
        let mut below = queued;
        below["yaxis"] = json!("y2");
        let above = line("in flight", "@a", &|load| load.in_flight);
        let layout = axis::stacked(
            &time,
            &axis::from_zero("in flight"),
            &axis::from_zero("KIOPS"),
        );
        (vec![above, below], layout)
    };
    Chart {
        id: "in-flight".into(),
        title: "How loaded is the device over time?".into(),
        note: match unended {
            true => "I/Os queued per second. The trace has no completions, so how many were in flight is unknown.",
            false => "I/Os in flight from Q to C, mean over each window, and I/Os queued per second. Near 0 between peaks: it idles.",
        }
        .into(),
        height: 420,
        wide: true,
        views: vec![View {
            label: "load",
            traces,
            layout,
        }],
    }
}

/// The chart of reads and writes over time: their number, and the data that they move.
pub(crate) fn throughput(result: &AnalyzeResult) -> Chart {
    let views = vec![
        rates(&result.throughput, "IOPS", "IOPS", |moved| moved.ios as f64),
        rates(&result.throughput, "MiB/s", "MiB/s", |moved| {
            moved.bytes as f64 / f64::from(1u32 << 20)
        }),
    ];
    Chart {
        id: "throughput".into(),
        title: "How much is read and written?".into(),
        note: "Reads and writes with data, by the time at which they began; means over windows."
            .into(),
        height: 380,
        wide: true,
        views,
    }
}

/// Reads or writes: their name, their colour, and the function that gives theirs.
type Kind = (&'static str, &'static str, fn(&Throughput) -> &Moved);

/// A view of what reads and writes are per second.
fn rates(windows: &[Throughput], label: &'static str, unit: &str, of: fn(&Moved) -> f64) -> View {
    let middle = |w: &Throughput| value((w.start_ns + w.length_ns / 2) as f64 * 1e-9);
    let kinds: [Kind; 2] = [
        ("reads", READS, |window| &window.reads),
        ("writes", WRITES, |window| &window.writes),
    ];
    let there = kinds
        .into_iter()
        .filter(|(.., moved)| windows.iter().any(|window| moved(window).ios > 0));
    let trace = |(name, colour, moved): Kind| {
        let rate = |w: &Throughput| value(of(moved(w)) / (w.length_ns.max(1) as f64 * 1e-9));
        json!({
            "type": "scatter", "mode": "lines", "name": name,
            "x": windows.iter().map(middle).collect::<Vec<_>>(),
            "y": windows.iter().map(rate).collect::<Vec<_>>(),
            "line": {"color": colour, "width": 1.5},
            "hovertemplate": format!("%{{y}} {unit}"),
        })
    };
    let mut layout = axis::single(&axis::over_time("time, s"), &axis::from_zero(unit));
    layout["hovermode"] = json!("x unified");
    layout["showlegend"] = json!(true);
    View {
        label,
        traces: there.map(trace).collect(),
        layout,
    }
}

#[cfg(test)]
mod tests {
    use super::classes;

    #[test]
    fn rows_of_the_heat_map_have_no_gaps() {
        assert_eq!(classes(4, 16), [4, 5, 6, 7, 8, 10, 12, 14, 16]);
        assert_eq!(classes(1, 4), [1, 2, 4]);
        assert_eq!(classes(896, 896), [896]);
    }
}
