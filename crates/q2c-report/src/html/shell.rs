//! What every page has: scripts, style, head line, and the data of its charts.

use super::figure::figures;
use super::plotly;
use crate::plot::Plot;
use serde_json::Value;

const STYLE: &str = include_str!("../../assets/report.css");
const SCRIPT: &str = include_str!("../../assets/report.js");

/// What the base template fills in for any result.
pub(super) struct Shell {
    pub policy: String,
    pub style: &'static str,
    /// The chart library, packed.
    pub library: String,
    pub script: &'static str,
    /// The command that the result is of, as it is typed behind `q2c`.
    pub command: &'static str,
    /// The plots' figures by their ids, as JSON, packed.
    pub figures: String,
    /// The line below the title: what was measured or read.
    pub job: String,
}

impl Shell {
    pub(crate) fn new<'a>(
        command: &'static str,
        job: String,
        plots: impl Iterator<Item = &'a Plot>,
    ) -> Self {
        let figures: Value = plots.map(|plot| (plot.id.clone(), figures(plot))).collect();
        Shell {
            policy: policy(),
            style: STYLE,
            library: plotly::library(),
            script: SCRIPT,
            command,
            figures: plotly::packed(figures.to_string().as_bytes()),
            job,
        }
    }
}

/// The page's Content-Security-Policy: no network, and no script but the two that belong to the
/// page.
fn policy() -> String {
    // Inline styles and images are allowed because plotly puts its own style sheet into the page
    // and makes pictures for "download as PNG".
    format!(
        "default-src 'none'; script-src {} {}; style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; \
         form-action 'none'",
        plotly::HASH,
        plotly::csp_hash(SCRIPT)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_policy_lets_nothing_in() {
        let policy = policy();
        assert!(policy.starts_with("default-src 'none';"));
        assert!(
            !policy.contains("http") && !policy.contains('*') && !policy.contains("unsafe-eval")
        );
        assert!(!policy.contains("script-src 'unsafe-inline'"));
    }
}
