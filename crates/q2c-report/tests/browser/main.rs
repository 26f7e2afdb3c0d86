//! Opens reports in a real browser. Every chart must be drawn, the browser must not complain,
//! nothing may be loaded, and no string from outside may take effect.
//!
//! Without Chromium the tests are counted as skipped; if the variable `CI` is `true`, they fail
//! instead.

/// Opens the page of a result; without a browser it ends the test.
macro_rules! open {
    ($result:expr) => {
        match $crate::page::BrowserPage::open(&$result) {
            Some(page) => page,
            None => return,
        }
    };
}

mod analyze;
mod bench;
mod chromium;
mod devtools;
#[path = "../fixture/mod.rs"]
mod fixture;
mod page;
mod replay;
mod screens;
mod sweep;
mod tune_jobs;

use q2c_result::tune::TuneResult;
use serde_json::json;

/// Charts of one block size of the fixture, and the number of traces in each.
const CHARTS: [(&str, u64); 12] = [
    // Two rules, the front, the best, the oracle, simulated poll, and seven measured cells.
    ("pareto", 13),
    // Seven lines above, the five sleeping cells below.
    ("over-time", 12),
    // Asked, slept and missed for five cells.
    ("sleep-over-time", 15),
    // Five parts, and the misses with and without a request beside them.
    ("late-time-0", 8),
    ("latency", 7),
    // Two maps, the crosses of both, one ring.
    ("heat-map", 5),
    // Two rows of dots; the model's p50 and p99, clear and hit.
    ("wake-delay", 6),
    ("sleep-cpu", 3),
    ("sleep-latency", 2),
    // Five sleeping cells and the diagonal.
    ("fidelity-iops", 6),
    ("fidelity-cpu", 6),
    ("fidelity-miss", 6),
];

#[test]
fn every_chart_is_drawn() {
    let mut page = open!(fixture::tune());
    assert!(page.count_drawn() < 2 * CHARTS.len(), "folded charts wait");
    page.unfold();
    for size in ["4096", "65536"] {
        for (chart, traces) in CHARTS {
            let plot = page.assert_drawn(&format!("{chart}-{size}"), None, traces);
            assert!(plot["marks"].as_u64() >= Some(traces), "{chart}: {plot}");
        }
    }
    assert_eq!(page.count_drawn(), 2 * CHARTS.len());
}

#[test]
fn every_view_of_a_chart_is_drawn() {
    let mut page = open!(fixture::tune());
    let latencies = [("mean latency, us", 12), ("p99 latency, us", 12)];
    let views = [[("KIOPS", 12), ("CPU, % of one", 12)], latencies].concat();
    page.assert_views("over-time-4096", &views);
    page.assert_views("latency-4096", &[("quantile", 7), ("share of I/Os, %", 7)]);
    for (index, title) in ["KIOPS<br>per core", "miss, %", "KIOPS", "CPU, %"]
        .into_iter()
        .enumerate()
    {
        let plot = page.show_view("heat-map-4096", index);
        assert_eq!(plot["colour"], json!(title), "{plot}");
    }
}

#[test]
fn charts_show_the_measured_numbers() {
    let mut page = open!(fixture::tune());
    // The fixture's row has 12.11 KIOPS (from -1.4 % to +1.12 %) at 43.0 % CPU.
    let chosen = page.plotted(
        "pareto-4096",
        "p.data.filter((t) => t.name === 'hybrid min:ratio=85%,period=10ms')
            .flatMap((t) => [t.x[0], t.y[0], t.error_y.arrayminus[0], t.error_y.array[0]])",
    );
    let numbers: Vec<f64> = serde_json::from_value(chosen).expect("four numbers");
    for (number, expected) in numbers.iter().zip([43.0, 12.11, 0.16954, 0.135_63]) {
        assert!((number - expected).abs() < 1e-4, "{numbers:?}");
    }
}

