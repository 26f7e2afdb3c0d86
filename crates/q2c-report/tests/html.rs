//! Tests the pages as text, for properties that do not depend on the browser.

#[path = "fixture/figures.rs"]
mod figures;
mod fixture;
#[path = "fixture/tune_jobs.rs"]
mod tune_jobs_fixture;

use q2c_report::Reported;
use q2c_result::analyze::{AnalyzeResult, Excerpt, ExcerptIo, Group};
use q2c_result::analyze::{OffsetMap, OffsetWindow, Throughput};
use serde_json::{Map, Value, json};

fn page(result: &impl Reported) -> String {
    result.document().page().expect("make the page")
}

fn charts(result: &impl Reported) -> Map<String, Value> {
    figures::page_figures(&page(result))
}

/// Asserts that a page has three scripts (the data, the library, its own) and none of `hostile`.
fn assert_harmless(page: &str, hostile: &[&str]) {
    for text in hostile {
        assert!(!page.contains(text), "{text:?}");
    }
    assert_eq!(page.matches("</script>").count(), 3);
    assert_eq!(page.matches("id=\"library\"").count(), 1);
}

#[test]
fn no_element_loads_anything_and_the_chart_library_is_in_it_once() {
    let page = page(&fixture::tune());
    let linked = ["<link", "<img", "<iframe", "<script src", "@import"];
    assert_harmless(&page, &linked);
    assert_harmless(&page, &["<object", "<base"]);
    assert!(page.len() < 1_200_000, "{} bytes", page.len());
}

#[test]
fn hostile_strings_never_reach_the_markup() {
    let hostile = [fixture::SCRIPT, fixture::BREAKOUT, "<img src=x"];
    let result = fixture::tune_hostile();
    assert_harmless(&page(&result), &hostile);
    assert_harmless(&page(&tune_jobs_fixture::over_jobs(&result)), &hostile[..2]);
    for page in [
        page(&fixture::replay_saturated()),
        page(&fixture::compare()),
    ] {
        assert_harmless(&page, &[fixture::RAN]);
    }
}

#[test]
fn the_name_of_a_program_is_only_text() {
    let mut result = fixture::tune_program();
    if let Some(program) = &mut result.program {
        program.recording.command = vec![fixture::SCRIPT.to_owned()];
    }
    let page = page(&result);
    assert!(page.contains("&#60;script&#62;alert(1)"));
    assert!(!page.contains(fixture::SCRIPT));
}

/// Think time is named with the job, with the workload and in the comparison.
#[test]
fn think_time_is_on_the_page() {
    let mut result = fixture::tune_program();
    result.job.think_ns = Some(200e3);
    if let Some(program) = &mut result.program {
        program.copied.think_ns = Some(201.4e3);
    }
    let page = page(&result);
    for text in [
        "with 200 us between its I/Os",
        "each and 201 us between its I/Os",
    ] {
        assert!(page.contains(text), "{text}");
    }
}

#[test]
fn numbers_that_are_none_and_ragged_series_are_gaps() {
    let mut result = fixture::tune();
    for cell in &mut result.cells {
        cell.measured.rates.iops.median = f64::NAN;
        cell.measured.kiops_per_core.median = f64::INFINITY;
        cell.series.rates.iops.truncate(3);
        cell.series.t_s.push(f64::NAN);
        cell.latency_quantiles = vec![(1.0, f64::INFINITY)];
    }
    result.sweeps[0].pareto = vec![usize::MAX];
    result.sweeps[0].best = Some(usize::MAX);
    result.calibration[0].cost.wake_hit.z.clear();
    result.recommendation.clear();
    let latencies = &charts(&result)["latency-4096"][0]["data"][0]["x"];
    assert_eq!(*latencies, json!([null]));
}

fn names(figures: &Map<String, Value>) -> Vec<&str> {
    figures.keys().map(String::as_str).collect()
}

