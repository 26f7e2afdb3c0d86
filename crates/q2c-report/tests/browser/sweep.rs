//! Tests the page of a sweep in a browser.

use crate::fixture;
use crate::page::BrowserPage;
use q2c_report::Reported;
use serde_json::json;

#[test]
fn a_sweep_is_drawn() {
    let mut page = open!(fixture::sweep());
    // The front's chart has two rules, front, best, oracle and poll. There is one map with its
    // crosses and no ring, because the best cell is not a `min`.
    let charts = [("pareto", 6), ("heat-map", 2)];
    for trace in 0..2 {
        for (chart, traces) in charts {
            let plot = page.scroll_to(&format!("{chart}-{trace}"));
            assert_eq!(plot["traces"], json!(traces), "{chart}: {plot}");
            assert_eq!(plot["broken"], json!(0), "{chart}: {plot}");
        }
    }
    let line = page.scroll_to("timeline-0");
    // The traces are: in time, missed, asked, observed.
    assert_eq!(
        (&line["traces"], &line["groups"]),
        (&json!(4), &json!(4)),
        "{line}"
    );
    assert_eq!(page.evaluate("window.ran === undefined"), json!(true));
    page.assert_quiet();
}

/// Twelve rules have twelve colours, and the colours of a map span the cells that keep the limits:
/// 18 to 22 KIOPS/core, not the 100 of those that do not.
#[test]
fn rules_are_told_apart_and_colours_span_what_may_be_chosen() {
    let html = fixture::sweep_rules()
        .document()
        .page()
        .expect("make the page");
    assert!(!html.contains("measured"), "a sweep measures nothing");
    let Some(mut page) = BrowserPage::open_html(&html) else {
        return;
    };
    page.scroll_to("pareto-0");
    let colours = page.evaluate(
        "(() => { const rules = document.querySelector('[data-chart=pareto-0] .plot').data
            .filter((t) => t.name.startsWith('simulated:'));
          return [rules.length, new Set(rules.map((t) => t.marker.color)).size,
            rules.every((t) => t.marker.color.startsWith('rgb'))]; })()",
    );
    assert_eq!(colours, json!([12, 12, true]));
    page.scroll_to("heat-map-0");
    let span = page.evaluate(
        "(() => { const p = document.querySelector('[data-chart=heat-map-0] .plot');
          const crosses = p.data.filter((t) => t.marker?.symbol === 'x');
          return [p.layout.coloraxis.cmin, p.layout.coloraxis.cmax,
            crosses.map((t) => t.x.length)]; })()",
    );
    assert_eq!(span, json!([18, 22, [14, 14]]));
    page.assert_quiet();
}
