//! Tests the page of a trace's analysis in a browser.

use crate::fixture;
use serde_json::json;

#[test]
fn an_analysis_is_drawn_in_every_view() {
    let mut page = open!(fixture::analyze());
    // By chart: three stages; a heat map; in flight and IOPS; reads and writes, as lines and as
    // maps; four stages and Q2C but not Q2Q; bars
    // and the mean; three stages and the completions.
    for (chart, view, traces) in [
        ("stages", 0, 3),
        ("stages", 1, 3),
        ("latency", 0, 1),
        ("in-flight", 0, 2),
        ("throughput", 0, 2),
        ("throughput", 1, 2),
        ("offsets-0", 0, 2),
        ("percentiles", 0, 4),
        ("percentiles", 1, 2),
        ("queues", 0, 2),
        ("queues", 1, 1),
        ("excerpts", 0, 4),
        ("excerpts", 1, 4),
    ] {
        // A chart with one view has no buttons.
        let plot = if ["latency", "in-flight", "offsets-0"].contains(&chart) {
            page.scroll_to(chart)
        } else {
            page.show_view(chart, view)
        };
        assert_eq!(plot["traces"], json!(traces), "{chart} {view}: {plot}");
        assert_eq!(plot["broken"], json!(0), "{chart} {view}: {plot}");
    }
    page.assert_quiet();
}

#[test]
fn an_io_s_stages_stand_where_its_times_are() {
    let mut page = open!(fixture::analyze());
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
    let mut page = open!(fixture::analyze());
    // Warnings are in one line that opens.
    let text =
        page.evaluate("document.querySelector('.warnings').open = true, document.body.innerText");
    let text = text.as_str().expect("the page's text");
    for said in [
        "Q2G, 60.0 % of the time from queued to complete (Q2C), before the device: all requests in use",
        "uneven over 4 hardware queues",
        "Where does the time between Q and C go?",
        "warning lost-events",
        fixture::RAN,
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
    assert_eq!(page.evaluate("window.ran === undefined"), json!(true));
    assert_eq!(page.evaluate("document.scripts.length"), json!(3));
    page.assert_quiet();
}

/// The axis of time of all charts of the page, by their ids, and whether it is zoomed.
const TIMES: &str = "[...document.querySelectorAll('[data-state=drawn] .plot')]
    .map((p) => [p.closest('[data-chart]').dataset.chart, p.layout.xaxis])
    .map(([id, x]) => [id, x.autorange ? 'all' : x.range.join()])";

/// Who zooms the throughput sees the same time in the other charts over it, also in those that are
/// drawn later, and not in those over something else.
#[test]
fn charts_over_the_same_time_zoom_together() {
    let mut page = open!(fixture::analyze());
    for chart in ["stages", "throughput", "percentiles", "excerpts"] {
        page.scroll_to(chart);
    }
    let throughput = "document.querySelector('[data-chart=throughput] .plot')";
    page.evaluate(&format!(
        "Plotly.relayout({throughput}, {{'xaxis.range[0]': 0.002, 'xaxis.range[1]': 0.004}}).then(() => null)"
    ));
    for later in ["latency", "in-flight", "offsets-0"] {
        page.scroll_to(later);
    }
    let zoomed = "0.002,0.004";
    let wanted = |time: &str| {
        json!([
            ["stages", time],
            ["latency", time],
            ["in-flight", time],
            ["throughput", time],
            ["offsets-0", time],
            ["percentiles", "all"],
            ["excerpts", "all"]
        ])
    };
    let of_wanted = format!("{TIMES}.filter(([id]) => id !== 'queues')");
    page.wait_for_value(&of_wanted, &wanted(zoomed));
    // Another scheme draws the charts anew.
    page.prefer_scheme("dark");
    page.evaluate("new Promise((done) => setTimeout(done, 500))");
    page.wait_for_value(&of_wanted, &wanted(zoomed));
    let map = "document.querySelector('[data-chart=offsets-0] .plot')";
    page.evaluate(&format!(
        "Plotly.relayout({map}, {{'xaxis.autorange': true}}).then(() => null)"
    ));
    page.wait_for_value(&of_wanted, &wanted("all"));
    page.assert_quiet();
}

/// Reads stand above writes, each in the range and window of the fixture: the first read at 20 GiB,
/// and 40 writes in 40 ranges.
#[test]
fn the_map_has_reads_and_writes_where_they_begin() {
    let mut page = open!(fixture::analyze());
    page.scroll_to("offsets-0");
    let map = page.evaluate(
        "(() => { const [reads, writes] = document.querySelector('[data-chart=offsets-0] .plot').data;
          const sum = (z) => z.flat().reduce((sum, n) => sum + (n ?? 0), 0);
          return [reads.y0, reads.dy, reads.z[20][0], reads.z[29][9], sum(reads.z), sum(writes.z),
            writes.yaxis, writes.z.every((row) => row.every((n) => n === 1))]; })()",
    );
    assert_eq!(map, json!([0.5, 1, 60, 60, 600, 400, "y2", true]));
    page.assert_quiet();
}

#[test]
fn few_ios_are_dots_and_are_counted() {
    let mut page = open!(fixture::analyze_few());
    page.scroll_to("offsets-0");
    let dots = page.evaluate(
        "document.querySelector('[data-chart=offsets-0] .plot').data
            .map((t) => [t.name, t.x.length, t.x[1], t.y[1]])",
    );
    // The second read is the third I/O: sector 16 is at 8 KiB, 20 us after the first.
    assert_eq!(
        dots,
        json!([["reads", 24, 2e-5, 8], ["writes", 13, 3e-5, 12]])
    );
    let notes = page.evaluate(
        "[...document.querySelectorAll('[data-chart] figcaption p')]
            .filter((p) => !p.textContent.endsWith(' Of 37 I/Os.')).length",
    );
    assert_eq!(notes, json!(0));
    page.assert_quiet();
}
