//! Making strings from outside harmless, each in the language it goes into.
//!
//! HTML text and attributes are escaped by the templates themselves; here is what they cannot know:
//! JSON inside a `<script>`, and plotly's own markup.

use serde_json::Value;

/// JSON that may stand inside a `<script>`: no markup, no line separator that JavaScript knows and JSON does not.
pub(super) fn json_for_script(value: &Value) -> String {
    let json = value.to_string();
    let mut safe = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            // These can stand only inside JSON strings, where the escape means the same.
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                safe += &format!("\\u{:04x}", u32::from(c));
            }
            c => safe.push(c),
        }
    }
    safe
}

/// Text for a chart: plotly reads `<b>`, `<a href>` and entities in names and labels.
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
