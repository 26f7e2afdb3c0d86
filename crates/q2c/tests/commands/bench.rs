//! Tests of `q2c bench` on devices whose speed is known.

use crate::program::{number, q2c};
use serde_json::Value;

fn bench(more: &[&str]) -> crate::program::Finished {
    let folder = tempfile::tempdir().unwrap();
    let short = ["--seconds", "1", "--warm-up", "0.25", "--trials", "2"];
    q2c(folder.path(), &[&["bench"], more, &short[..]].concat())
}

fn cell<'a>(result: &'a Value, method: &str, jobs: u64, depth: u64) -> &'a Value {
    let cells = result["cells"].as_array().unwrap().iter();
    let mut mine =
        cells.filter(|c| c["method"] == method && c["jobs"] == jobs && c["depth"] == depth);
    mine.next()
        .unwrap_or_else(|| panic!("no {method} {jobs} {depth}: {result:#}"))
}

/// Jobs, depth, and the IOPS of devices that serve two requests of 5 ms at once.
const POINTS: [(u64, u64, f64); 5] = [
    (1, 1, 200.0),
    (1, 2, 400.0),
    (1, 4, 400.0),
    (2, 1, 400.0),
    (4, 2, 1600.0),
];

fn slow_devices() -> Value {
    let device = ["sim:5ms,servers=2", "--method", "interrupt", "--json"];
    let axes = ["--jobs", "1,2,4", "--depth", "1,2,4"];
    bench(&[&device[..], &axes].concat()).json()
}

/// Whether no other process held the CPU for long. A timer that wakes late makes the simulated
/// device slower.
fn undisturbed(result: &Value) -> bool {
    POINTS.iter().all(|&(jobs, depth, wanted)| {
        number(cell(result, "interrupt", jobs, depth), "/iops/median") > wanted * 0.8
    })
}

/// Each job has a device of its own that serves two requests at once, 5 ms each: 200 per second at
/// depth 1, 400 from depth 2 on, and twice as many for two jobs. A run that was disturbed is
/// repeated.
#[test]
fn throughput_is_that_of_the_device() {
    let mut runs = std::iter::repeat_with(slow_devices).take(4);
    let result = runs.find(undisturbed);
    let result = result.expect("one of four runs in which the devices are not slower than told");
    assert_eq!(result["schema"], "q2c.bench/2");
    assert_eq!(result["cells"].as_array().unwrap().len(), 9);
    for (jobs, depth, wanted) in POINTS {
        let cell = cell(&result, "interrupt", jobs, depth);
        let iops = number(cell, "/iops/median");
        assert!(iops <= wanted * 1.02, "{jobs} x {depth}: {iops}");
        let mean = number(cell, "/lat_ns/mean");
        let little = jobs as f64 * depth as f64 / iops * 1e9;
        assert!(
            (mean / little - 1.0).abs() < 0.05,
            "Little's law: {mean} against {little}"
        );
        assert_eq!(cell["iops"]["trials"], 2);
        assert_eq!(cell["effective_mode"]["kind"], "interrupt");
        assert!(number(cell, "/lat_ns/p99") >= number(cell, "/lat_ns/p50"));
        assert!(number(cell, "/cpu/job_s/median") < 0.5 * jobs as f64);
    }
    let curves = result["scaling"].as_array().unwrap();
    assert_eq!(curves.len(), 3, "one per depth");
    assert_eq!(
        (&curves[0]["peak"], &curves[0]["collapse"]),
        (&4.into(), &Value::Null)
    );
    let refused = curves[0]["refused"].as_str().unwrap();
    assert!(
        refused.contains("point"),
        "three points are too few for a fit: {refused}"
    );
}

#[test]
fn a_rule_that_sleeps_too_long_misses_and_polling_takes_the_cpu() {
    let result = bench(&["sim:2ms", "--method", "poll,hybrid:fixed:4ms", "--json"]).json();
    let rule = result["cells"][1]["method"].as_str().unwrap().to_owned();
    let (poll, hybrid) = (cell(&result, "poll", 1, 1), cell(&result, &rule, 1, 1));
    assert!(number(poll, "/cpu/job_s/median") > 0.7, "{poll:#}");
    assert_eq!(number(hybrid, "/miss_rate/median"), 1.0);
    assert_eq!(poll["miss_rate"], Value::Null);
    assert!(number(hybrid, "/lat_ns/p50") >= 4e6 * 0.99);
    assert_eq!(hybrid["effective_mode"]["kind"], "hybrid");
}

