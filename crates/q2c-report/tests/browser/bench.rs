//! Tests the page of a benchmark in a browser.

#[path = "../fixture/bench.rs"]
mod bench_fixture;

use crate::page::Page;
use serde_json::json;

fn open(test: &str) -> Option<Page> {
    let result = bench_fixture::result();
    let html = q2c_report::html::bench(&result).expect("make the page");
    Page::open_html(test, &html)
}

#[test]
fn a_benchmark_is_drawn_in_every_view() {
    let Some(mut page) = open("a_benchmark_is_drawn_in_every_view") else {
        return;
    };
    // There are two lines. Knee and collapse of the falling one are marked in the throughput alone.
    for (view, title, traces) in [
        (0, "KIOPS", 4),
        (1, "busy CPUs of the machine", 2),
        (2, "KIOPS per busy CPU", 2),
        (3, "us of jobs and helpers per I/O", 2),
    ] {
        let plot = page.show_view("jobs-0", view);
        assert_eq!(plot["y"], json!(title), "{plot}");
        assert_eq!(plot["traces"], json!(traces), "{plot}");
        assert_eq!(plot["groups"], json!(traces), "{plot}");
        assert_eq!(plot["broken"], json!(0), "{plot}");
    }
    page.assert_quiet();
}

#[test]
fn knee_and_collapse_are_where_the_published_curve_has_them() {
    let Some(mut page) = open("knee_and_collapse_are_where_the_published_curve_has_them") else {
        return;
    };
    page.scroll_to("jobs-0");
    let marks = page.evaluate(
        "document.querySelector('[data-chart=jobs-0] .plot').data.filter((t) => t.mode === 'markers')
            .map((t) => [t.name, t.x[0], t.y[0], t.marker.symbol])",
    );
    assert_eq!(
        marks,
        json!([
            ["knee", 14, 7420, "square-open"],
            ["collapse", 14, 7420, "x-thin"]
        ])
    );
    let line = page.evaluate(
        "(() => { const t = document.querySelector('[data-chart=jobs-0] .plot').data[0];
          return [t.x.join(), t.y.length, Math.max(...t.y), t.error_y.array.length]; })()",
    );
    assert_eq!(line, json!(["1,2,6,10,14,18,22", 7, 17_780, 7]));
    page.assert_quiet();
}

#[test]
fn what_qualifies_the_numbers_is_on_the_page() {
    let Some(mut page) = open("what_qualifies_the_numbers_is_on_the_page") else {
        return;
    };
    let text = page.evaluate("document.body.innerText");
    let text = text.as_str().expect("the page's text");
    for said in [
        "stopped early",
        "KIOPS/core \u{2020}",
        "invalidates hybrid-kernel, kiops-per-core",
        "suspect tags",
        "not looked at: thermal",
        "22*",
        bench_fixture::HOSTILE,
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
    assert!(!text.contains("mean \u{2020}"), "{text}");
    assert_eq!(page.evaluate("window.ran === undefined"), json!(true));
    assert_eq!(page.evaluate("document.scripts.length"), json!(3));
    page.assert_quiet();
}

#[test]
fn the_dark_scheme_reaches_the_chart() {
    let Some(mut page) = open("the_dark_scheme_reaches_the_chart") else {
        return;
    };
    page.scroll_to("jobs-0");
    let colours = "(() => { const p = document.querySelector('[data-chart=jobs-0] .plot');
        return [p.layout.font.color, p.data[0].line.color]; })()";
    // `--ink`, and `--interrupt`, which is the first line's colour, as the style sheet has them in
    // the present scheme.
    let wanted = "(() => { const probe = document.createElement('i'); document.body.append(probe);
        const of = (name) => { probe.style.color = `var(${name})`; return getComputedStyle(probe).color; };
        const both = [of('--ink'), of('--interrupt')]; probe.remove(); return both; })()";
    let light = page.evaluate(wanted);
    page.wait_for_value(colours, &light);
    page.prefer_scheme("dark");
    let dark = page.evaluate(wanted);
    assert_ne!(light, dark);
    page.wait_for_value(colours, &dark);
    page.assert_quiet();
}
