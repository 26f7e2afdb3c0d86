//! Tests the page of a sweep in a browser.

use crate::fixture;
use crate::page::BrowserPage;
use q2c_report::Reported;
use serde_json::json;

#[test]
fn a_sweep_is_drawn() {
    let mut page = open!(fixture::sweep());
    // The front's chart has two rules, front, best, oracle and poll. There is one map with its
    // crosses but without a ring, because the best cell is not a `min`.
    let charts = [("pareto", 6), ("heat-map", 2)];
    for trace in 0..2 {
        for (chart, traces) in charts {
            page.assert_drawn(&format!("{chart}-{trace}"), None, traces);
        }
    }
    // The traces are: in time, missed, asked, observed.
    page.assert_drawn("timeline-0", None, 4);
    assert_eq!(page.evaluate("window.ran === undefined"), json!(true));
}

/// Twelve rules have twelve colours. The colours of a map span the cells that keep the limits, 18
/// to 22 KIOPS/core, and leave out the 100 of the others.
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
    let colours = page.plotted(
        "pareto-0",
        "((colours) => [colours.length, new Set(colours).size, colours.every((c) => c.startsWith('rgb'))])(
          p.data.filter((t) => t.name.startsWith('simulated:')).map((t) => t.marker.color))",
    );
    assert_eq!(colours, json!([12, 12, true]));
    let span = page.plotted(
        "heat-map-0",
        "[p.layout.coloraxis.cmin, p.layout.coloraxis.cmax,
          p.data.filter((t) => t.marker?.symbol === 'x').map((t) => t.x.length)]",
    );
    assert_eq!(span, json!([18, 22, [14, 14]]));
}
