//! Tests of background jobs, sleeps and leads of `q2c bench` on devices whose speed is known.

use crate::program::{has_words, number, q2c, run_in, split, texts, within};
use serde_json::Value;

/// A device that serves one request of 5 ms at a time: 200 per second, for all jobs together.
const DEVICE: [&str; 4] = ["bench", "sim:5ms,servers=1", "--method", "interrupt"];
const SHORT: [&str; 6] = ["--seconds", "1", "--warm-up", "0.25", "--trials", "2"];

fn cells(result: &Value) -> &[Value] {
    result["cells"].as_array().expect("the cells of a result")
}

fn result(options: &[&str]) -> Value {
    let folder = tempfile::tempdir().expect("a folder");
    let arguments = [&DEVICE, options, &SHORT, &["--json"]].concat();
    q2c(folder.path(), &arguments).json()
}

/// Checks a figure up to the I/Os at the edges of a trial.
#[track_caller]
fn about(value: f64, wanted: f64) {
    within(value, wanted, 0.005);
}

/// The one server is shared fairly: a job has all 200 requests per second alone, 100 beside one
/// background job, and 50 beside three requests in flight of background jobs.
#[test]
fn a_background_takes_its_share_of_the_device() {
    let three = "bs=4k,depth=1; bs=4k,depth=2";
    let backgrounds = ["--background", "none", "--background", "bs=4k"];
    let result = result(&[&backgrounds[..], &["--background", three]].concat());
    assert_eq!(cells(&result).len(), 3);
    let text = "rw=randread,bs=4096,depth=1,jobs=1,wait=interrupt";
    assert_eq!(cells(&result)[0]["background"], Value::Null);
    assert_eq!(cells(&result)[0]["background_jobs"], Value::Null);
    assert_eq!(cells(&result)[1]["background"], text);
    let shares = [(200.0, 0.0), (100.0, 100.0), (50.0, 150.0)];
    for (cell, (job_iops, others)) in cells(&result).iter().zip(shares) {
        about(number(cell, "/iops/median"), job_iops);
        if others == 0.0 {
            continue;
        }
        about(number(cell, "/background_jobs/iops/median"), others);
        about(number(cell, "/background_jobs/alone_iops/median"), 200.0);
        assert_eq!(cell["background_jobs"]["rest_busy_cpus"]["trials"], 2);
        // Of eight CPUs the job has one, and its background another one.
        assert_eq!(cell["background_jobs"]["shares_cpus"], false);
        let (cpus, job_cpu) = (&cell["background_jobs"]["cpus"], &cell["cpus"][0]);
        assert!(!cpus.as_array().unwrap().contains(job_cpu), "{cell:#}");
    }
}

/// The job runs on while the background comes: the same trial has 200 requests per second in its
/// first phase and 100 in its second.
#[test]
fn phases_are_parts_of_one_trial() {
    let options = ["--phases", "--background", "none", "--background", "bs=4k"];
    let result = result(&options);
    assert_eq!(result["job"]["phases"], true);
    assert_eq!(cells(&result).len(), 2);
    // A phase has one slice of warm-up and four that count, and the second follows the first.
    for (cell, (iops, begin)) in cells(&result).iter().zip([(200.0, 0.0), (100.0, 1.25)]) {
        about(number(cell, "/iops/median"), iops);
        let courses = cell["courses"].as_array().unwrap();
        assert_eq!(courses.len(), 2, "{cell:#}");
        let course = courses[0].as_array().unwrap();
        assert_eq!(course.len(), 5);
        assert_eq!(course[0]["counted"], false);
        assert_eq!(course[1]["counted"], true);
        // A slice ends with the I/O that is in flight at its end.
        let at = course[0]["begin_s"].as_f64().unwrap();
        assert!((begin..begin + 0.005).contains(&at), "{at} {begin}");
        let background = course[2]["background_iops"].as_f64().unwrap();
        assert_eq!(background > 0.0, begin > 0.0, "{course:#?}");
        assert!(background.is_sign_positive(), "{course:#?}");
    }
}

