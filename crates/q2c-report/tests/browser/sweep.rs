//! Tests the page of a sweep in a browser.

#[path = "../fixture/sweep.rs"]
pub mod sweep_fixture;

use crate::page::Page;
use serde_json::json;

#[test]
fn a_sweep_is_drawn() {
    let html = q2c_report::html::sweep(&sweep_fixture::result()).expect("make the page");
    let Some(mut page) = Page::open_html("a_sweep_is_drawn", &html) else {
        return;
    };
    // The front's chart has two rules, front, best, oracle and poll. There is one map with its
    // crosses and no ring, because the best cell is not a `min`.
    let charts = [("pareto", 6), ("heat-map", 2)];
    for trace in 0..2 {
        page.click(&format!("#tab-{trace}"));
        for (chart, traces) in charts {
            let plot = page.scroll_to(&format!("{chart}-{trace}"));
            assert_eq!(plot["traces"], json!(traces), "{chart}: {plot}");
            assert_eq!(plot["broken"], json!(0), "{chart}: {plot}");
        }
    }
    page.click("#tab-0");
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
