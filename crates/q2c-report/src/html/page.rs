//! The page of `q2c tune`, and the parts that all pages share.

use super::chart::{self, Chart};
use super::checks::{self, CheckRow};
use super::facts::{self, Fact};
use super::results::{self, Results};
use super::summary::{self, Advice, Trust};
use super::{escape, plotly};
use crate::label;
use crate::mode::{self, Kept};
use crate::quantity;
use askama::Template;
use q2c_model::Bytes;
use q2c_result::Warning;
use q2c_result::tune::TuneResult;
use serde_json::Value;
use std::time::{Duration, UNIX_EPOCH};
use thiserror::Error;

pub(super) const STYLE: &str = include_str!("../../assets/report.css");
pub(super) const SCRIPT: &str = include_str!("../../assets/report.js");

/// The error of a page that could not be made.
#[derive(Debug, Error)]
#[error("fill the report's template: {0}")]
pub struct RenderError(#[from] askama::Error);

/// The part of the page on one block size.
struct Panel {
    /// Block size in bytes, which is part of the elements' ids.
    id: u64,
    /// Block size as shown: `4 KiB`.
    name: String,
    results: Results,
    charts: Vec<Chart>,
    calibration: Vec<Fact>,
}

#[derive(Template)]
#[template(path = "report.html")]
struct Page<'a> {
    result: &'a TuneResult,
    policy: String,
    style: &'static str,
    plotly: &'static str,
    script: &'static str,
    command: &'static str,
    figures: String,
    job: String,
    started: String,
    took: String,
    advice: Vec<Advice>,
    /// The corrections that the trials made to the calibrated costs, a sentence for each block
    /// size.
    lessons: Vec<String>,
    trust: Vec<Trust>,
    fallbacks: Vec<String>,
    warnings: &'a [Warning],
    panels: Vec<Panel>,
    machine: Vec<Fact>,
    target: Vec<Fact>,
    checks: Vec<CheckRow<'a>>,
}

/// Makes the page of `q2c tune`. It has about 5 MB, most of which is the chart library.
///
/// # Errors
/// A template could not be filled; its types leave no way for that.
pub fn tune(result: &TuneResult) -> Result<String, RenderError> {
    let sizes = chart::block_sizes(result);
    let panels: Vec<Panel> = sizes.iter().map(|&bs| panel(result, bs)).collect();
    let page = Page {
        policy: policy(),
        style: STYLE,
        plotly: &plotly::SCRIPT,
        script: SCRIPT,
        command: "tune",
        figures: figures(&panels),
        job: label::job(result),
        started: started(result.started_unix_s),
        took: quantity::seconds(result.seconds),
        advice: summary::advice(result),
        lessons: summary::lessons(result),
        trust: summary::trust(result),
        fallbacks: fallbacks(result),
        warnings: &result.warnings,
        panels,
        machine: facts::machine(&result.machine),
        target: facts::target(&result.target),
        checks: checks::rows(&result.doctor),
        result,
    };
    Ok(page.render()?)
}

fn panel(result: &TuneResult, bs: Bytes) -> Panel {
    let calibration = result.calibration.iter().find(|c| c.bs == bs);
    Panel {
        id: bs.0,
        name: bs.to_string(),
        results: results::of(result, bs),
        charts: chart::of_block_size(result, bs),
        calibration: calibration.map_or_else(Vec::new, facts::calibration),
    }
}

/// The figures of all panels by their chart's id, as JSON that is harmless inside a `<script>`.
fn figures(panels: &[Panel]) -> String {
    figures_of(panels.iter().flat_map(|panel| &panel.charts))
}

pub(super) fn figures_of<'a>(charts: impl Iterator<Item = &'a Chart>) -> String {
    let figures: Value = charts
        .map(|chart| (chart.id.clone(), chart.figures()))
        .collect();
    escape::json_for_script(&figures)
}

/// The page's Content-Security-Policy: no network, and no script but the two that belong to the
/// page.
pub(super) fn policy() -> String {
    // Inline styles and images are allowed because plotly puts its own style sheet into the page
    // and makes pictures for "download as PNG".
    format!(
        "default-src 'none'; script-src {} {}; style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; \
         form-action 'none'",
        plotly::csp_hash(&plotly::SCRIPT),
        plotly::csp_hash(SCRIPT)
    )
}

/// The start as `2026-01-01 00:00 UTC`; after the year 9999 as seconds since 1970.
pub(super) fn started(unix_s: u64) -> String {
    const END_OF_YEAR_9999: u64 = 253_402_300_799;
    if unix_s > END_OF_YEAR_9999 {
        return format!("{unix_s} s after 1970");
    }
    let time =
        humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_secs(unix_s)).to_string();
    format!(
        "{} UTC",
        time.replace('T', " ")
            .trim_end_matches(":00Z")
            .trim_end_matches('Z')
    )
}

/// A sentence for each cell that ran another method than was asked for.
fn fallbacks(result: &TuneResult) -> Vec<String> {
    let differs = result
        .cells
        .iter()
        .filter(|cell| mode::kept(&cell.effective_mode) == Kept::Differs);
    let told = |cell: &q2c_result::tune::Cell| {
        let mode = &cell.effective_mode;
        format!(
            "{} {}: asked {}, was {} ({})",
            cell.bs,
            label::cell(cell),
            mode.asked,
            mode::words(&mode.was),
            label::proof(mode)
        )
    };
    differs.map(told).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_is_a_date() {
        assert_eq!(started(1_767_225_600), "2026-01-01 00:00 UTC");
        assert_eq!(started(951_782_399), "2000-02-28 23:59:59 UTC");
        assert_eq!(started(u64::MAX), "18446744073709551615 s after 1970");
    }

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