/// A sleep of 2 ms on a device of 5 ms never misses, and one of 9 ms always does: the job then has
/// 1 / 9 ms = 111 requests per second instead of 200, so that interrupts lead.
#[test]
fn sleeps_and_leads_are_told_and_drawn_again() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let methods = "interrupt,hybrid:fixed:2ms,hybrid:fixed:9ms";
    let device = ["bench", "sim:5ms,servers=2", "--method", methods];
    let printed = q2c(folder, &[&device[..], &["--jobs", "1,2"], &SHORT].concat()).done();
    let one_line = printed.split_whitespace().collect::<Vec<_>>().join(" ");
    has_words(&one_line, &["effective sleep 2.00 ms, slept"]);
    assert!(printed.contains("lead:"), "{printed}");
    let run = run_in(folder);
    let run = run.to_str().unwrap();
    assert_eq!(q2c(folder, &["report", run]).done(), printed);
    let result = q2c(folder, &["report", run, "--json"]).json();
    for (cell, asked) in cells(&result)[2..].iter().zip([2e6, 2e6, 9e6, 9e6]) {
        assert_eq!(
            number(cell, "/effective_sleep_ns/median"),
            asked,
            "{cell:#}"
        );
        assert_eq!(number(cell, "/slept_ns/min"), asked + 2_500.0, "{cell:#}");
    }
    assert_eq!(cells(&result)[0]["effective_sleep_ns"], Value::Null);
    assert_eq!(number(&cells(&result)[4], "/miss_rate/median"), 1.0);
    assert_eq!(
        texts(&result, "leads", "measure"),
        ["iops", "kiops-per-core"]
    );
    for leader in result["leads"][0]["leaders"].as_array().unwrap() {
        assert_ne!(leader["method"], "hybrid:fixed:9ms", "{leader}");
    }
    let csv = q2c(folder, &["report", run, "--csv"]).done();
    assert!(
        csv.lines()
            .next()
            .unwrap()
            .contains("effective_sleep_ns_max,slept_ns"),
        "{csv}"
    );
    q2c(folder, &["report", run, "--html", "again.html"]).done();
    let page = std::fs::read_to_string(folder.join("again.html")).unwrap();
    assert!(page.contains("<dt>lead</dt>"));
}

#[test]
fn a_background_that_cannot_run_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |arguments: &[&str], code, wanted: &[&str]| {
        let ended = q2c(folder.path(), &[&["bench"], arguments, &SHORT].concat());
        ended.refused(code, wanted);
    };
    refused(
        &["sim:5ms", "--background", "speed=9"],
        2,
        &["speed=9", "keys"],
    );
    refused(&["sim:5ms", "--phases"], 2, &["--background"]);
    let commands = ["sim:5ms", "--background", "engine=io_uring_cmd"];
    refused(&commands, 2, &["io_uring_cmd in simulated time"]);
    let real = [&commands[..], &["--real-time"]].concat();
    refused(&real, 2, &["none of the points exists", "background"]);
}

/// The kept run recommends `hybrid:uring` for 4 KiB: it is a further method, and its role is told.
#[test]
fn a_tuned_method_is_measured_beside_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let run = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/kept/tune-4.json");
    let command_line = format!("bench sim:5ms --method interrupt --tuned {run} --json");
    let arguments = split(&command_line);
    let result = q2c(folder.path(), &[&arguments[..], &SHORT].concat()).json();
    assert_eq!(
        texts(&result, "cells", "method"),
        ["interrupt", "hybrid:uring"]
    );
    assert_eq!(
        result["job"]["tuned"]["methods"][0]["method"],
        "hybrid:uring"
    );
    assert_eq!(result["job"]["tuned"]["target"], "sim:200us");
    let ended = q2c(folder.path(), &[&arguments[..], &["--bs", "8k"]].concat());
    ended.refused(3, &["no answer for 8 KiB", "--bs"]);
}
