//! Tests the page of a benchmark in a browser.

use crate::fixture;
use q2c_report::Reported;
use q2c_result::bench::BenchResult;
use serde_json::json;

#[test]
fn a_benchmark_is_drawn_in_every_view() {
    let mut page = open!(fixture::bench());
    // There are two lines. Knee and collapse of the falling one are marked in the throughput only.
    let views = [
        ("KIOPS", 4),
        ("median latency, us", 2),
        ("p99 latency, us", 2),
        ("busy CPUs of the machine", 2),
        ("KIOPS per busy CPU", 2),
        ("us of jobs and helpers per I/O", 2),
    ];
    page.assert_views("jobs-0", &views);
}

#[test]
fn knee_and_collapse_are_where_the_published_curve_has_them() {
    let mut page = open!(fixture::bench());
    let marks = page.plotted(
        "jobs-0",
        "p.data.filter((t) => t.mode === 'markers')
            .map((t) => [t.name, t.x[0], t.y[0], t.marker.symbol])",
    );
    let (knee, collapse) = (["knee", "square-open"], ["collapse", "x-thin"]);
    let wanted = [knee, collapse].map(|[name, symbol]| json!([name, 14, 7420, symbol]));
    assert_eq!(marks, json!(wanted));
    let line = page.of_plot(
        "jobs-0",
        "[p.data[0]].map((t) => [t.x.join(), t.y.length, Math.max(...t.y), t.error_y.array.length])",
    );
    assert_eq!(line, json!([["1,2,6,10,14,18,22", 7, 17_780, 7]]));
}

/// Four stages are stacked to the mean Q2C, which is 61.5 us plus 1 us per job.
#[test]
fn stages_are_drawn_over_the_jobs() {
    let mut page = open!(fixture::bench_stages());
    let views = [("mean time, us", 4), ("time", 5), ("time", 5)];
    page.assert_views("stages-0-0", &views);
    let stages = ["Q2G", "G2I", "I2D", "D2C", "Q2C"];
    let slow = page.of_plot(
        "stages-0-0",
        "[p.data.map((t) => t.name), p.data.map((t) => t.y[5])]",
    );
    assert_eq!(slow, json!([stages, [2, 1, 36, 120, 159]]));
    page.show_view("stages-0-0", 0);
    let means = page.of_plot("stages-0-0", "p.data.map((t) => [t.name, t.x[5], t.y[5]])");
    let wanted = std::iter::zip(stages, [1.0, 0.5, 18.0, 60.0]);
    let wanted: Vec<_> = wanted.map(|(stage, us)| (stage, "18", us)).collect();
    let means: Vec<(String, String, f64)> = serde_json::from_value(means).expect("bars");
    let means = means.iter();
    let means = means.map(|(stage, jobs, us)| (stage.as_str(), jobs.as_str(), *us));
    assert_eq!(means.collect::<Vec<_>>(), wanted);
    page.assert_drawn("queues-0-0", None, 1);
    let map = "[p.data[0].y, p.data[0].z.map((row) => row.slice(0, 2))]";
    let names = json!(["259:0 queue 0", "259:0 queue 1", "259:0 queue 2"]);
    let shares = json!([[100, 75], [0, 25], [0, 0]]);
    assert_eq!(page.of_plot("queues-0-0", map), json!([names, shares]));
}

/// The first of three trials has the median IOPS: 20 K alone, and half of that beside the
/// background, which starts after 1 s.
#[test]
fn phases_are_drawn_over_time() {
    let mut page = open!(fixture::bench_phases());
    // The background, the jobs' CPU and the sleep each have a view; the misses stand below.
    let titles = [
        "KIOPS",
        "KIOPS of the background",
        "CPUs of the jobs' threads",
    ];
    let views = [&titles[..], &["effective sleep, us"]].concat();
    let views: Vec<(&str, u64)> = views.into_iter().map(|title| (title, 3)).collect();
    page.assert_views("phases-0", &views);
    page.show_view("phases-0", 0);
    let line = "[p.data[0].name, p.data[0].x, p.data[0].y, p.data[0].marker.symbol]";
    let line = page.of_plot("phases-0", line);
    let (warm, counts) = ("circle-open", "circle");
    let points = [warm, counts, counts, counts, warm, counts, counts, counts];
    let times = [0.125, 0.375, 0.625, 0.875, 1.125, 1.375, 1.625, 1.875];
    let kiops = [20, 20, 20, 20, 10, 10, 10, 10];
    let name = "io_uring poll, jobs: 1";
    assert_eq!(line, json!([name, times, kiops, points]));
    let marks = page.of_plot(
        "phases-0",
        "[p.layout.shapes.map((s) => [s.type, s.x0, s.x1]),
          p.layout.annotations.map((a) => [a.x, a.text])]",
    );
    let names = json!([[0, "alone"], [1, "rw=randread,bs=32768&lt;img src=x&gt;"]]);
    assert_eq!(marks, json!([json!([["line", 1, 1]]), names]));
    let missed = "[p.data[2].name, p.data[2].yaxis, p.data[2].y[7]]";
    let missed = page.of_plot("phases-0", missed);
    assert_eq!(missed, json!(["libaio poll, jobs: 1", "y2", 25]));
}

