//! Latency distributions of replayed requests.

use super::Line;
use crate::html::chart::latency::{percent, share_axis, tail_axis};
use crate::html::chart::{Chart, View, axis, value, values};
use q2c_result::replay::Spread;
use serde_json::{Value, json};

/// A distribution of a trial: its name, the stroke it is drawn with, and its numbers.
type Kind<'a> = (&'static str, &'static str, &'a Spread);

/// The distributions of U2C and Q2C of every device. A replay's page also has U2C from the intended
/// time.
pub(crate) fn distributions(lines: &[Line<'_>]) -> Chart {
    Chart {
        id: "latency".into(),
        title: "How long do requests take?".into(),
        note: note(lines),
        height: 440,
        wide: true,
        views: vec![
            view("distribution", lines, &share_axis(), |q| q * 100.0),
            view("tail", lines, &tail_axis(), |q| 1.0 / (1.0 - q)),
        ],
    }
}

/// The caption, which explains the strokes that occur.
fn note(lines: &[Line<'_>]) -> String {
    let drawn: Vec<&str> = lines.iter().flat_map(kinds).map(|kind| kind.1).collect();
    let alone = lines.iter().any(|line| line.alone);
    let of = if alone {
        ""
    } else {
        ", in each device's trial with the median sum"
    };
    let mut note = format!(
        "Share of the requests that took at most so long{of}. Solid: U2C, from just before the submission to the reaping."
    );
    if drawn.contains(&"dash") {
        note += " Dashed: from the time that the trace asks for; what lies between is lateness.";
    }
    if drawn.contains(&"dot") {
        note += " Dotted: Q2C, of the block layer.";
    }
    note
}

fn kinds<'a>(line: &Line<'a>) -> Vec<Kind<'a>> {
    let trial = line.trial;
    let mut kinds = vec![("U2C", "solid", &trial.u2c_ns)];
    // Without intended times the distribution is that of U2C and needs no line of its own.
    if line.alone && trial.u2c_intended_ns != trial.u2c_ns {
        kinds.push(("U2C from intended", "dash", &trial.u2c_intended_ns));
    }
    kinds.extend(trial.q2c_ns.as_ref().map(|of| ("Q2C", "dot", of)));
    kinds.retain(|(_, _, of)| !of.curve.is_empty());
    kinds
}

fn view(label: &'static str, lines: &[Line<'_>], y: &Value, height: fn(f64) -> f64) -> View {
    let of = |line| {
        kinds(line)
            .into_iter()
            .map(move |kind| trace(line, kind, height))
    };
    let mut layout = axis::single(&latency_axis(lines), y);
    layout["showlegend"] = json!(true);
    View {
        label,
        traces: lines.iter().flat_map(of).collect(),
        layout,
    }
}

/// The logarithmic axis of latencies. Over many decades it has one tick for each, so that the names
/// of ticks fit.
fn latency_axis(lines: &[Line<'_>]) -> Value {
    let all = lines.iter().flat_map(kinds);
    let all = all.flat_map(|(_, _, of)| of.curve.iter().map(|(_, ns)| *ns));
    let (least, most) = all
        .filter(|ns| ns.is_finite() && *ns > 0.0)
        .fold((f64::INFINITY, 0.0_f64), |(least, most), ns| {
            (least.min(ns), most.max(ns))
        });
    match most / least > 1e5 {
        true => axis::decades_us("latency"),
        false => axis::logarithmic_us("latency"),
    }
}

fn trace(line: &Line<'_>, (kind, dash, of): Kind<'_>, height: fn(f64) -> f64) -> Value {
    let latencies: Vec<f64> = of.curve.iter().map(|(_, ns)| *ns).collect();
    let heights: Value = of.curve.iter().map(|(q, _)| value(height(*q))).collect();
    let names: Vec<String> = of
        .curve
        .iter()
        .map(|(q, _)| format!("p{}", percent(*q)))
        .collect();
    let mut trace = line.trace(&values(&latencies, 1e-3), &heights, "%{text}: %{x} us");
    trace["text"] = json!(names);
    trace["line"]["dash"] = json!(dash);
    let name = if line.alone {
        kind.to_owned()
    } else {
        format!("{} {kind}", line.name)
    };
    trace["name"] = json!(name);
    trace["legendgroup"] = json!(name);
    trace
}
