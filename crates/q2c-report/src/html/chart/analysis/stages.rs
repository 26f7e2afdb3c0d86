//! Charts of the stages: their shares in Q2C, and their percentiles.

use super::STAGES;
use crate::analysis::load_range;
use crate::html::chart::{Chart, View, axis, value, values};
use q2c_model::Layer;
use q2c_result::analyze::{AnalyzeResult, StageStats};
use serde_json::{Value, json};
use std::collections::BTreeMap;

const NS_TO_US: f64 = 1e-3;

/// A point of the stacked chart: its place on the x axis, mean Q2C in ns, and the shares of the
/// stages in Q2C.
pub(crate) type Slice<'a> = (f64, f64, &'a BTreeMap<String, f64>);

/// The mean time in each stage, stacked to the mean Q2C, with a view over time and one over load.
pub(crate) fn where_time_goes(result: &AnalyzeResult) -> Chart {
    let mut views = Vec::new();
    if let Some(found) = &result.bottleneck {
        let over_time: Vec<Slice<'_>> = found
            .over_time
            .iter()
            .map(|w| {
                (
                    (w.start_ns + w.length_ns / 2) as f64 * 1e-9,
                    w.mean_q2c_ns,
                    &w.shares,
                )
            })
            .collect();
        let over_load: Vec<Slice<'_>> = found
            .over_load
            .iter()
            .map(|l| (l.from as f64, l.mean_q2c_ns, &l.shares))
            .collect();
        let names: Vec<String> = found
            .over_load
            .iter()
            .map(|l| match load_range(l, result.in_flight.most) {
                (from, to) if from == to => from.to_string(),
                (from, to) => format!("{from} to {to}"),
            })
            .collect();
        let mut loads = axis::titled("I/Os in flight when queued, itself included");
        loads["type"] = json!("category");
        views.push(view(
            "over time",
            stacked(&over_time, None),
            &axis::over_time("time, s"),
        ));
        views.push(view("over load", stacked(&over_load, Some(&names)), &loads));
    }
    Chart {
        id: "stages".into(),
        title: "Where does the time between Q and C go?".into(),
        note: "Mean time of an I/O in each stage, stacked to the mean Q2C of the I/Os queued in a window of time, or at a number in flight."
            .into(),
        height: 420,
        wide: true,
        views,
    }
}

/// A view of bars that stand upon each other over `x`.
pub(crate) fn view(label: &'static str, traces: Vec<Value>, x: &Value) -> View {
    let mut layout = axis::single(x, &axis::from_zero("mean time, us"));
    layout["barmode"] = json!("stack");
    layout["bargap"] = json!(0.0);
    layout["hovermode"] = json!("x unified");
    View {
        label,
        traces,
        layout,
    }
}

/// Bars of the mean time in each stage. They stand at the slices' places, or at these names.
pub(crate) fn stacked(slices: &[Slice<'_>], names: Option<&[String]>) -> Vec<Value> {
    let used = |name: &str| {
        slices
            .iter()
            .any(|(_, _, shares)| shares.contains_key(name))
    };
    let trace = |(name, colour): &(&str, &str)| {
        let share = |slice: &Slice<'_>| slice.2.get(*name).copied().unwrap_or(0.0) * slice.1;
        let y: Vec<f64> = slices.iter().map(share).collect();
        let x = match names {
            Some(names) => json!(names),
            None => slices.iter().map(|slice| value(slice.0)).collect(),
        };
        json!({
            "type": "bar", "name": name, "x": x, "y": values(&y, NS_TO_US),
            "marker": {"color": colour}, "hovertemplate": "%{y} us",
        })
    };
    STAGES
        .iter()
        .filter(|(name, _)| used(name))
        .map(trace)
        .collect()
}

/// A percentile: its name, and the function that reads it.
type Percentile = (&'static str, fn(&StageStats) -> f64);

const PERCENTILES: [Percentile; 7] = [
    ("min", |s| s.min_ns as f64),
    ("50 %", |s| s.p50_ns),
    ("90 %", |s| s.p90_ns),
    ("99 %", |s| s.p99_ns),
    ("99.9 %", |s| s.p999_ns),
    ("99.99 %", |s| s.p9999_ns),
    ("max", |s| s.max_ns as f64),
];

/// The percentiles of every stage, and those of Q2C by operation.
pub(crate) fn percentiles(result: &AnalyzeResult) -> Chart {
    let total = if result.layer == Layer::User {
        "U2C"
    } else {
        "Q2C"
    };
    let mut stages: Vec<(&str, &str, &StageStats)> = Vec::new();
    for (name, colour) in STAGES.iter().chain(&[("Q2C", "@ink"), ("U2C", "@ink")]) {
        stages.extend(result.stages.get(*name).map(|of| (*name, *colour, of)));
    }
    let colours = ["@a", "@poll", "@d", "@e", "@interrupt"];
    let ops = result
        .groups
        .get("op")
        .map(Vec::as_slice)
        .unwrap_or_default();
    let by_op: Vec<(&str, &str, &StageStats)> = ops
        .iter()
        .zip(colours)
        .filter_map(|(group, colour)| Some((group.key.as_str(), colour, group.stages.get(total)?)))
        .collect();
    let mut views = vec![View {
        label: "by stage",
        traces: stages.iter().map(line).collect(),
        layout: percentile_layout(),
    }];
    if by_op.len() > 1 {
        views.push(View {
            label: "by operation",
            traces: by_op.iter().map(line).collect(),
            layout: percentile_layout(),
        });
    }
    Chart {
        id: "percentiles".into(),
        title: "How long are the slowest I/Os, and in which stage?".into(),
        note: format!(
            "Percentiles of each stage by itself, and of {total}; they do not add up. Times of 0 are drawn at 1 ns."
        ),
        height: 420,
        wide: true,
        views,
    }
}

fn percentile_layout() -> Value {
    let mut x = axis::titled("share of I/Os that are at most so long");
    x["type"] = json!("category");
    axis::single(&x, &axis::logarithmic_us("time"))
}

fn line((name, colour, of): &(&str, &str, &StageStats)) -> Value {
    let y: Vec<f64> = PERCENTILES
        .iter()
        .map(|(_, get)| get(of).max(1.0))
        .collect();
    json!({
        "type": "scatter", "mode": "lines+markers", "name": crate::html::escape::chart_text(name),
        "x": PERCENTILES.map(|(name, _)| name), "y": values(&y, NS_TO_US),
        "line": {"color": colour, "width": 2}, "marker": {"color": colour, "size": 6},
        "hovertemplate": "%{y} us at %{x}",
    })
}