/// Without intended times nothing is late. The sentences about them are in the kept outputs.
#[test]
fn a_chart_of_a_replay_without_data_is_left_out() {
    let timed = charts(&fixture::replay());
    assert_eq!(names(&timed), ["in-flight", "iops", "latency", "lateness"]);
    let outstanding = charts(&fixture::replay_outstanding());
    assert_eq!(names(&outstanding), ["in-flight", "iops", "latency"]);
    let mut bare = fixture::replay();
    bare.trial.windows.clear();
    assert_eq!(names(&charts(&bare)), ["latency"]);
}

#[test]
fn a_comparison_without_a_valid_trial_has_a_page() {
    let mut result = fixture::compare();
    let one = &mut result.comparisons[0];
    one.devices.drain(..2);
    one.verdict.clear();
    one.separations.clear();
    result.complete = false;
    let page = page(&result);
    assert_eq!(names(&figures::page_figures(&page)), [""; 0]);
    for text in ["incomplete:", "a trial failed:", "0 of 1"] {
        assert!(page.contains(text), "{text}");
    }
    assert!(!page.contains("The answer") && !page.contains("What separates them"));
}

/// Charts over time would set replays of other traces and modes beside each other, so there is only
/// the one of latencies.
#[test]
fn a_page_of_several_comparisons_draws_latencies_alone() {
    let charts = charts(&fixture::compare_published());
    assert_eq!(charts.keys().collect::<Vec<_>>(), ["latency"]);
}

#[test]
fn numbers_of_a_replay_that_are_none_are_gaps() {
    let mut result = fixture::replay();
    result.trial.windows[3].length_s = 0.0;
    result.trial.windows[3].in_flight = f64::NAN;
    result.trial.completion_s = f64::NAN;
    result.trial.u2c_ns.curve = vec![(1.0, f64::INFINITY)];
    let figures = charts(&result);
    // Trace 0 is the recording, trace 1 the replay. Times are the middles of the windows.
    let replayed = &figures["in-flight"][0]["data"][1];
    assert_eq!(
        (&replayed["y"][3], &replayed["x"][4]),
        (&Value::Null, &json!(4.5))
    );
    assert_eq!(figures["latency"][0]["data"][0]["x"], json!([null]));
}

/// At 4 KiB the recommended rule has 12.11 KIOPS with 1 job and 12.20 times 1.5 with 2. Interrupts,
/// recommended with 4 jobs, have 10.42 times 2.
#[test]
fn a_page_over_jobs_draws_the_recommended_method_of_each_number() {
    let figures = charts(&tune_jobs_fixture::over_jobs(&fixture::tune()));
    assert_eq!(names(&figures), ["jobs-4096", "jobs-65536"]);
    let iops = figures["jobs-4096"][0]["data"].as_array().expect("traces");
    let drawn: Vec<&str> = iops.iter().map(|t| t["name"].as_str().unwrap()).collect();
    assert_eq!(drawn, ["interrupt", "poll", "Linux's rule", "recommended"]);
    assert_eq!(iops[3]["x"], json!([1.0, 2.0, 4.0]));
    assert_eq!(iops[3]["y"], json!([12.11, 18.3, 20.84]));
    // Methods without a sleep have no miss rate, so they are not drawn at 0.
    let misses = figures["jobs-4096"][3]["data"].as_array().expect("traces");
    assert_eq!(misses.len(), 2);
    assert_eq!(misses[1]["x"], json!([1.0, 2.0]));
}

/// Numbers that look random but are the same in each run.
fn chance() -> impl FnMut(u64) -> u64 {
    let mut state = 1_u64;
    move |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005) + 1;
        (state >> 33) % below
    }
}

