//! Charts of predicted against measured values. A point on the diagonal is a prediction that was
//! right.

use super::line::Line;
use super::pareto::whiskers;
use super::{Chart, View, axis, value};
use q2c_result::tune::{Measured, Prediction};
use q2c_stats::Interval;
use serde_json::{Value, json};

/// A quantity whose prediction is compared with its measurement: the chart's id and title, unit,
/// scale, and the functions that read the two numbers.
struct Quantity {
    id: &'static str,
    title: &'static str,
    unit: &'static str,
    scale: f64,
    predicted: fn(&Prediction) -> f64,
    measured: fn(&Measured) -> &Interval,
}

const QUANTITIES: [Quantity; 3] = [
    Quantity {
        id: "fidelity-iops",
        title: "Prediction: IOPS",
        unit: "KIOPS",
        scale: 1e-3,
        predicted: |p| p.rates.iops,
        measured: |m| &m.rates.iops,
    },
    Quantity {
        id: "fidelity-cpu",
        title: "Prediction: CPU",
        unit: "%",
        scale: 1.0,
        predicted: |p| p.rates.cpu_pct,
        measured: |m| &m.rates.cpu_pct,
    },
    Quantity {
        id: "fidelity-miss",
        title: "Prediction: miss rate",
        unit: "%",
        scale: 100.0,
        predicted: |p| p.rates.miss_rate,
        measured: |m| &m.rates.miss_rate,
    },
];

/// A chart for each quantity, over the sleeping cells.
pub(crate) fn charts(lines: &[Line<'_>]) -> Vec<Chart> {
    QUANTITIES
        .iter()
        .map(|quantity| chart(lines, quantity))
        .collect()
}

fn chart(lines: &[Line<'_>], quantity: &Quantity) -> Chart {
    let mut traces: Vec<Value> = lines
        .iter()
        .filter_map(|line| compared(line, quantity))
        .collect();
    if !traces.is_empty() {
        traces.insert(0, diagonal(lines, quantity));
    }
    let mut layout = axis::single(
        &axis::titled(&format!("predicted, {}", quantity.unit)),
        &axis::titled(&format!("measured, {}", quantity.unit)),
    );
    layout["showlegend"] = json!(false);
    Chart {
        id: quantity.id.into(),
        title: quantity.title.into(),
        note: "Sleeping cells. Full: predicted from the polled slices around each trial; hollow: from the first \
               recording, so with the device's drift."
            .into(),
        height: 320,
        wide: false,
        views: vec![View { label: quantity.title, traces, layout }],
    }
}

/// A cell's measured value over its prediction, and over its first prediction if there is one,
/// joined by a line.
fn compared(line: &Line<'_>, quantity: &Quantity) -> Option<Value> {
    let measured = (quantity.measured)(&line.cell.measured);
    let paired = line
        .cell
        .predicted
        .filter(|_| line.cell.sleeping && measured.trials > 0)?;
    let predictions: Vec<Prediction> = std::iter::once(paired)
        .chain(line.cell.predicted_first)
        .collect();
    let height = value(measured.median * quantity.scale);
    let mut error = whiskers(measured, quantity.scale, line.colour);
    error["array"] = repeated(&error["array"][0], predictions.len());
    error["arrayminus"] = repeated(&error["arrayminus"][0], predictions.len());
    Some(json!({
        "type": "scatter",
        "mode": "lines+markers",
        "name": line.name,
        "x": predictions.iter().map(|p| value((quantity.predicted)(p) * quantity.scale)).collect::<Vec<_>>(),
        "y": repeated(&height, predictions.len()),
        "error_y": error,
        "line": {"color": line.colour, "width": 1, "dash": "dot"},
        "marker": {"color": line.colour, "size": 9, "symbol": ["circle", "circle-open"]},
        "hovertemplate": format!("predicted %{{x}}, measured %{{y}} {}", quantity.unit),
    }))
}

fn repeated(value: &Value, times: usize) -> Value {
    std::iter::repeat_n(value.clone(), times).collect()
}

/// The diagonal, from the smallest to the largest number in the chart.
fn diagonal(lines: &[Line<'_>], quantity: &Quantity) -> Value {
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for cell in lines
        .iter()
        .map(|line| line.cell)
        .filter(|cell| cell.sleeping)
    {
        let measured = (quantity.measured)(&cell.measured);
        let predicted = [cell.predicted, cell.predicted_first].into_iter().flatten();
        for number in predicted
            .map(|p| (quantity.predicted)(&p))
            .chain([measured.min, measured.max])
        {
            (low, high) = (low.min(number), high.max(number));
        }
    }
    let ends = super::values(&[low, high], quantity.scale);
    json!({
        "type": "scatter",
        "mode": "lines",
        "x": ends,
        "y": ends,
        "line": {"color": "@muted", "width": 1},
        "hoverinfo": "skip",
    })
}
