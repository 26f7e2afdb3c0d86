//! Makes strings from outside harmless for plotly's own markup. The templates escape HTML text and
//! attributes themselves.

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

    #[test]
    fn plotly_sees_text_not_markup() {
        assert_eq!(chart_text("<b>&amp;"), "&lt;b&gt;&amp;amp;");
    }
}
