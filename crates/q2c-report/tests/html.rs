//! Tests the pages as text, for properties that do not depend on the browser.

#[path = "fixture/figures.rs"]
mod figures;
mod fixture;
#[path = "fixture/tune_jobs.rs"]
mod tune_jobs_fixture;

use q2c_report::Reported;
use q2c_result::analyze::{
    AnalyzeResult, Excerpt, ExcerptIo, Group, OffsetMap, OffsetWindow, Throughput,
};
use q2c_result::replay::ReplayResult;

fn page(result: &q2c_result::tune::TuneResult) -> String {
    result.document().page().expect("make the report")
}

#[test]
fn the_chart_library_is_in_it_once() {
    let page = page(&fixture::tune());
    assert_eq!(page.matches("id=\"library\"").count(), 1);
    assert!(page.len() < 1_200_000, "{} bytes", page.len());
}

#[test]
fn no_element_loads_anything() {
    let page = page(&fixture::tune());
    for element in [
        "<link",
        "<img",
        "<iframe",
        "<script src",
        "@import",
        "<object",
        "<base",
    ] {
        assert!(!page.contains(element), "{element}");
    }
}

#[test]
fn hostile_strings_never_reach_the_markup() {
    let page = page(&fixture::tune_hostile());
    for text in [fixture::SCRIPT, fixture::BREAKOUT, "<img src=x"] {
        assert!(!page.contains(text), "{text:?}");
    }
    let blocks = page.matches("</script>").count();
    assert_eq!(blocks, 3, "the data, the library, the page's own");
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

/// Think time is told with the job, with the workload and with what is compared.
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
    let page = page(&result);
    let figures = figures::page_figures(&page);
    assert_eq!(
        figures["latency-4096"][0]["data"][0]["x"],
        serde_json::json!([null])
    );
}

fn names(figures: &serde_json::Map<String, serde_json::Value>) -> Vec<&str> {
    figures.keys().map(String::as_str).collect()
}

#[test]
fn replays_have_one_library_and_no_markup_of_others() {
    let pages = [
        fixture::replay_saturated().document().page(),
        fixture::compare().document().page(),
    ];
    for page in pages {
        let page = page.expect("make the page");
        assert_eq!(page.matches("id=\"library\"").count(), 1);
        assert_eq!(
            page.matches("</script>").count(),
            3,
            "the data, the library, the page's own"
        );
        assert!(!page.contains(fixture::RAN));
    }
}

#[test]
fn a_chart_of_a_replay_without_data_is_left_out() {
    let page = |result: ReplayResult| result.document().page().expect("make the page");
    let timed = page(fixture::replay());
    assert_eq!(
        names(&figures::page_figures(&timed)),
        ["in-flight", "iops", "latency", "lateness"]
    );
    // Without intended times nothing is late.
    let outstanding = page(fixture::replay_outstanding());
    for notes_of_intended in ["Broad and grey", "Dashed:", "recorded and replayed?"] {
        assert!(timed.contains(notes_of_intended), "{notes_of_intended}");
        assert!(
            !outstanding.contains(notes_of_intended),
            "{notes_of_intended}"
        );
    }
    assert_eq!(
        names(&figures::page_figures(&outstanding)),
        ["in-flight", "iops", "latency"]
    );
    let mut bare = fixture::replay();
    bare.trial.windows.clear();
    assert_eq!(names(&figures::page_figures(&page(bare))), ["latency"]);
}

#[test]
fn a_comparison_without_a_valid_trial_has_a_page() {
    let mut result = fixture::compare();
    let one = &mut result.comparisons[0];
    one.devices.drain(..2);
    one.verdict.clear();
    one.separations.clear();
    result.complete = false;
    let page = result.document().page().expect("make the page");
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
    let result = fixture::compare_published();
    let page = result.document().page().expect("make the page");
    assert_eq!(names(&figures::page_figures(&page)), ["latency"]);
}

#[test]
fn numbers_of_a_replay_that_are_none_are_gaps() {
    let mut result = fixture::replay();
    result.trial.windows[3].length_s = 0.0;
    result.trial.windows[3].in_flight = f64::NAN;
    result.trial.completion_s = f64::NAN;
    result.trial.u2c_ns.curve = vec![(1.0, f64::INFINITY)];
    let page = result.document().page().expect("make the page");
    let figures = figures::page_figures(&page);
    // The first trace is the recording, the second the replay. Times are those of the windows'
    // middles.
    let replayed = &figures["in-flight"][0]["data"][1];
    assert_eq!(replayed["y"][3], serde_json::Value::Null);
    assert_eq!(replayed["x"][4], serde_json::json!(4.5));
    assert_eq!(
        figures["latency"][0]["data"][0]["x"],
        serde_json::json!([null])
    );
}

