//! Latency distributions of the cells: the bulk and the tail.

use super::line::Line;
use super::{Chart, View, axis, value, values};
use serde_json::{Value, json};

/// Ticks of the tail's axis: name of the quantile q, and its place `1 / (1 - q)`.
const TAIL: [(&str, f64); 7] = [
    ("0", 1.0),
    ("p50", 2.0),
    ("p90", 10.0),
    ("p99", 100.0),
    ("p99.9", 1e3),
    ("p99.99", 1e4),
    ("p99.999", 1e5),
];

/// The distribution of the latencies of each cell, with a view of the tail.
pub(crate) fn chart(lines: &[Line<'_>]) -> Chart {
    let (share, tail) = (share_axis(), tail_axis());
    Chart {
        id: "latency".into(),
        title: "Latency".into(),
        note:
            "From just before the submission to the reaping (U2C), all trials of a cell together."
                .into(),
        height: 400,
        wide: true,
        views: vec![
            view("tail", lines, &tail, |q| 1.0 / (1.0 - q)),
            view("distribution", lines, &share, |q| q * 100.0),
        ],
    }
}

/// The axis of shares of I/Os, in percent.
pub(crate) fn share_axis() -> Value {
    json!({"title": {"text": "share of I/Os, %"}, "range": [0, 101]})
}

/// The axis of quantiles q, logarithmic over `1 / (1 - q)`, so that each further nine takes the
/// same length.
pub(crate) fn tail_axis() -> Value {
    json!({
        "title": {"text": "quantile"},
        "type": "log",
        "tickvals": TAIL.map(|(_, odds)| odds),
        "ticktext": TAIL.map(|(name, _)| name),
    })
}

fn view(label: &'static str, lines: &[Line<'_>], y: &Value, height: fn(f64) -> f64) -> View {
    let with_data = lines
        .iter()
        .filter(|line| !line.cell.latency_quantiles.is_empty());
    View {
        label,
        traces: with_data.map(|line| trace(line, height)).collect(),
        layout: axis::single(&axis::logarithmic_us("latency"), y),
    }
}

fn trace(line: &Line<'_>, height: fn(f64) -> f64) -> Value {
    let quantiles = &line.cell.latency_quantiles;
    let latencies: Vec<f64> = quantiles.iter().map(|(_, ns)| *ns).collect();
    let heights: Value = quantiles.iter().map(|(q, _)| value(height(*q))).collect();
    let names: Vec<String> = quantiles
        .iter()
        .map(|(q, _)| format!("p{}", percent(*q)))
        .collect();
    let mut trace = line.trace(&values(&latencies, 1e-3), &heights, "");
    trace["text"] = json!(names);
    trace["hovertemplate"] = json!("%{text}: %{x} us");
    trace
}

/// A quantile in percent, with up to four decimals: `99.95`.
pub(crate) fn percent(quantile: f64) -> String {
    let text = format!("{:.4}", quantile * 100.0);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::percent;

    #[test]
    fn quantiles_have_their_usual_names() {
        assert_eq!(
            [0.5, 0.999, 0.0, 0.99999].map(percent),
            ["50", "99.9", "0", "99.999"]
        );
    }
}
