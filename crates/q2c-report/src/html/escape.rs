//! Makes strings from outside harmless, each for the language it goes into.
//!
//! The templates escape HTML text and attributes themselves. This module covers two cases that they
//! do not know: JSON inside a `<script>`, and plotly's own markup.

use serde_json::Value;

/// Writes JSON that is safe inside a `<script>`: without markup, and without the line separators
/// that JSON allows in strings and JavaScript does not.
pub(super) fn json_for_script(value: &Value) -> String {
    let json = value.to_string();
    let mut safe = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            // These characters occur only inside JSON strings, where the escape means the same
            // character.
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                safe += &format!("\\u{:04x}", u32::from(c));
            }
            c => safe.push(c),
        }
    }
    safe
}

/// Escapes text for a chart, because plotly reads `<b>`, `<a href>` and entities in names and
/// labels.
pub(super) fn chart_text(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn a_script_cannot_be_left() {
        let value = json!({"</script>": "<!--<script>\u{2028}&"});
        assert_eq!(
            json_for_script(&value),
            r#"{"\u003c/script\u003e":"\u003c!--\u003cscript\u003e\u2028\u0026"}"#
        );
    }

    #[test]
    fn plotly_sees_text_not_markup() {
        assert_eq!(chart_text("<b>&amp;"), "&lt;b&gt;&amp;amp;");
    }

    proptest! {
        #[test]
        fn the_value_stays_the_same(text in any::<String>()) {
            let value = json!([text, {"k": text}]);
            let escaped = json_for_script(&value);
            let unsafe_in_script = ['<', '>', '&', '\u{2028}', '\u{2029}'];
            prop_assert!(!escaped.contains(unsafe_in_script));
            prop_assert_eq!(serde_json::from_str::<Value>(&escaped).expect("still JSON"), value);
        }
    }
}
