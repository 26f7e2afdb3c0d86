//! Charts of requests in flight, IOPS and lateness over time.

use super::Line;
use crate::html::chart::{Chart, View, axis, value};
use q2c_result::replay::{ReplayTrial, Window};
use serde_json::{Value, json};

/// A quantity that is drawn over time, for the recording and for the replay.
struct Measure {
    id: &'static str,
    title: &'static str,
    /// The title when the quantity is not known of the recording.
    title_alone: &'static str,
    axis: &'static str,
    recorded: fn(&Window) -> Option<f64>,
    replayed: fn(&Window) -> f64,
    /// The unit behind the number in the hover text.
    unit: &'static str,
    note: &'static str,
}

const IN_FLIGHT: Measure = Measure {
    id: "in-flight",
    title: "How many requests are in flight, recorded and replayed?",
    title_alone: "How many requests are in flight?",
    axis: "requests in flight",
    recorded: |window| window.recorded_in_flight,
    replayed: |window| window.in_flight,
    unit: "in flight",
    note: "Mean over each window: by U2C in the replay; in a recording of the block layer by Q2C, \
           which lacks the time outside of it.",
};

const IOPS: Measure = Measure {
    id: "iops",
    title: "Does the replay submit when the recording did?",
    title_alone: "How many requests are submitted?",
    axis: "requests per second",
    recorded: |window| window.recorded_ios.map(|ios| ios as f64 / window.length_s),
    replayed: |window| window.ios as f64 / window.length_s,
    unit: "IOPS",
    note: "Requests submitted in each window, per second.",
};

pub(crate) fn in_flight(lines: &[Line<'_>]) -> Chart {
    chart(lines, &IN_FLIGHT)
}

pub(crate) fn iops(lines: &[Line<'_>]) -> Chart {
    chart(lines, &IOPS)
}

/// The middles of the windows, seconds.
fn times(trial: &ReplayTrial) -> Value {
    let middle = |window: &Window| value(window.from_s + window.length_s / 2.0);
    trial.windows.iter().map(middle).collect()
}

fn chart(lines: &[Line<'_>], measure: &Measure) -> Chart {
    let knows = |line: &&Line<'_>| {
        let mut windows = line.trial.windows.iter();
        windows.any(|window| (measure.recorded)(window).is_some())
    };
    let recorded = lines.iter().find(knows);
    let recorded = recorded.map(|line| recorded_line(line.trial, measure));
    let (title, note) = match recorded {
        Some(_) => (
            measure.title,
            format!("{} Broad and grey: the recording.", measure.note),
        ),
        None => (measure.title_alone, measure.note.to_owned()),
    };
    let drawn = lines.iter().filter(|line| !line.trial.windows.is_empty());
    let replayed = |line: &Line<'_>| {
        let windows = line.trial.windows.iter();
        let y = windows.map(|w| value((measure.replayed)(w))).collect();
        line.trace(&times(line.trial), &y, &format!("%{{y}} {}", measure.unit))
    };
    let traces: Vec<Value> = recorded.into_iter().chain(drawn.map(replayed)).collect();
    let mut logarithmic = axis::titled(measure.axis);
    logarithmic["type"] = json!("log");
    let views = vec![
        over_time("linear", traces.clone(), &axis::from_zero(measure.axis)),
        over_time("logarithmic", traces, &logarithmic),
    ];
    wide(measure.id, title, note, views)
}

/// The recording's line. Any device's windows have its figures.
fn recorded_line(trial: &ReplayTrial, measure: &Measure) -> Value {
    let of = |window: &Window| (measure.recorded)(window).map_or(Value::Null, value);
    json!({
        "type": "scatter", "mode": "lines", "name": "recorded",
        "x": times(trial), "y": trial.windows.iter().map(of).collect::<Value>(),
        "line": {"color": "@shade1", "width": 5},
        "hovertemplate": format!("%{{y}} {}", measure.unit),
    })
}

/// The lateness of the latest submission in each window. The chart is empty when no submission was
/// late, as in modes without intended times.
pub(crate) fn lateness(lines: &[Line<'_>]) -> Chart {
    let late = |line: &&Line<'_>| line.trial.windows.iter().any(|w| w.latest_ns > 0);
    let trace = |line: &Line<'_>| {
        let windows = line.trial.windows.iter();
        let y = windows
            .map(|w| value(w.latest_ns.max(1) as f64 * 1e-3))
            .collect();
        line.trace(&times(line.trial), &y, "%{y} us late")
    };
    let traces = lines.iter().filter(late).map(trace).collect();
    let view = over_time(
        "lateness",
        traces,
        &axis::logarithmic_us("largest lateness"),
    );
    let note = "Largest lateness of all requests in each window, logarithmic. Where it grows and stays, the device cannot take the trace; single \
                peaks are the machine's. Windows without any are drawn at 1 ns.";
    wide(
        "lateness",
        "How late is the latest submission?",
        note.to_owned(),
        vec![view],
    )
}

fn over_time(label: &'static str, traces: Vec<Value>, y: &Value) -> View {
    let mut layout = axis::single(&axis::over_time("time from the start, s"), y);
    layout["hovermode"] = json!("x unified");
    layout["showlegend"] = json!(true);
    View {
        label,
        traces,
        layout,
    }
}

fn wide(id: &str, title: &'static str, note: String, views: Vec<View>) -> Chart {
    Chart {
        id: id.to_owned(),
        title: title.into(),
        note,
        height: 400,
        wide: true,
        views,
    }
}