/// The fixture's device is slow in the fourth interval, and its sleep is too long in the eighth.
/// The areas show which, with the fixture's numbers, and the points below are the misses. The kept
/// text of the page has the sentence.
#[test]
fn late_time_tells_the_sleep_from_the_device() {
    let mut page = open!(fixture::tune());
    let drawn = page.plotted(
        "late-time-0-4096",
        "[['device', 'oversleep'].map((name) => p.data.find((t) => t.name === name).y)
            .map((y) => [y[3], y[7]]),
          p.data.filter((t) => t.stackgroup).length,
          p.data.filter((t) => t.name.startsWith('miss, ')).map((t) => [t.name, t.x.length])]",
    );
    let misses = json!([
        ["miss, alone on the device", 225],
        ["miss, beside others", 75]
    ]);
    assert_eq!(drawn, json!([[[300, 70], [3, 135]], 6, misses]));
}

#[test]
fn the_dark_scheme_reaches_the_charts() {
    let mut page = open!(fixture::tune());
    page.scroll_to("pareto-4096");
    let colours = "(() => { const p = document.querySelector('[data-chart=pareto-4096] .plot');
        return [p.layout.font.color, getComputedStyle(document.body).color,
                p.data.find((t) => t.name === 'poll').marker.color]; })()";
    // The colours are `--ink` and `--poll` of the style sheet in both schemes.
    let [ink, pale] = ["rgb(28, 36, 48)", "rgb(228, 232, 238)"];
    let light = json!([ink, ink, "rgb(212, 88, 10)"]);
    page.wait_for_value(colours, &light);
    page.prefer_scheme("dark");
    page.wait_for_value(colours, &json!([pale, pale, "rgb(255, 154, 82)"]));
    page.click("#scheme");
    page.wait_for_value(colours, &light);
}

#[test]
fn strings_from_outside_are_text() {
    let mut page = open!(fixture::tune_hostile());
    page.unfold();
    let text = page.evaluate("document.body.textContent");
    let text = text.as_str().expect("the page's text");
    for hostile in [fixture::SCRIPT, fixture::BREAKOUT, fixture::QUOTES] {
        assert!(text.contains(hostile), "not shown as it is: {hostile:?}");
    }
    assert_eq!(page.evaluate("document.images.length"), json!(0));
    assert_eq!(page.evaluate("document.scripts.length"), json!(3));
    for (chart, _) in CHARTS {
        page.scroll_to(&format!("{chart}-4096"));
    }
}

/// The words that qualify the numbers of these results are in the kept text of the page.
#[test]
fn no_string_is_obeyed() {
    open!(fixture::bench()).assert_says(&[fixture::RAN]);
    open!(fixture::analyze()).assert_says(&[fixture::RAN]);
    open!(fixture::compare()).assert_says(&[fixture::RAN]);
}

#[test]
fn a_script_that_got_in_could_not_run() {
    let mut page = open!(fixture::tune());
    let ran = page.evaluate(
        "(() => { const s = document.createElement('script'); s.textContent = 'window.ran = true';
          document.body.append(s); return window.ran === true; })()",
    );
    assert_eq!(ran, json!(false));
    let loaded =
        page.evaluate("fetch('http://127.0.0.1:9/').then(() => 'loaded', () => 'refused')");
    assert_eq!(loaded, json!("refused"));
    let complaints = page.complaints();
    let by_policy = complaints.iter();
    let by_policy = by_policy.filter(|c| c.contains("Content Security Policy"));
    assert!(by_policy.count() >= 2, "{complaints:?}");
}

#[test]
fn a_result_with_nothing_in_it_opens() {
    let full = fixture::tune();
    let mut page = open!(TuneResult {
        complete: false,
        calibration: vec![],
        cells: vec![],
        sweeps: vec![],
        recommendation: vec![],
        ..full
    });
    page.assert_says(&["incomplete:", "Nothing was measured at this block size."]);
}
