//! Tests the pages of a replay and of a comparison of devices in a browser.

use crate::fixture;
use crate::page::BrowserPage;
use serde_json::{Value, json};

/// Asserts the number of traces of charts and views. The view is `None` for a chart with one view,
/// which has no buttons.
fn assert_drawn(page: &mut BrowserPage, charts: &[(&str, Option<usize>, u64)]) {
    for (chart, view, traces) in charts {
        let plot = match view {
            Some(view) => page.show_view(chart, *view),
            None => page.scroll_to(chart),
        };
        assert_eq!(plot["traces"], json!(traces), "{chart} {view:?}: {plot}");
        assert_eq!(plot["groups"], json!(traces), "{chart} {view:?}: {plot}");
        assert_eq!(plot["broken"], json!(0), "{chart} {view:?}: {plot}");
    }
    page.assert_quiet();
}

#[test]
fn a_replay_is_drawn_in_every_view() {
    let mut page = open!(fixture::replay());
    // Latency has U2C, U2C from the intended time and Q2C; the others have the recording and the
    // replay, or the replay.
    let charts = [
        ("latency", Some(0), 3),
        ("latency", Some(1), 3),
        ("in-flight", Some(0), 2),
        ("in-flight", Some(1), 2),
        ("iops", Some(0), 2),
        ("lateness", None, 1),
    ];
    assert_drawn(&mut page, &charts);
}

#[test]
fn a_replay_whose_times_do_not_count_is_drawn_alone() {
    let mut page = open!(fixture::replay_outstanding());
    // U2C from the intended time is the same as U2C, and the recording's windows are not known.
    let charts = [
        ("latency", Some(0), 2),
        ("in-flight", Some(0), 1),
        ("iops", Some(0), 1),
    ];
    assert_drawn(&mut page, &charts);
    assert_eq!(page.drawn(), 3);
}

/// U2C and Q2C of two devices for two traces in two modes, and no chart over time.
#[test]
fn several_comparisons_are_drawn_by_their_latencies() {
    let mut page = open!(fixture::compare_published());
    let latency = page.show_view("latency", 0);
    assert_eq!(latency["traces"], json!(16), "{latency}");
    assert_eq!(page.drawn(), 1);
    page.assert_quiet();
}

#[test]
fn a_comparison_is_drawn_with_a_line_for_each_device() {
    let mut page = open!(fixture::compare());
    // Two of three devices have a trial to show. Latency has U2C and Q2C of each; the others have
    // both devices and the recording, or both devices.
    let charts = [
        ("latency", Some(0), 4),
        ("latency", Some(1), 4),
        ("in-flight", Some(0), 3),
        ("iops", Some(1), 3),
        ("lateness", None, 2),
    ];
    assert_drawn(&mut page, &charts);
}

#[test]
fn a_comparison_shows_the_numbers_it_was_given() {
    let mut page = open!(fixture::compare());
    page.scroll_to("in-flight");
    page.scroll_to("latency");
    let values_of = |page: &mut BrowserPage, chart: &str, expression: &str| -> Vec<Value> {
        let script = format!(
            "document.querySelector('[data-chart={chart}] .plot').data.map((t) => {expression})"
        );
        serde_json::from_value(page.evaluate(&script)).expect("an array")
    };
    // The first second has 413 requests, which take 4 ms in the recording, 90 us and 18 us on the
    // devices.
    let first = values_of(&mut page, "in-flight", "[t.name, t.x[0], t.y[0]]");
    let expected = [
        json!(["recorded", 0.5, 1.652]),
        json!(["/dev/nvme0n1", 0.5, 0.03717]),
        json!(["/dev/zram0", 0.5, 0.007_434]),
    ];
    assert_eq!(first, expected);
    // The median of an exponential distribution is its mean x ln 2: of 90, 85, 18 and 13 us.
    let medians = values_of(&mut page, "latency", "[t.name, t.text[50], t.x[50]]");
    let expected = [
        json!(["/dev/nvme0n1 U2C", "p50", 62.383]),
        json!(["/dev/nvme0n1 Q2C", "p50", 58.918]),
        json!(["/dev/zram0 U2C", "p50", 12.477]),
        json!(["/dev/zram0 Q2C", "p50", 9.0109]),
    ];
    assert_eq!(medians, expected);
    page.assert_quiet();
}

#[test]
fn the_answer_is_on_the_page_and_no_string_is_obeyed() {
    let mut page = open!(fixture::compare());
    // Warnings are in one line that opens.
    let text =
        page.evaluate("document.querySelector('.warnings').open = true, document.body.innerText");
    let text = text.as_str().expect("the page's text");
    for said in [
        "completion time cannot tell (ratio 1.0000): \
         the trace leaves /dev/nvme0n1 idle 19 % and /dev/zram0 19 % of the time",
        "/dev/zram0: trial 5 is invalid: \
         the replayer was late by its own fault: 2.40 ms at the 99th percentile, where --max-lateness allows 1 ms",
        "a trial failed: open it: no such device",
        "warning interrupts-while-polling",
        fixture::RAN,
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
    assert_eq!(page.evaluate("window.ran === undefined"), json!(true));
    assert_eq!(page.evaluate("document.scripts.length"), json!(3));
    page.assert_quiet();
}

#[test]
fn a_saturated_device_is_a_finding() {
    let mut page = open!(fixture::replay_saturated());
    let notices = page.evaluate(
        "[...document.querySelectorAll('.notice.caution')].map((notice) => notice.textContent)",
    );
    let notices = notices.to_string();
    let finding =
        "18\u{202f}204 requests waited in all 6 min 53 s for a free place; a finding, not a fault";
    assert!(notices.contains(finding), "{notices}");
    page.scroll_to("lateness");
    // The lateness is 10.4 s at the end; the chart has microseconds.
    let last =
        page.evaluate("document.querySelector('[data-chart=lateness] .plot').data[0].y.at(-1)");
    assert_eq!(last, json!(10_400_000));
    page.assert_quiet();
}
