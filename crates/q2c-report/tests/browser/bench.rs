//! Tests the page of a benchmark in a browser.

use crate::fixture;
use q2c_report::Reported;
use q2c_result::bench::BenchResult;
use serde_json::json;

#[test]
fn a_benchmark_is_drawn_in_every_view() {
    let mut page = open!(fixture::bench());
    // There are two lines. Knee and collapse of the falling one are marked in the throughput alone.
    for (view, title, traces) in [
        (0, "KIOPS", 4),
        (1, "median latency, us", 2),
        (2, "p99 latency, us", 2),
        (3, "busy CPUs of the machine", 2),
        (4, "KIOPS per busy CPU", 2),
        (5, "us of jobs and helpers per I/O", 2),
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
    let mut page = open!(fixture::bench());
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
    let mut page = open!(fixture::bench());
    let text = page.evaluate("document.body.innerText");
    let text = text.as_str().expect("the page's text");
    for said in [
        "stopped early",
        "KIOPS/core \u{2020}",
        "invalidates hybrid-kernel, kiops-per-core",
        "suspect",
        "tags: ",
        "not looked at",
        "thermal",
        "22*",
        fixture::RAN,
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
    let mut page = open!(fixture::bench());
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

/// Four stages stand upon each other to the mean Q2C: 61.5 us and 1 us for each job.
#[test]
fn stages_are_drawn_over_the_jobs() {
    let mut page = open!(fixture::bench_stages());
    for (view, title, traces) in [(0, "mean time, us", 4), (1, "time", 5), (2, "time", 5)] {
        let plot = page.show_view("stages-0-0", view);
        assert_eq!(plot["y"], json!(title), "{plot}");
        assert_eq!(plot["traces"], json!(traces), "{plot}");
        assert_eq!(plot["broken"], json!(0), "{plot}");
    }
    page.show_view("stages-0-0", 0);
    let data = "document.querySelector('[data-chart=stages-0-0] .plot').data";
    let means = page.evaluate(&format!("{data}.map((t) => [t.name, t.x[5], t.y[5]])"));
    let wanted = json!([
        ["Q2G", "18", 1],
        ["G2I", "18", 0.5],
        ["I2D", "18", 18],
        ["D2C", "18", 60]
    ]);
    assert_eq!(means, wanted);
    page.show_view("stages-0-0", 2);
    let slow = page.evaluate(&format!("{data}.map((t) => [t.name, t.y[5]])"));
    let wanted = json!([
        ["Q2G", 2],
        ["G2I", 1],
        ["I2D", 36],
        ["D2C", 120],
        ["Q2C", 159]
    ]);
    assert_eq!(slow, wanted);
    let plot = page.scroll_to("queues-0-0");
    assert_eq!(plot["broken"], json!(0), "{plot}");
    let map = "(() => { const t = document.querySelector('[data-chart=queues-0-0] .plot').data[0];
        return [t.y, t.z.map((row) => row.slice(0, 2))]; })()";
    let names = json!(["259:0 queue 0", "259:0 queue 1", "259:0 queue 2"]);
    assert_eq!(
        page.evaluate(map),
        json!([names, [[100, 75], [0, 25], [0, 0]]])
    );
    let text = page.evaluate("document.body.innerText");
    let text = text.as_str().expect("the page's text");
    for said in [
        "Stages in the block layer",
        "I2D at 18, 22 jobs (22.6, 26.3 % of Q2C)",
        "40 were lost",
        "none: failed to capture the block layer: load a program: EPERM",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
    page.assert_quiet();
}

/// The first of three trials has the median IOPS: 20 K alone and half beside the background, which
/// comes after 1 s.
#[test]
fn phases_are_drawn_over_time() {
    let mut page = open!(fixture::bench_phases());
    // The background, the jobs' CPUs and the sleep have a view each; misses stand below.
    for (view, title, traces) in [
        (0, "KIOPS", 3),
        (1, "KIOPS of the background", 3),
        (2, "CPUs of the jobs' threads", 3),
        (3, "effective sleep, us", 3),
    ] {
        let plot = page.show_view("phases-0", view);
        assert_eq!(plot["y"], json!(title), "{plot}");
        assert_eq!(plot["traces"], json!(traces), "{plot}");
        assert_eq!(plot["broken"], json!(0), "{plot}");
    }
    page.show_view("phases-0", 0);
    let line = page.evaluate(
        "(() => { const t = document.querySelector('[data-chart=phases-0] .plot').data[0];
          return [t.name, t.x, t.y, t.marker.symbol]; })()",
    );
    let (warm, counts) = ("circle-open", "circle");
    let points = [warm, counts, counts, counts, warm, counts, counts, counts];
    let times = [0.125, 0.375, 0.625, 0.875, 1.125, 1.375, 1.625, 1.875];
    let kiops = [20, 20, 20, 20, 10, 10, 10, 10];
    assert_eq!(
        line,
        json!(["io_uring poll, jobs: 1", times, kiops, points])
    );
    let marks = page.evaluate(
        "(() => { const l = document.querySelector('[data-chart=phases-0] .plot').layout;
          return [l.shapes.map((s) => [s.type, s.x0, s.x1]),
            l.annotations.map((a) => [a.x, a.text])]; })()",
    );
    let shapes = json!([["line", 1, 1]]);
    let names = json!([[0, "alone"], [1, "rw=randread,bs=32768&lt;img src=x&gt;"]]);
    assert_eq!(marks, json!([shapes, names]));
    let missed = page.evaluate(
        "(() => { const t = document.querySelector('[data-chart=phases-0] .plot').data[2];
          return [t.name, t.yaxis, t.y[7]]; })()",
    );
    assert_eq!(missed, json!(["libaio poll, jobs: 1", "y2", 25]));
    page.assert_quiet();
}

