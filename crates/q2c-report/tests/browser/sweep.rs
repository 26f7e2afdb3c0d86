//! Tests the page of a sweep in a browser.

use crate::page::Page;
use q2c_model::{Bytes, Nanos, Rates, Simulated};
use q2c_result::sweep::{
    Best, SCHEMA, SimCell, Speed, SweepAnswer, SweepInput, SweepResult, Timeline,
};
use serde_json::json;

const HOSTILE: &str = "</script><script>window.ran=1</script>";

/// A sweep over two traces, of `min` with two ratios and two periods, and of `pas`. Strings from
/// outside hold markup.
fn result() -> SweepResult {
    let policies = [
        ("min", "min:ratio=50%,period=1ms", Some((0.5, 1e6))),
        ("min", "min:ratio=50%,period=2ms", Some((0.5, 2e6))),
        ("min", "min:ratio=60%,period=1ms", Some((0.6, 1e6))),
        ("min", "min:ratio=60%,period=2ms", Some((0.6, 2e6))),
        ("pas", "pas:up=0.01", None),
    ];
    let gives = |n: usize| Simulated {
        rates: Rates {
            iops: 10_000.0 - 10.0 * n as f64,
            cpu_pct: 60.0 - n as f64,
            miss_rate: 0.01 * n as f64,
            ..Rates::default()
        },
        kiops_per_core: 16.0 + n as f64,
        ..Simulated::default()
    };
    let cell = |input: usize, n: usize| SimCell {
        input,
        rule: policies[n].0.to_owned(),
        policy: policies[n].1.to_owned(),
        params: policies[n]
            .2
            .map_or_else(Default::default, |(ratio, period)| {
                [("ratio".to_owned(), ratio), ("period".to_owned(), period)].into()
            }),
        bs: Bytes(4096),
        gives: gives(n),
    };
    let answer = |input: usize| SweepAnswer {
        input,
        poll: gives(0),
        oracle: gives(9),
        best: Some(input * 5 + 4),
        floor_iops: 9_975.0,
        pareto: vec![input * 5, input * 5 + 4],
        notes: vec![HOSTILE.to_owned()],
        ..SweepAnswer::default()
    };
    let input = |path: &str| SweepInput {
        path: path.to_owned(),
        ios: 5,
        sizes: vec![Bytes(4096)],
        ..SweepInput::default()
    };
    SweepResult {
        schema: SCHEMA.to_owned(),
        version: "0".to_owned(),
        inputs: vec![input(HOSTILE), input("b")],
        cost: HOSTILE.to_owned(),
        arrival: "closed".to_owned(),
        warm_up_ns: Nanos::ZERO,
        measure_ns: None,
        measured_ns: vec![Nanos::from_millis(2_000)],
        seed: 1,
        objective: "kiops-per-core".to_owned(),
        limits: vec![],
        cells: (0..10).map(|n| cell(n / 5, n % 5)).collect(),
        answers: vec![answer(0), answer(1)],
        best: Some(Best {
            policy: HOSTILE.to_owned(),
            ..Best::default()
        }),
        best_worst_case: None,
        pareto: vec![],
        oracle: gives(9),
        timeline: Some(Timeline {
            policy: HOSTILE.to_owned(),
            at_ns: vec![0.0, 1e5, 2e5],
            latency_ns: vec![3e4, 2e4, 3e4],
            asked_ns: vec![0.0, 2.5e4, 1e4],
            woke_ns: vec![3e4, 2.7e4, 3e4],
            missed: vec![false, true, false],
            ..Timeline::default()
        }),
        speed: Speed::default(),
        warnings: vec![],
    }
}

#[test]
fn a_sweep_is_drawn() {
    let html = q2c_report::html::sweep(&result()).expect("make the page");
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
