//! Axes and layouts that all charts share.

use crate::quantity;
use serde_json::{Value, json};

/// An axis with a title, which names the unit.
pub(crate) fn titled(title: &str) -> Value {
    json!({"title": {"text": title}})
}

/// An axis that begins at zero, so that lengths can be compared.
pub(crate) fn from_zero(title: &str) -> Value {
    json!({"title": {"text": title}, "rangemode": "tozero"})
}

/// The x axis of time. Charts of a section that have it zoom together; they count from the same
/// start.
pub(crate) fn over_time(title: &str) -> Value {
    json!({"title": {"text": title}, "rangemode": "tozero", "linked": true})
}

/// A logarithmic axis of microseconds with ticks at 1, 2 and 5 of each decade from 100 ns to 50 s;
/// a tick shows its unit.
pub(crate) fn logarithmic_us(title: &str) -> Value {
    ticks_us(title, &[1.0, 2.0, 5.0])
}

/// A logarithmic axis of microseconds with a tick at each decade alone.
pub(crate) fn decades_us(title: &str) -> Value {
    ticks_us(title, &[1.0])
}

fn ticks_us(title: &str, steps: &[f64]) -> Value {
    let ticks = (-1..=7).flat_map(|power| steps.iter().map(move |step| step * 10f64.powi(power)));
    let ticks: Vec<f64> = ticks.collect();
    let names: Vec<String> = ticks.iter().map(|us| round_duration(us * 1e3)).collect();
    json!({"title": {"text": title}, "type": "log", "tickvals": ticks, "ticktext": names})
}

/// A duration that is a round number, without decimals: `10 ms`, not `10.0 ms`.
pub(crate) fn round_duration(ns: f64) -> String {
    quantity::bare(&quantity::duration(ns))
}

/// The layout of one plot.
pub(crate) fn single(x: &Value, y: &Value) -> Value {
    json!({"xaxis": x, "yaxis": y})
}

/// The layout of two plots of the same height above each other with common axes. Traces of the
/// lower plot must name `yaxis: y2`.
pub(crate) fn halves(x: &Value, y: &Value) -> Value {
    let (mut x, mut upper, mut lower) = (x.clone(), y.clone(), y.clone());
    x["anchor"] = json!("y2");
    upper["domain"] = json!([0.54, 1.0]);
    lower["domain"] = json!([0.0, 0.46]);
    lower["matches"] = json!("y");
    json!({"xaxis": x, "yaxis": upper, "yaxis2": lower})
}

/// The layout of two plots above each other with a common x axis. Traces of the lower plot must
/// name `yaxis: y2`.
pub(crate) fn stacked(x: &Value, upper: &Value, lower: &Value) -> Value {
    let (mut x, mut upper, mut lower) = (x.clone(), upper.clone(), lower.clone());
    x["anchor"] = json!("y2");
    upper["domain"] = json!([0.42, 1.0]);
    lower["domain"] = json!([0.0, 0.34]);
    json!({"xaxis": x, "yaxis": upper, "yaxis2": lower, "hovermode": "x unified"})
}
