//! Axes and layouts that all charts share.

use crate::quantity;
use serde_json::{Value, json};

/// An axis with its title, whose unit is in the title.
pub(super) fn titled(title: &str) -> Value {
    json!({"title": {"text": title}})
}

/// From zero up: lengths can be compared.
pub(super) fn from_zero(title: &str) -> Value {
    json!({"title": {"text": title}, "rangemode": "tozero"})
}

/// Logarithmic over microseconds, from 100 ns to 50 s, each tick at 1, 2 or 5 with its unit.
pub(super) fn logarithmic_us(title: &str) -> Value {
    ticks_us(title, &[1.0, 2.0, 5.0])
}

/// The same with ticks at 1 alone.
pub(super) fn decades_us(title: &str) -> Value {
    ticks_us(title, &[1.0])
}

fn ticks_us(title: &str, steps: &[f64]) -> Value {
    let ticks = (-1..=7).flat_map(|power| steps.iter().map(move |step| step * 10f64.powi(power)));
    let ticks: Vec<f64> = ticks.collect();
    let names: Vec<String> = ticks.iter().map(|us| round_duration(us * 1e3)).collect();
    json!({"title": {"text": title}, "type": "log", "tickvals": ticks, "ticktext": names})
}

/// A duration that is a round number, bare: `10 ms`, not `10.0 ms`.
pub(super) fn round_duration(ns: f64) -> String {
    quantity::bare(&quantity::duration(ns, "µ"))
}

/// One plot.
pub(super) fn single(x: &Value, y: &Value) -> Value {
    json!({"xaxis": x, "yaxis": y})
}

/// Two plots above each other with a common x axis; traces of the lower one name `yaxis: y2`.
pub(super) fn stacked(x: &Value, upper: &Value, lower: &Value) -> Value {
    let (mut x, mut upper, mut lower) = (x.clone(), upper.clone(), lower.clone());
    x["anchor"] = json!("y2");
    upper["domain"] = json!([0.42, 1.0]);
    lower["domain"] = json!([0.0, 0.34]);
    json!({"xaxis": x, "yaxis": upper, "yaxis2": lower, "hovermode": "x unified"})
}
