//! Throughput over the number of jobs: measured points, and the prediction beyond them.

use super::{Chart, View, axis, values};
use q2c_result::scale::{CurvePoint, ScaleResult};
use serde_json::{Value, json};

/// The chart of a prediction.
pub(crate) fn chart(result: &ScaleResult) -> Chart {
    let (measured, predicted): (Vec<CurvePoint>, Vec<CurvePoint>) =
        result.curve.iter().partition(|point| point.measured);
    let mut traces = Vec::new();
    if !predicted.is_empty() {
        traces.extend(band(&predicted));
        traces.push(line(&predicted));
    }
    if !measured.is_empty() {
        traces.push(points(&measured));
    }
    let mut layout = axis::single(&axis::from_zero("jobs"), &axis::from_zero("KIOPS"));
    if let Some(end) = result.ends_at {
        layout["shapes"] = json!([{
            "type": "line",
            "yref": "paper",
            "x0": end,
            "x1": end,
            "y0": 0,
            "y1": 1,
            "line": {"color": "@muted", "width": 1, "dash": "dot"},
            "label": {"text": "end", "textposition": "start"},
        }]);
    }
    Chart {
        id: "scale".into(),
        title: "Over the number of jobs".into(),
        note: "Solid points: measured, with [min, max] over the trials. Dashed with a band: a prediction, never measured.".into(),
        height: 460,
        wide: true,
        views: vec![View {
            label: "IOPS",
            traces,
            layout,
        }],
    }
}

fn over(points: &[CurvePoint], of: fn(&CurvePoint) -> f64, scale: f64) -> Value {
    let all: Vec<f64> = points.iter().map(of).collect();
    values(&all, scale)
}

fn jobs(points: &[CurvePoint]) -> Value {
    over(points, |point| f64::from(point.jobs), 1.0)
}

/// The upper end of the band, and the lower one, to which the colour reaches.
fn band(points: &[CurvePoint]) -> [Value; 2] {
    let edge = |y: Value, fill: &str| {
        json!({
            "type": "scatter",
            "mode": "lines",
            "name": "95 %",
            "showlegend": false,
            "hoverinfo": "skip",
            "x": jobs(points),
            "y": y,
            "fill": fill,
            "line": {"color": "@chosen", "width": 0.5, "dash": "dash"},
            "opacity": 0.4,
        })
    };
    [
        edge(over(points, |p| p.high, 1e-3), "none"),
        edge(over(points, |p| p.low, 1e-3), "tonexty"),
    ]
}

fn line(points: &[CurvePoint]) -> Value {
    json!({
        "type": "scatter",
        "mode": "lines",
        "name": "predicted",
        "x": jobs(points),
        "y": over(points, |p| p.iops, 1e-3),
        "line": {"color": "@chosen", "width": 1.6, "dash": "dash"},
        "hovertemplate": "%{y} KIOPS, predicted",
    })
}

fn points(points: &[CurvePoint]) -> Value {
    json!({
        "type": "scatter",
        "mode": "lines+markers",
        "name": "measured",
        "x": jobs(points),
        "y": over(points, |p| p.iops, 1e-3),
        "line": {"color": "@interrupt", "width": 1.6},
        "marker": {"size": 8},
        "error_y": {
            "type": "data",
            "symmetric": false,
            "array": over(points, |p| p.high - p.iops, 1e-3),
            "arrayminus": over(points, |p| p.iops - p.low, 1e-3),
        },
        "hovertemplate": "%{y} KIOPS, measured",
    })
}