#[test]
fn without_stages_and_phases_there_are_no_charts_of_them() {
    let html = fixture::bench().document().page().expect("make the page");
    for absent in ["stages", "queues", "phases"] {
        assert!(
            !html.contains(&format!("data-chart=\"{absent}")),
            "{absent}"
        );
    }
}

/// With one job at three depths, the depth is the axis, and no chart over the jobs has a lone dot.
#[test]
fn the_axis_that_varies_is_the_one_that_is_drawn() {
    let mut result = fixture::bench();
    result.scaling.clear();
    let mut cell = result.cells[0].clone();
    result.cells.clear();
    for (depth, iops, p99) in [(1, 1e4, 90e3), (4, 3e4, 120e3), (16, 4e4, 400e3)] {
        cell.point.depth = depth;
        cell.iops.median = iops;
        cell.lat_ns.p99.median = p99;
        result.cells.push(cell.clone());
    }
    let mut page = open!(result);
    let over_jobs = page.evaluate("document.querySelector('[data-chart^=jobs]')");
    assert_eq!(over_jobs, json!(null));
    let plot = page.show_view("over-depth", 2);
    assert_eq!(plot["y"], json!("p99 latency, us"), "{plot}");
    let drawn = page.of_plot("over-depth", "[p.data[0].x, p.data[0].y]");
    assert_eq!(drawn, json!([["1", "4", "16"], [90, 120, 400]]));
    page.show_view("over-depth", 4);
    let drawn = page.of_plot("over-depth", "[p.data[0].x, p.data[0].y]");
    assert_eq!(drawn, json!([[10, 30, 40], [90, 120, 400]]));
}

/// Keeps only the points of one job.
pub(crate) fn one_job(mut result: BenchResult) -> BenchResult {
    result.cells.retain(|cell| cell.point.jobs == 1);
    result.scaling.clear();
    result
}

/// Replaces the two lines by twelve.
pub(crate) fn many_lines(mut result: BenchResult) -> BenchResult {
    let lines = result.cells.split_off(7);
    for n in 0..11 {
        for mut cell in lines[..6].iter().cloned() {
            cell.point.engine = format!("an-engine-{n}");
            cell.iops.median *= 1.0 + f64::from(n);
            result.cells.push(cell);
        }
    }
    result.scaling.truncate(1);
    result
}

/// With one number of jobs there is nothing to draw over it: the stages are the axis.
#[test]
fn one_number_of_jobs_is_no_axis() {
    let mut page = open!(one_job(fixture::bench_stages()));
    let over_jobs = page.evaluate("document.querySelector('[data-chart^=jobs]')");
    assert_eq!(over_jobs, json!(null));
    let plot = page.scroll_to("stages-0-0");
    assert_eq!(plot["y"], json!("time, us"), "{plot}");
    let bars = page.of_plot(
        "stages-0-0",
        "p.data.map((t) => [t.type, t.name, t.x, t.y[3]])",
    );
    let stages = ["Q2G", "G2I", "I2D", "D2C", "Q2C"];
    let wanted = [("mean", 60), ("p50", 54), ("p99", 120)];
    let wanted = wanted.map(|(name, us)| json!(["bar", name, stages, us]));
    assert_eq!(bars, json!(wanted));
    assert_eq!(page.plotted("queues-0-0", "p.data[0].type"), json!("bar"));
}

/// A setting of the device is an axis like the depth, unless a grid has it.
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
    let lines = page.plotted("over-hardware-queues", "p.data.map((t) => [t.name, t.x])");
    assert_eq!(lines, json!([["io_uring poll", ["as found", "1", "4"]]]));
}