#[test]
fn without_stages_and_phases_there_are_no_charts_of_them() {
    let html = fixture::bench().document().page().expect("make the page");
    for absent in [
        "data-chart=\"stages",
        "data-chart=\"queues",
        "data-chart=\"phases",
    ] {
        assert!(!html.contains(absent), "{absent}");
    }
}

/// One job at three depths: the depth is the axis, and no chart over the jobs has a single dot.
#[test]
fn the_axis_that_varies_is_the_one_that_is_drawn() {
    let mut result = fixture::bench();
    result.scaling.clear();
    let mut one = result.cells[0].clone();
    result.cells.clear();
    for (depth, iops, p99) in [
        (1, 10_000.0, 90e3),
        (4, 30_000.0, 120e3),
        (16, 40_000.0, 400e3),
    ] {
        one.point.depth = depth;
        one.iops.median = iops;
        one.lat_ns.p99.median = p99;
        result.cells.push(one.clone());
    }
    let mut page = open!(result);
    assert_eq!(
        page.evaluate("document.querySelector('[data-chart^=jobs]')"),
        json!(null)
    );
    let plot = page.show_view("over-depth", 2);
    assert_eq!(plot["y"], json!("p99 latency, us"), "{plot}");
    let drawn =
        "(() => { const t = document.querySelector('[data-chart=over-depth] .plot').data[0];
        return [t.x, t.y]; })()";
    assert_eq!(
        page.evaluate(drawn),
        json!([["1", "4", "16"], [90, 120, 400]])
    );
    page.show_view("over-depth", 4);
    assert_eq!(page.evaluate(drawn), json!([[10, 30, 40], [90, 120, 400]]));
    page.assert_quiet();
}

/// The points of one job alone.
pub(crate) fn one_job(mut result: BenchResult) -> BenchResult {
    result.cells.retain(|cell| cell.point.jobs == 1);
    result.scaling.clear();
    result
}

/// Twelve lines in place of two.
pub(crate) fn many_lines(mut result: BenchResult) -> BenchResult {
    let lines = result.cells.split_off(7);
    for n in 0..11 {
        result
            .cells
            .extend(lines[..6].iter().cloned().map(|mut cell| {
                cell.point.engine = format!("an-engine-{n}");
                cell.iops.median *= 1.0 + f64::from(n);
                cell
            }));
    }
    result.scaling.truncate(1);
    result
}

/// With one number of jobs there is nothing over it: the stages are the axis.
#[test]
fn one_number_of_jobs_is_no_axis() {
    let mut page = open!(one_job(fixture::bench_stages()));
    assert_eq!(
        page.evaluate("document.querySelector('[data-chart^=jobs]')"),
        json!(null)
    );
    let plot = page.scroll_to("stages-0-0");
    assert_eq!(plot["y"], json!("time, us"), "{plot}");
    let bars = page.evaluate(
        "document.querySelector('[data-chart=stages-0-0] .plot').data
            .map((t) => [t.type, t.name, t.x, t.y[3]])",
    );
    let stages = ["Q2G", "G2I", "I2D", "D2C", "Q2C"];
    assert_eq!(
        bars,
        json!([
            ["bar", "mean", stages, 60],
            ["bar", "p50", stages, 54],
            ["bar", "p99", stages, 120]
        ])
    );
    page.scroll_to("queues-0-0");
    let shares =
        page.evaluate("document.querySelector('[data-chart=queues-0-0] .plot').data[0].type");
    assert_eq!(shares, json!("bar"));
    page.assert_quiet();
}

/// A setting of the device is an axis like the depth, where no grid has it.
#[test]
fn hardware_queues_are_an_axis() {
    let mut result = one_job(fixture::bench());
    result.cells.truncate(1);
    for queues in [None, Some(1), Some(4)] {
        let mut cell = result.cells[0].clone();
        cell.point.hw_queues = queues;
        result.cells.push(cell);
    }
    result.cells.remove(0);
    let mut page = open!(result);
    page.scroll_to("over-hardware-queues");
    let lines = page.evaluate(
        "document.querySelector('[data-chart=over-hardware-queues] .plot').data
            .map((t) => [t.name, t.x])",
    );
    assert_eq!(lines, json!([["io_uring poll", ["as found", "1", "4"]]]));
    page.assert_quiet();
}

#[test]
fn every_line_has_a_colour_of_its_own() {
    let mut page = open!(many_lines(fixture::bench()));
    page.show_view("jobs-0", 1);
    let colours = page.evaluate(
        "(() => { const d = document.querySelector('[data-chart=jobs-0] .plot').data;
          return [d.length, new Set(d.map((t) => t.line.color)).size]; })()",
    );
    assert_eq!(colours, json!([12, 12]));
    page.assert_quiet();
}
