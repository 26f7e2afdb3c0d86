//! Axes and layouts that all charts share.

use serde_json::{Value, json};

/// An axis with its title, whose unit is in the title.
pub(super) fn titled(title: &str) -> Value {
    json!({"title": {"text": title}})
}

/// From zero up: lengths can be compared.
pub(super) fn from_zero(title: &str) -> Value {
    json!({"title": {"text": title}, "rangemode": "tozero"})
}

/// Logarithmic, labelled at 1, 2 and 5.
pub(super) fn logarithmic(title: &str) -> Value {
    json!({"title": {"text": title}, "type": "log", "dtick": "D2"})
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