#[test]
fn points_that_do_not_exist_are_told_and_nothing_else_is_an_error() {
    let ended = bench(&["sim:5ms", "--method", "interrupt,sqpoll", "--json"]);
    let result = ended.json();
    assert_eq!(result["cells"].as_array().unwrap().len(), 1);
    let left = &result["left_out"][0];
    assert_eq!(left["method"], "sqpoll");
    assert!(
        left["reason"].as_str().unwrap().contains("no sqpoll"),
        "{left}"
    );
    let ended = bench(&["sim:5ms", "--method", "sqpoll"]);
    ended.refused(2, &["none of the points exists", "no sqpoll"]);
    let ended = bench(&["sim:5ms", "--method", "interrupt,often"]);
    ended.refused(2, &["often", "hybrid:RULE"]);
    let ended = bench(&["sim:5ms", "--jobs", "0"]);
    ended.refused(2, &["1,2,4 or 1..8"]);
}

/// A device fails its 100th request. No number of that trial is kept, but the reason is.
#[test]
fn a_failed_request_leaves_no_number() {
    let engines = "fault:eio@100:sim:2ms,sim:2ms";
    let both = ["sim:2ms", "--engine", engines, "--method", "interrupt"];
    let result = bench(&[&both[..], &["--json"]].concat()).json();
    let cell = &result["cells"][0];
    assert_eq!(cell["iops"]["trials"], 0, "{cell:#}");
    let reason = cell["failures"][0].as_str().unwrap();
    assert!(reason.contains("Input/output error"), "{reason}");
    assert_eq!(result["cells"][1]["iops"]["trials"], 2);
}

/// The kernel thread of a ring spins beside its job. Its time belongs to the cost of the job,
/// although the CPU usage of the job's own thread does not contain it.
#[test]
fn the_kernel_thread_of_sqpoll_is_charged() {
    let result = bench(&[
        "--scratch",
        "4m",
        "--engine",
        "io_uring",
        "--method",
        "interrupt,sqpoll",
        "--json",
    ])
    .json();
    let (interrupt, sqpoll) = (
        cell(&result, "interrupt", 1, 1),
        cell(&result, "sqpoll", 1, 1),
    );
    assert_eq!(
        sqpoll["failures"].as_array().unwrap().len(),
        0,
        "{sqpoll:#}"
    );
    assert_eq!(number(interrupt, "/cpu/helper_s/median"), 0.0);
    // The thread never rests, but it shares the machine with everything else that runs here.
    let helper = number(sqpoll, "/cpu/helper_s/median");
    assert!(helper > 0.15 && helper < 1.1, "{helper} CPUs");
    let (busy, own) = (
        number(sqpoll, "/cpu/busy_s/median"),
        number(sqpoll, "/cpu/job_s/median"),
    );
    assert!(busy > 0.8 * (helper + own), "{busy} {helper} {own}");
    let proof = sqpoll["effective_mode"]["proof"].as_array().unwrap();
    assert!(
        proof.contains(&serde_json::json!({ "sqpoll-threads": 1 })),
        "{proof:?}"
    );
}

/// Table, CSV, JSON and page are drawn again from the files of the run.
#[test]
fn a_run_can_be_drawn_again() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let short = ["--seconds", "1", "--warm-up", "0.25", "--trials", "1"];
    let printed = q2c(
        folder,
        &[&["bench", "sim:5ms", "--jobs", "1,2"], &short[..]].concat(),
    )
    .done();
    assert!(
        printed.contains("4 KiB randread, depth 1") && printed.contains("KIOPS/core"),
        "{printed}"
    );
    let run = std::fs::read_dir(folder.join("runs"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let run = run.to_str().unwrap();
    assert_eq!(q2c(folder, &["report", run]).done(), printed);
    let result = q2c(folder, &["report", run, "--json"]).json();
    let csv = q2c(folder, &["report", run, "--csv"]).done();
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines.len(), 1 + result["cells"].as_array().unwrap().len());
    let column = lines[0].split(',').position(|name| name == "iops").unwrap();
    let first: f64 = lines[1].split(',').nth(column).unwrap().parse().unwrap();
    assert_eq!(first, number(&result["cells"][0], "/iops/median"));
    q2c(folder, &["report", run, "--html", "again.html"]).done();
    let page = std::fs::read_to_string(folder.join("again.html")).unwrap();
    assert!(page.contains("Over the number of jobs") && page.contains("sim:5ms interrupt"));
}
