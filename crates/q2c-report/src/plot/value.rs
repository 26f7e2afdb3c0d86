//! Values in the form in which plotly takes them.

use serde_json::Value;

/// An object with the entries of both, without those that are null.
pub(super) fn merged(mut object: Value, mut other: Value) -> Value {
    if let (Some(entries), Some(others)) = (object.as_object_mut(), other.as_object_mut()) {
        entries.append(others);
        entries.retain(|_, value| !value.is_null());
    }
    object
}

/// A number with five significant digits; null, which is a gap, if it is not finite.
pub(super) fn number(number: f64) -> Value {
    // JSON has no infinity or NaN: they become null.
    format!("{number:.4e}").parse::<f64>().ok().into()
}

/// Rounds all numbers in a list, or in lists within it, like [`number`].
pub(super) fn round(value: &mut Value) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(round),
        Value::Number(exact) => *value = number(exact.as_f64().unwrap_or(f64::NAN)),
        _ => {}
    }
}

/// A text for plotly, escaped because plotly reads `<b>`, `<a href>` and entities; it keeps its
/// lines.
pub(super) fn text(raw: &str) -> String {
    let escaped = raw.replace('&', "&amp;").replace('<', "&lt;");
    escaped.replace('>', "&gt;").replace('\n', "<br>")
}

pub(super) fn texts(texts: &[String]) -> Value {
    texts.iter().map(|raw| text(raw)).collect()
}

/// The name of x or y axis or colour scale number `n`, counted from 0: `x`, `x2`, `x3`.
pub(super) fn axis_name(axis: &str, n: usize) -> String {
    match n {
        0 => axis.to_owned(),
        n => format!("{axis}{}", n + 1),
    }
}