/// The fixture's 4 KiB row of the recommended rule has 12.11 KIOPS with 1 job; that of 2 jobs has
/// 12.20 times 1.5, and interrupts, recommended with 4, have 10.42 times 2.
#[test]
fn a_page_over_jobs_draws_the_recommended_method_of_each_number() {
    let result = tune_jobs_fixture::over_jobs(&fixture::tune());
    let page = result.document().page().expect("make the page");
    let figures = figures::page_figures(&page);
    assert_eq!(names(&figures), ["jobs-4096", "jobs-65536"]);
    let iops = figures["jobs-4096"][0]["data"].as_array().expect("traces");
    let drawn: Vec<&str> = iops.iter().map(|t| t["name"].as_str().unwrap()).collect();
    assert_eq!(drawn, ["interrupt", "poll", "Linux's rule", "recommended"]);
    assert_eq!(iops[3]["x"], serde_json::json!([1.0, 2.0, 4.0]));
    assert_eq!(iops[3]["y"], serde_json::json!([12.11, 18.3, 20.84]));
    // Methods without a sleep miss nothing, and are not drawn as if they had a miss rate of 0.
    let misses = figures["jobs-4096"][3]["data"].as_array().expect("traces");
    assert_eq!(misses.len(), 2);
    assert_eq!(misses[1]["x"], serde_json::json!([1.0, 2.0]));
}

#[test]
fn hostile_strings_never_reach_the_markup_of_a_page_over_jobs() {
    let result = tune_jobs_fixture::over_jobs(&fixture::tune_hostile());
    let page = result.document().page().expect("make the page");
    for text in [fixture::SCRIPT, fixture::BREAKOUT] {
        assert!(!page.contains(text), "{text:?}");
    }
    assert_eq!(page.matches("</script>").count(), 3);
}

/// Numbers that look like chance and are the same in each run.
fn chance() -> impl FnMut(u64) -> u64 {
    let mut state = 1_u64;
    move |below: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) % below
    }
}

/// The fixture's analysis with all that one may have: maps of eight devices without a free cell,
/// every window with sixty classes of latency, 512 groups of each property, and a window of 4,096
/// I/Os.
fn full_analysis() -> AnalyzeResult {
    let mut result = fixture::analyze();
    let mut random = chance();
    let mut ranges = || (0..128).map(|n| (n, 1 + random(50))).collect::<Vec<_>>();
    let mut map = |minor: u64| OffsetMap {
        device: format!("8:{minor}"),
        range_bytes: 1 << 30,
        windows: (0..256)
            .map(|n| OffsetWindow {
                start_ns: n << 30,
                length_ns: 1 << 30,
                reads: ranges(),
                writes: ranges(),
            })
            .collect(),
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
    let mut excerpt = |what: &str, ios: u64| Excerpt {
        what: what.to_owned(),
        ios: (0..ios)
            .map(|n| {
                let at = n * 10_000 + random(9_000);
                let after = |ns: u64| Some(at + ns);
                ExcerptIo {
                    id: n,
                    sector: random(1 << 40),
                    cpu: Some(random(64) as u32),
                    pid: Some(random(30_000) as u32),
                    queue_ns: Some(at),
                    getrq_ns: after(random(9_999)),
                    issue_ns: after(10_000 + random(9_999)),
                    complete_ns: after(30_000 + random(99_999)),
                    ..sample.clone()
                }
            })
            .collect(),
        left_out: 0,
    };
    result.excerpts = vec![
        excerpt("start", 384),
        excerpt("slowest", 193),
        excerpt("window", 4096),
    ];
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
    let page = full_analysis().document().page().expect("make the page");
    let figures = figures::page_figures(&page);
    let size = |(id, figure): (&String, &serde_json::Value)| (id.clone(), figure.to_string().len());
    let unpacked: Vec<(String, usize)> = figures.iter().map(size).collect();
    assert!(page.len() < 1_200_000, "{} bytes: {unpacked:?}", page.len());
    let maps = figures.keys().filter(|id| id.starts_with("offsets-"));
    assert_eq!(maps.count(), 4);
    assert!(page.contains("Without a chart: 8:"), "the others are named");
    assert!(page.contains("500 more groups"));
}

/// A recording without offsets has the other charts.
#[test]
fn an_analysis_without_maps_is_drawn() {
    let mut result = fixture::analyze();
    result.offsets.clear();
    result.throughput.clear();
    let written = serde_json::to_value(&result).expect("JSON");
    assert!(written.get("offsets").is_none() && written.get("throughput").is_none());
    let read: q2c_result::analyze::AnalyzeResult =
        serde_json::from_value(written).expect("a result");
    let page = read.document().page().expect("make the page");
    let wanted = [
        "excerpts",
        "in-flight",
        "latency",
        "percentiles",
        "queues",
        "stages",
    ];
    assert_eq!(names(&figures::page_figures(&page)), wanted);
}

/// Where the recording has no offsets, its sectors mean nothing.
#[test]
fn stated_sectors_are_not_drawn() {
    let mut few = fixture::analyze_few();
    let drawn = |result: &AnalyzeResult| {
        let page = result.document().page().expect("make the page");
        figures::page_figures(&page).contains_key("offsets-0")
    };
    assert!(drawn(&few));
    let fact = q2c_model::facts::STATED_SECTOR.to_owned();
    few.input.facts.insert(fact, "0".to_owned());
    assert!(!drawn(&few));
}