/// The fixture's analysis at its largest: maps of eight devices without an empty cell, sixty
/// classes of latency in every window, 512 groups of each property, and an excerpt of 4,096 I/Os.
fn full_analysis() -> AnalyzeResult {
    let mut result = fixture::analyze();
    let mut random = chance();
    let mut ranges = || (0..128).map(|n| (n, 1 + random(50))).collect::<Vec<_>>();
    let mut window = |n: u64| OffsetWindow {
        start_ns: n << 30,
        length_ns: 1 << 30,
        reads: ranges(),
        writes: ranges(),
    };
    let mut map = |minor: u64| OffsetMap {
        device: format!("8:{minor}"),
        range_bytes: 1 << 30,
        windows: (0..256).map(&mut window).collect(),
    };
    result.offsets = (0..8).map(&mut map).collect();
    let mut random = chance();
    let load = |n: u64| {
        let mut load = result.over_time[0].clone();
        load.start_ns = n << 30;
        load.latencies = (0..60)
            .map(|c| ((4 + c % 4) << (8 + c / 4), 1 + random(9_999)))
            .collect();
        load
    };
    result.over_time = (0..512).map(load).collect();
    let flow = |n: u64| Throughput {
        start_ns: n << 30,
        ..result.throughput[0]
    };
    result.throughput = (0..512).map(flow).collect();
    let mut random = chance();
    let sample = result.excerpts[0].ios[0].clone();
    let mut io = |n: u64| {
        let at = n * 10_000 + random(9_000);
        ExcerptIo {
            id: n,
            sector: random(1 << 40),
            cpu: Some(random(64) as u32),
            pid: Some(random(30_000) as u32),
            queue_ns: Some(at),
            getrq_ns: Some(at + random(9_999)),
            issue_ns: Some(at + 10_000 + random(9_999)),
            complete_ns: Some(at + 30_000 + random(99_999)),
            ..sample.clone()
        }
    };
    let excerpts = [("start", 384), ("slowest", 193), ("window", 4096)];
    result.excerpts = Vec::from(excerpts.map(|(what, ios)| Excerpt {
        what: what.to_owned(),
        ios: (0..ios).map(&mut io).collect(),
        left_out: 0,
    }));
    let group = result.groups["op"][0].clone();
    for property in ["op", "size", "device", "process", "cpu", "hctx"] {
        let groups = (0..512).map(|n| Group {
            key: format!("{property} {n}"),
            ..group.clone()
        });
        result.groups.insert(property.to_owned(), groups.collect());
    }
    result
}

#[test]
fn the_page_of_a_full_analysis_has_its_limits() {
    let page = page(&full_analysis());
    let figures = figures::page_figures(&page);
    let size = |(id, figure): (&String, &Value)| (id.clone(), figure.to_string().len());
    let unpacked: Vec<(String, usize)> = figures.iter().map(size).collect();
    assert!(page.len() < 1_200_000, "{} bytes: {unpacked:?}", page.len());
    let maps = figures.keys().filter(|id| id.starts_with("offsets-"));
    assert_eq!(maps.count(), 4);
    assert!(page.contains("Without a chart: 8:"), "the others are named");
    assert!(page.contains("500 more groups"));
}

/// A recording without offsets still has the other charts.
#[test]
fn an_analysis_without_maps_is_drawn() {
    let mut result = fixture::analyze();
    result.offsets.clear();
    result.throughput.clear();
    let written = serde_json::to_value(&result).expect("JSON");
    assert!(written.get("offsets").is_none() && written.get("throughput").is_none());
    let read: AnalyzeResult = serde_json::from_value(written).expect("a result");
    let wanted = [
        "excerpts",
        "in-flight",
        "latency",
        "percentiles",
        "queues",
        "stages",
    ];
    assert_eq!(names(&charts(&read)), wanted);
}

/// If a recording has no offsets, its sectors mean nothing and are not shown.
#[test]
fn stated_sectors_are_not_drawn() {
    let mut few = fixture::analyze_few();
    let drawn = |result: &AnalyzeResult| charts(result).contains_key("offsets-0");
    assert!(drawn(&few));
    let fact = q2c_model::facts::STATED_SECTOR.to_owned();
    few.input.facts.insert(fact, "0".to_owned());
    assert!(!drawn(&few));
}
