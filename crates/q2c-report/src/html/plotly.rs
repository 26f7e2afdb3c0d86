//! The chart library as text, and the hash by which the browser's policy admits it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use plotly::Plot;
use sha2::{Digest, Sha256};
use std::sync::LazyLock;

/// The text of plotly.js, without the formula renderer that the crate puts beside it.
///
/// # Panics
/// When the crate hands out its scripts in another form than expected; the tests see that first.
pub(super) static SCRIPT: LazyLock<String> = LazyLock::new(|| {
    let sources = Plot::offline_js_sources();
    sources
        .split("</script>")
        .filter_map(|element| element.split_once('>').map(|(_, script)| script))
        .find(|script| script.trim_start().starts_with("/**\n* plotly.js"))
        .expect("plotly.js among the plotly crate's scripts")
        .to_owned()
});

/// The name by which a Content-Security-Policy admits a script of exactly this text.
pub(super) fn csp_hash(script: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(script)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_plotly_alone() {
        assert!(SCRIPT.contains("plotly.js v"));
        assert!(!SCRIPT.contains("</script"), "would end its element");
        assert!(!SCRIPT.contains("MathJax-Extension"), "no formula renderer");
    }

    #[test]
    fn the_hash_is_that_of_the_specification() {
        // The hash is the example of the W3C's Content Security Policy Level 3, in the section on
        // hash usage.
        assert_eq!(
            csp_hash("alert('Hello, world.');"),
            "'sha256-qznLcsROx4GACP2dm0UCKCzCG+HiZ1guq6ZZDob/Tng='"
        );
    }
}
