//! Values in the form in which plotly takes them.

use serde_json::Value;

/// An object with the entries of another one, and without its empty ones.
pub(super) fn joined(mut object: Value, mut other: Value) -> Value {
    if let (Some(entries), Some(others)) = (object.as_object_mut(), other.as_object_mut()) {
        entries.append(others);
        entries.retain(|_, value| !value.is_null());
    }
    object
}

/// A number with five significant digits. One that is not finite becomes null, which is a gap.
pub(super) fn number(number: f64) -> Value {
    // JSON has no numbers that are not finite: they become null as well.
    format!("{number:.4e}").parse::<f64>().ok().into()
}

/// The same for all numbers of a list, or of lists in it.
pub(super) fn round(value: &mut Value) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(round),
        Value::Number(exact) => *value = number(exact.as_f64().unwrap_or(f64::NAN)),
        _ => {}
    }
}

/// A text for plotly, with its lines. Plotly reads `<b>`, `<a href>` and entities in texts.
pub(super) fn text(words: &str) -> String {
    let escaped = words.replace('&', "&amp;").replace('<', "&lt;");
    escaped.replace('>', "&gt;").replace('\n', "<br>")
}

pub(super) fn texts(texts: &[String]) -> Value {
    texts.iter().map(|words| text(words)).collect()
}

/// The name of the nth x or y axis, or scale of colours.
pub(super) fn nth(axis: &str, n: usize) -> String {
    match n {
        0 => axis.to_owned(),
        n => format!("{axis}{}", n + 1),
    }
}
