//! Tests the page of a trace's analysis in a browser.

#[path = "../fixture/analyze.rs"]
pub mod analyze_fixture;

use crate::page::Page;
use serde_json::json;

fn open(test: &str) -> Option<Page> {
    let html = q2c_report::html::analyze(&analyze_fixture::result()).expect("make the page");
    Page::open_html(test, &html)
}

#[test]
fn an_analysis_is_drawn_in_every_view() {
    let Some(mut page) = open("an_analysis_is_drawn_in_every_view") else {
        return;
    };
    // By chart: three stages; a heat map; in flight and IOPS; four stages and Q2C but not Q2Q; bars
    // and the mean; three stages and the completions.
    for (chart, view, traces) in [
        ("stages", 0, 3),
        ("stages", 1, 3),
        ("latency", 0, 1),
        ("in-flight", 0, 2),
        ("percentiles", 0, 4),
        ("percentiles", 1, 2),
        ("queues", 0, 2),
        ("queues", 1, 1),
        ("excerpts", 0, 4),
        ("excerpts", 1, 4),
    ] {
        // A chart with one view has no buttons.
        let plot = match ["latency", "in-flight"].contains(&chart) {
            true => page.scroll_to(chart),
            false => page.show_view(chart, view),
        };
        assert_eq!(plot["traces"], json!(traces), "{chart} {view}: {plot}");
        assert_eq!(plot["broken"], json!(0), "{chart} {view}: {plot}");
    }
    page.assert_quiet();
}

#[test]
fn an_io_s_stages_stand_where_its_times_are() {
    let Some(mut page) = open("an_io_s_stages_stand_where_its_times_are") else {
        return;
    };
    page.scroll_to("excerpts");
    // The second I/O, on CPU 1, is queued at 10 us, waits 20 us for its request, 1 us for the
    // driver, and takes 30 us.
    let pieces = page.evaluate(
        "document.querySelector('[data-chart=excerpts] .plot').data.filter((t) => t.mode === 'lines')
            .map((t) => [t.name, t.x[3], t.x[4], t.x[5]])",
    );
    assert_eq!(
        pieces,
        json!([
            ["Q2G", 10, 30, null],
            ["G2D", 30, 31, null],
            ["D2C", 31, 61, null]
        ])
    );
    // Two CPUs have three I/Os at once each: they take rows 0 to 2 and 4 to 6, with a free row
    // between.
    let lanes = page.evaluate(
        "(() => { const p = document.querySelector('[data-chart=excerpts] .plot');
          return [p.layout.yaxis.ticktext, p.layout.yaxis.tickvals, Math.max(...p.data[0].y)]; })()",
    );
    assert_eq!(lanes, json!([["CPU 0", "CPU 1"], [0, 4], 6]));
    page.assert_quiet();
}

#[test]
fn an_analysis_s_answers_are_on_the_page_and_no_string_is_obeyed() {
    let Some(mut page) = open("an_analysis_s_answers_are_on_the_page_and_no_string_is_obeyed")
    else {
        return;
    };
    let text = page.evaluate("document.body.innerText");
    let text = text.as_str().expect("the page's text");
    for said in [
        "Q2G (60.0 % of Q2C): all requests in use",
        "uneven over 4 hardware queues",
        "Where does the time between Q and C go?",
        "warning lost-events",
        analyze_fixture::HOSTILE,
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
    assert_eq!(page.evaluate("window.ran === undefined"), json!(true));
    assert_eq!(page.evaluate("document.scripts.length"), json!(3));
    page.assert_quiet();
}
