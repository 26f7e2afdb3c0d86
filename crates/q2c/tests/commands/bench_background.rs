//! Tests of background jobs, sleeps and leads of `q2c bench` on devices whose speed is known.

use crate::program::*;

/// A device that serves one request of 5 ms at a time: 200 per second, for all jobs together.
const DEVICE: &str = "bench sim:5ms,servers=1 --method interrupt";
const SHORT: &str = "--seconds 1 --warm-up 0.25 --trials 2";

fn cells(result: &Value) -> &[Value] {
    result.list("cells")
}

fn result(options: &str) -> Value {
    Place::new().json(format!("{DEVICE} {options} {SHORT} --json"))
}

/// Checks a figure, allowing for the I/Os at the edges of a trial.
#[track_caller]
fn assert_about(value: f64, wanted: f64) {
    assert_near(value, wanted, 0.005);
}

/// The only server is shared fairly. A job alone has all 200 requests per second. Beside one
/// background job it has 100, and beside three background requests in flight 50.
#[test]
fn a_background_takes_its_share_of_the_device() {
    let three = "'bs=4k,depth=1; bs=4k,depth=2'";
    let backgrounds = "--background none --background bs=4k --background";
    let result = result(&format!("{backgrounds} {three}"));
    assert_eq!(cells(&result).len(), 3);
    let text = "rw=randread,bs=4096,depth=1,jobs=1,wait=interrupt";
    assert_eq!(cells(&result)[0]["background"], Value::Null);
    assert_eq!(cells(&result)[0]["background_jobs"], Value::Null);
    assert_eq!(cells(&result)[1]["background"], text);
    let shares = [(200.0, 0.0), (100.0, 100.0), (50.0, 150.0)];
    for (cell, (job_iops, other_iops)) in cells(&result).iter().zip(shares) {
        assert_about(number(cell, "/iops/median"), job_iops);
        if other_iops == 0.0 {
            continue;
        }
        assert_about(number(cell, "/background_jobs/iops/median"), other_iops);
        assert_about(number(cell, "/background_jobs/alone_iops/median"), 200.0);
        assert_eq!(cell["background_jobs"]["rest_busy_cpus"]["trials"], 2);
        // The job has one of eight CPUs, and its background another one.
        assert_eq!(cell["background_jobs"]["shares_cpus"], false);
        let (cpus, job_cpu) = (&cell["background_jobs"]["cpus"], &cell["cpus"][0]);
        assert!(!cpus.as_array().unwrap().contains(job_cpu), "{cell:#}");
    }
}

/// The job continues when the background starts. The same trial has 200 requests per second in its
/// first phase and 100 in its second.
#[test]
fn phases_are_parts_of_one_trial() {
    let result = result("--phases --background none --background bs=4k");
    assert_eq!(result["job"]["phases"], true);
    assert_eq!(cells(&result).len(), 2);
    // A phase has one slice of warm-up and four counted ones; the second follows the first.
    for (cell, (iops, begin_s)) in cells(&result).iter().zip([(200.0, 0.0), (100.0, 1.25)]) {
        assert_about(number(cell, "/iops/median"), iops);
        let courses = cell.list("courses");
        assert_eq!(courses.len(), 2, "{cell:#}");
        let course = courses[0].as_array().unwrap();
        assert_eq!(course.len(), 5);
        assert_eq!(course[0]["counted"], false);
        assert_eq!(course[1]["counted"], true);
        // A slice ends with the I/O in flight at its end.
        let begun = number(&course[0], "/begin_s");
        assert!((begin_s..begin_s + 0.005).contains(&begun), "{begun}");
        let background = number(&course[2], "/background_iops");
        assert_eq!(background > 0.0, begin_s > 0.0, "{course:#?}");
        assert!(background.is_sign_positive(), "{course:#?}");
    }
}

/// A sleep of 2 ms on a device of 5 ms never misses, and one of 9 ms always does. The job then has
/// 1 / 9 ms = 111 requests per second instead of 200, so interrupts lead.
#[test]
fn sleeps_and_leads_are_told_and_drawn_again() {
    let folder = Place::new();
    let methods = "interrupt,hybrid:fixed:2ms,hybrid:fixed:9ms";
    let bench = format!("bench sim:5ms,servers=2 --method {methods} --jobs 1,2 {SHORT}");
    let printed = folder.done(bench);
    has_words(&unwrapped(&printed), "effective sleep 2.00 ms, slept");
    has_words(&printed, "lead:");
    let result = folder.json(format!("report {} --json", folder.only_run().display()));
    let Reports { table, csv, page } = folder.reports(folder.only_run(), &result);
    assert_eq!(table, printed);
    for (cell, asked) in cells(&result)[2..].iter().zip([2e6, 2e6, 9e6, 9e6]) {
        let effective = number(cell, "/effective_sleep_ns/median");
        assert_eq!(effective, asked, "{cell:#}");
        assert_eq!(number(cell, "/slept_ns/min"), asked + 2_500.0, "{cell:#}");
    }
    assert_eq!(cells(&result)[0]["effective_sleep_ns"], Value::Null);
    assert_eq!(number(&cells(&result)[4], "/miss_rate/median"), 1.0);
    let leads = texts(&result, "leads", "measure");
    assert_eq!(leads, ["iops", "kiops-per-core"]);
    for leader in result["leads"][0].list("leaders") {
        assert_ne!(leader["method"], "hybrid:fixed:9ms", "{leader}");
    }
    let head = csv.lines().next().unwrap();
    has_words(head, "effective_sleep_ns_max,slept_ns");
    has_words(&page, "<dt>lead</dt>");
}

/// The stored run recommends `hybrid:uring` for 4 KiB, which is added with its role.
#[test]
fn a_tuned_method_is_measured_beside_the_others() {
    let folder = Place::new();
    let run = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/kept/tune-4.json");
    let bench = format!("bench sim:5ms --method interrupt --tuned {run} --json");
    let result = folder.json(format!("{bench} {SHORT}"));
    let methods = texts(&result, "cells", "method");
    assert_eq!(methods, ["interrupt", "hybrid:uring"]);
    let tuned = &result["job"]["tuned"];
    assert_eq!(tuned["methods"][0]["method"], "hybrid:uring");
    assert_eq!(tuned["target"], "sim:200us");
    let ended = folder.q2c(format!("{bench} --bs 8k"));
    ended.refused(3, "no answer for 8 KiB | --bs");
}
