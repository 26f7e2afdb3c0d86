//! Latency distributions of replayed requests.

use super::Line;
use crate::plot::{Axis, Plot, Series, View};
use crate::plots::latency::{odds, percent, places, tell_quantiles};
use q2c_result::replay::Spread;

/// A distribution of a trial: its name, and the stroke it is drawn with.
struct Kind<'a> {
    name: &'static str,
    dash: &'static str,
    spread: &'a Spread,
}

/// The distributions of U2C and Q2C of every device. A replay's page also has U2C from the intended
/// time.
pub(crate) fn distributions(lines: &[Line<'_>]) -> Plot {
    let view = |label, y, height: fn(f64) -> f64| {
        let series = lines.iter().flat_map(|line| {
            let kinds = kinds(line).into_iter();
            kinds.map(move |kind| series(line, &kind, height))
        });
        View::new(label, latency_axis(lines), y)
            .legend(true)
            .series(series)
    };
    Plot::new("latency", "How long do requests take?", 440)
        .note(note(lines))
        .view(view("distribution", Axis::shares(), percent))
        .view(view("tail", Axis::quantiles(), odds))
}

/// The caption, which explains the strokes that occur.
fn note(lines: &[Line<'_>]) -> String {
    let drawn: Vec<&str> = lines.iter().flat_map(kinds).map(|kind| kind.dash).collect();
    let which = if lines.iter().any(|line| line.is_alone) {
        ""
    } else {
        ", in each device's trial with the median sum"
    };
    let mut note = format!(
        "Share of the requests that took at most so long{which}. Solid: U2C, from just before the submission to the reaping."
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
    // Without intended times the distribution is that of U2C and needs no line of its own.
    let is_intended = line.is_alone && trial.u2c_intended_ns != trial.u2c_ns;
    let kinds = [
        Some(("U2C", "solid", &trial.u2c_ns)),
        is_intended.then_some(("U2C from intended", "dash", &trial.u2c_intended_ns)),
        trial.q2c_ns.as_ref().map(|spread| ("Q2C", "dot", spread)),
    ];
    let kinds = kinds.into_iter().flatten();
    kinds
        .filter(|(.., spread)| !spread.curve.is_empty())
        .map(|(name, dash, spread)| Kind { name, dash, spread })
        .collect()
}

/// The logarithmic axis of latencies. Over many decades it has one tick for each, so that the names
/// of ticks fit.
fn latency_axis(lines: &[Line<'_>]) -> Axis {
    let curves = lines
        .iter()
        .flat_map(kinds)
        .flat_map(|kind| &kind.spread.curve);
    let (least, most) = curves
        .map(|(_, ns)| *ns)
        .filter(|ns| ns.is_finite() && *ns > 0.0)
        .fold((f64::INFINITY, 0.0_f64), |(least, most), ns| {
            (least.min(ns), most.max(ns))
        });
    if most / least > 1e5 {
        Axis::decades_us("latency")
    } else {
        Axis::logarithmic_us("latency")
    }
}

fn series(line: &Line<'_>, kind: &Kind<'_>, height: fn(f64) -> f64) -> Series {
    let name = if line.is_alone {
        kind.name.to_owned()
    } else {
        format!("{} {}", line.name, kind.name)
    };
    let curve = &kind.spread.curve;
    tell_quantiles(line.series(places(curve, height)), curve)
        .name(name)
        .dash(kind.dash)
}
