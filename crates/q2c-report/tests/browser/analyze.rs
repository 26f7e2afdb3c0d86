//! Tests the page of a trace's analysis in a browser.

use crate::fixture;
use serde_json::json;

#[test]
fn an_analysis_is_drawn_in_every_view() {
    let mut page = open!(fixture::analyze());
    // The charts have: three stages; a heat map; in flight and IOPS; reads and writes as lines and
    // as maps; four stages and Q2C without Q2Q; bars and the mean; three stages and the
    // completions. A chart with one view has no buttons.
    page.assert_charts(&[
        ("stages", Some(0), 3),
        ("stages", Some(1), 3),
        ("latency", None, 1),
        ("in-flight", None, 2),
        ("throughput", Some(0), 2),
        ("throughput", Some(1), 2),
        ("offsets-0", None, 2),
        ("percentiles", Some(0), 4),
        ("percentiles", Some(1), 2),
        ("queues", Some(0), 2),
        ("queues", Some(1), 1),
        ("excerpts", Some(0), 4),
        ("excerpts", Some(1), 4),
    ]);
}

#[test]
fn an_io_s_stages_stand_where_its_times_are() {
    let mut page = open!(fixture::analyze());
    // The second I/O, on CPU 1, is queued at 10 us, waits 20 us for its request, 1 us for the
    // driver, and takes 30 us.
    let pieces = page.plotted(
        "excerpts",
        "p.data.filter((t) => t.mode === 'lines').map((t) => [t.name, t.x[3], t.x[4], t.x[5]])",
    );
    let wanted = [("Q2G", 10, 30), ("G2D", 30, 31), ("D2C", 31, 61)];
    let wanted = wanted.map(|(stage, from, to)| json!([stage, from, to, null]));
    assert_eq!(pieces, json!(wanted));
    // Each of the two CPUs has three I/Os at once, which take rows 0 to 2 and 4 to 6. The row
    // between them stays free.
    let lanes = page.of_plot(
        "excerpts",
        "[p.layout.yaxis.ticktext, p.layout.yaxis.tickvals, Math.max(...p.data[0].y)]",
    );
    assert_eq!(lanes, json!([["CPU 0", "CPU 1"], [0, 4], 6]));
}

/// The time axis of all charts, by chart id, and the zoomed range of each.
const TIMES: &str = "[...document.querySelectorAll('[data-state=drawn] .plot')]
    .map((p) => [p.closest('[data-chart]').dataset.chart, p.layout.xaxis])
    .map(([id, x]) => [id, x.autorange ? 'all' : x.range.join()])";

/// If a reader zooms the throughput, all charts over time follow, also those that are drawn later;
/// charts over another axis do not.
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
    // A change of the colour scheme draws the charts anew.
    page.prefer_scheme("dark");
    page.evaluate("new Promise((done) => setTimeout(done, 500))");
    page.wait_for_value(&of_wanted, &wanted(zoomed));
    let map = "document.querySelector('[data-chart=offsets-0] .plot')";
    let whole = "{'xaxis.autorange': true}";
    page.evaluate(&format!("Plotly.relayout({map}, {whole}).then(() => null)"));
    page.wait_for_value(&of_wanted, &wanted("all"));
}

/// Reads stand above writes, each in the range and window that the fixture gives: the first read at
/// 20 GiB, and 40 writes in 40 ranges.
#[test]
fn the_map_has_reads_and_writes_where_they_begin() {
    let mut page = open!(fixture::analyze());
    let map = page.plotted(
        "offsets-0",
        "((reads, writes) => [reads.y0, reads.dy, reads.z[20][0], reads.z[29][9],
            ...[reads, writes].map((map) => map.z.flat().reduce((sum, n) => sum + (n ?? 0), 0)),
            writes.yaxis, writes.z.flat().every((n) => n === 1)])(...p.data)",
    );
    assert_eq!(map, json!([0.5, 1, 60, 60, 600, 400, "y2", true]));
}

#[test]
fn few_ios_are_dots_and_are_counted() {
    let mut page = open!(fixture::analyze_few());
    let dots = "p.data.map((t) => [t.name, t.x.length, t.x[1], t.y[1]])";
    let dots = page.plotted("offsets-0", dots);
    // The second read is the third I/O: sector 16 is at 8 KiB, 20 us after the first.
    let wanted = json!([["reads", 24, 2e-5, 8], ["writes", 13, 3e-5, 12]]);
    assert_eq!(dots, wanted);
    let notes = page.evaluate(
        "[...document.querySelectorAll('[data-chart] figcaption p')]
            .filter((p) => !p.textContent.endsWith(' Of 37 I/Os.')).length",
    );
    assert_eq!(notes, json!(0));
}
