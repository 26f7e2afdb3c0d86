//! `q2c replay` and `q2c compare`.

use crate::program::{Ended, q2c};
use q2c_testkit::skip;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// A trace of reads with latencies, one line each: start and latency in us, block.
fn trace(folder: &Path, rows: impl Iterator<Item = (u64, u64, u64)>) -> PathBuf {
    let path = folder.join("trace.csv");
    let mut text = "submit,took,offset,size,op\n".to_owned();
    for (start, latency, block) in rows {
        text += &format!("{start},{latency},{},4096,read\n", block * 4096);
    }
    fs::write(&path, text).unwrap();
    let parquet = folder.join("trace.parquet");
    let columns = "submit_ns=submit,latency=took,offset=offset,bytes=size,op=op";
    let done = q2c(
        folder,
        &[
            "trace",
            "import",
            path.to_str().unwrap(),
            "--out",
            parquet.to_str().unwrap(),
            "--format",
            "csv",
            "--unit",
            "us",
            "--columns",
            columns,
        ],
    );
    assert_eq!(done.code, 0, "{}", done.stderr);
    parquet
}

/// 500 requests per second for a second, of 100 us each.
fn evenly(folder: &Path) -> PathBuf {
    trace(folder, (0..500).map(|n| (n * 2000, 100, n * 7 % 1000)))
}

fn json(done: &Ended) -> Value {
    serde_json::from_str(&done.stdout)
        .unwrap_or_else(|e| panic!("{e}: {} {}", done.stdout, done.stderr))
}

fn run(folder: &Path, words: &[&str]) -> Ended {
    q2c(folder, words)
}

#[test]
fn a_timed_replay_takes_as_long_as_the_trace_and_speed_divides_it() {
    let folder = tempfile::tempdir().unwrap();
    let trace = evenly(folder.path());
    let trace = trace.to_str().unwrap();
    let done = run(
        folder.path(),
        &[
            "replay",
            trace,
            "sim:200us,servers=4",
            "--json",
            "--max-lateness",
            "1s",
        ],
    );
    assert_eq!(done.code, 0, "{}", done.stderr);
    let result = json(&done);
    let number = |result: &Value, name: &str| {
        result[name]
            .as_f64()
            .unwrap_or_else(|| panic!("{name} in {result}"))
    };
    // The last request is due at 0.998 s and takes 200 us.
    assert!(
        (0.9980..2.0).contains(&number(&result, "completion_s")),
        "{result}"
    );
    // 500 requests of 200 us.
    assert!(
        (0.1..2.0).contains(&number(&result, "sum_u2c_s")),
        "{result}"
    );
    assert!(number(&result, "sum_u2c_intended_s") >= number(&result, "sum_u2c_s"));
    assert_eq!(
        (result["issued"].as_u64(), result["errors"].as_u64()),
        (Some(500), Some(0))
    );
    assert_eq!(
        (&result["sum_q2c_s"], &result["q2c_source"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(
        (&result["valid"], &result["saturated"]),
        (&Value::Bool(true), &Value::Bool(false))
    );
    for name in ["p50", "p99", "max"] {
        assert!(result["lateness_ns"][name].is_number());
    }
    assert!(result["end_drift_ns"].is_i64());
    let twice = run(
        folder.path(),
        &[
            "replay",
            trace,
            "sim:200us,servers=4",
            "--json",
            "--speed",
            "2",
            "--max-lateness",
            "1s",
        ],
    );
    assert!(
        (0.4990..0.99).contains(&number(&json(&twice), "completion_s")),
        "{}",
        twice.stdout
    );
}

#[test]
fn devices_of_known_truth_are_compared() {
    let folder = tempfile::tempdir().unwrap();
    let trace = evenly(folder.path());
    let trace = trace.to_str().unwrap();
    let (slow, fast) = ("sim:400us,servers=4", "sim:100us,servers=4");
    let words = [
        "compare",
        trace,
        slow,
        fast,
        "--trials",
        "3",
        "--json",
        "--max-lateness",
        "1s",
    ];
    let done = run(folder.path(), &words);
    assert_eq!(done.code, 0, "{}", done.stderr);
    let result = json(&done);
    let separation = |result: &Value, metric: &str| -> Value {
        let all = result["separations"].as_array().unwrap();
        all.iter()
            .find(|one| one["metric"] == metric)
            .unwrap()
            .clone()
    };
    let (sum, time) = (
        separation(&result, "sum of U2C"),
        separation(&result, "completion time"),
    );
    assert_eq!(
        (&sum["separates"], &time["separates"]),
        (&Value::Bool(true), &Value::Bool(false)),
        "{result}"
    );
    // A quarter of the service time, and the same cost of a wake-up in both.
    let ratio = sum["ratio"]["ratio"].as_f64().unwrap();
    assert!((0.2..0.9).contains(&ratio), "{ratio}");
    let says = result["verdict"].to_string();
    assert!(
        says.contains(&format!("{fast} serves this trace better"))
            && says.contains("completion time cannot tell"),
        "{says}"
    );

    let words = [
        "compare",
        trace,
        slow,
        fast,
        "--trials",
        "3",
        "--json",
        "--mode",
        "outstanding",
    ];
    let outstanding = json(&run(folder.path(), &words));
    // The trace has one request in flight at a time for 100 us of every 2 ms: 95 % of it are idle.
    let says = outstanding["verdict"].to_string();
    assert!(
        says.contains("does not reproduce a trace that idles") && says.contains("95 %"),
        "{says}"
    );
    assert_eq!(
        separation(&outstanding, "completion time")["separates"],
        Value::Bool(true)
    );
    let completion = &outstanding["devices"][0]["completion_s"]["median"];
    // 500 requests of 400 us, one after the other.
    assert!(
        (0.2..0.9).contains(&completion.as_f64().unwrap()),
        "{completion}"
    );
}

#[test]
fn a_device_too_slow_for_the_trace_is_found_saturated() {
    let folder = tempfile::tempdir().unwrap();
    // 20 000 per second on a device that does 5 000.
    let trace = trace(folder.path(), (0..4000).map(|n| (n * 50, 100, n % 1000)));
    let words = [
        "replay",
        trace.to_str().unwrap(),
        "sim:200us",
        "--json",
        "--in-flight",
        "64",
        "--max-lateness",
        "1s",
    ];
    let result = json(&run(folder.path(), &words));
    assert_eq!(
        (&result["saturated"], &result["valid"]),
        (&Value::Bool(true), &Value::Bool(true)),
        "{result}"
    );
    // The queue of 64 is full after 80 requests or so; the others wait.
    assert!(result["stalled"].as_u64().unwrap() > 3000, "{result}");
    assert!((0.8..2.0).contains(&result["completion_s"].as_f64().unwrap()));
    assert!(result["in_flight"]["most"].as_u64().unwrap() <= 64);
}

#[test]
fn a_request_that_fails_stops_the_replay_or_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let trace = evenly(folder.path());
    let trace = trace.to_str().unwrap();
    let target = "fault:eio@100:sim:50us";
    let stopped = run(
        folder.path(),
        &["replay", trace, target, "--json", "--max-lateness", "1s"],
    );
    assert_eq!(stopped.code, 6, "{}", stopped.stderr);
    let result = json(&stopped);
    assert_eq!(
        (result["errors"].as_u64(), &result["complete"]),
        (Some(1), &Value::Bool(false))
    );
    let first = result["first_error"].as_str().unwrap();
    assert!(
        first.contains("request 99") && first.contains("Input/output error"),
        "{first}"
    );
    let words = [
        "replay",
        trace,
        target,
        "--json",
        "--on-error",
        "go-on",
        "--max-lateness",
        "1s",
    ];
    let went_on = run(folder.path(), &words);
    let result = json(&went_on);
    assert_eq!(
        (
            went_on.code,
            result["issued"].as_u64(),
            result["errors"].as_u64()
        ),
        (6, Some(500), Some(1))
    );
    assert_eq!(result["valid"], Value::Bool(false));
}

#[test]
fn a_record_is_a_trace_again_and_a_profile_for_outstanding() {
    let folder = tempfile::tempdir().unwrap();
    let csv = folder.path().join("no-completions.csv");
    let mut text = "submit,offset,size,op\n".to_owned();
    (0..200).for_each(|n| text += &format!("{},{},4096,read\n", n * 1000, n * 4096));
    fs::write(&csv, text).unwrap();
    let csv = csv.to_str().unwrap();
    let columns = "submit_ns=submit,offset=offset,bytes=size,op=op";
    let how = ["--format", "csv", "--unit", "us", "--columns", columns];
    let with = |words: &[&str]| run(folder.path(), &[words, &how].concat());
    let refused = with(&["replay", csv, "sim:100us", "--mode", "outstanding"]);
    assert_eq!(refused.code, 3, "{}", refused.stderr);
    assert!(refused.stderr.contains("--record"), "{}", refused.stderr);
    let profile = folder.path().join("profile.parquet");
    let profile = profile.to_str().unwrap();
    let recorded = with(&[
        "replay",
        csv,
        "sim:100us",
        "--record",
        profile,
        "--max-lateness",
        "1s",
        "--json",
    ]);
    assert_eq!(recorded.code, 0, "{}", recorded.stderr);
    let again = run(
        folder.path(),
        &[
            "replay",
            profile,
            "sim:100us",
            "--mode",
            "outstanding",
            "--json",
        ],
    );
    assert_eq!(again.code, 0, "{}", again.stderr);
    let result = json(&again);
    assert_eq!(result["issued"].as_u64(), Some(200));
    assert!(
        result["completion_s"].as_f64().unwrap() < 0.15,
        "200 times 100 us: {result}"
    );
}

#[test]
fn writes_are_read_unless_the_target_is_named_again() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let target = folder.path().join("target.bin");
    let before: Vec<u8> = (0..1u32 << 20).map(|n| (n * 31 % 251) as u8).collect();
    fs::write(&target, &before).unwrap();
    let target = target.to_str().unwrap();
    let csv = folder.path().join("writes.csv");
    let mut text = "submit,offset,size,op\n".to_owned();
    // Twice the target's size: half of the requests begin again at its start. The last has no bytes.
    (0..512).for_each(|n| text += &format!("{},{},4096,write\n", n * 100, n * 4096));
    text += "51300,0,0,write\n";
    fs::write(&csv, text).unwrap();
    let csv = csv.to_str().unwrap();
    let columns = "submit_ns=submit,offset=offset,bytes=size,op=op";
    let words = [
        "replay",
        csv,
        target,
        "--format",
        "csv",
        "--unit",
        "us",
        "--columns",
        columns,
        "--json",
        "--max-lateness",
        "1s",
    ];
    let read = run(folder.path(), &words);
    if read.code == 5 && read.stderr.contains("direct") {
        return skip(
            "writes_are_read_unless",
            "no direct I/O on the folder of test files",
        );
    }
    assert_eq!(read.code, 0, "{}", read.stderr);
    let changed = &json(&read)["changed"];
    assert_eq!(
        changed["writes, read instead"].as_u64(),
        Some(513),
        "{changed}"
    );
    assert_eq!(
        changed["offsets begun again at the target's start (modulo)"].as_u64(),
        Some(256),
        "{changed}"
    );
    assert_eq!(
        changed["requests of no bytes, left out"].as_u64(),
        Some(1),
        "{changed}"
    );
    assert_eq!(fs::read(target).unwrap(), before, "untouched");
    let refused = run(
        folder.path(),
        &[&words[..], &["--writes", "allow"]].concat(),
    );
    assert_eq!(refused.code, 5, "{}", refused.stderr);
    assert_eq!(fs::read(target).unwrap(), before, "untouched");
    let written = run(
        folder.path(),
        &[&words[..], &["--allow-write", target]].concat(),
    );
    assert_eq!(written.code, 0, "{}", written.stderr);
    let after = fs::read(target).unwrap();
    let kept = before
        .chunks(4096)
        .zip(after.chunks(4096))
        .filter(|(a, b)| a == b)
        .count();
    assert_eq!(
        (after.len(), kept),
        (before.len(), 0),
        "every block was written"
    );
}

#[test]
fn what_cannot_keep_a_schedule_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let trace = evenly(folder.path());
    let trace = trace.to_str().unwrap();
    for (words, code, says) in [
        (
            vec!["replay", trace, "sim:50us", "--engine", "pvsync2"],
            2,
            "io_uring or libaio",
        ),
        (vec!["replay", trace], 2, "--map"),
        (
            vec!["replay", trace, "--map", "9:9=sim:50us"],
            2,
            "the trace's devices are",
        ),
        (vec!["compare", trace, "sim:50us"], 2, "TARGET"),
        (
            vec!["replay", "/does/not/exist", "sim:50us"],
            3,
            "/does/not/exist",
        ),
        (
            vec![
                "replay",
                trace,
                "sim:50us",
                "--trials",
                "2",
                "--record",
                "x.parquet",
            ],
            2,
            "one trial",
        ),
        (
            vec![
                "replay", trace, "sim:50us", "--mode", "closed", "--lane", "pid",
            ],
            3,
            "pid",
        ),
        (
            vec!["replay", trace, "sim:50us", "--share", "hctx"],
            3,
            "hardware queue",
        ),
        (
            vec![
                "replay",
                trace,
                "--map",
                "0:0=null",
                "--map",
                "0:0=sim:50us",
            ],
            2,
            "twice",
        ),
        (
            vec!["replay", trace, trace, "--discards", "allow"],
            2,
            "--allow-write",
        ),
        (
            vec!["replay", trace, "null", "--record", trace],
            2,
            "existing file",
        ),
        (
            vec!["replay", trace, "null", "--part", "500s..600s"],
            3,
            "between",
        ),
    ] {
        let done = run(folder.path(), &words);
        assert_eq!(done.code, code, "{words:?}: {}", done.stderr);
        assert!(done.stderr.contains(says), "{words:?}: {}", done.stderr);
    }
}

/// Devices of a trace go where they are sent; others are left out and counted.
#[test]
fn devices_are_mapped_to_targets() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("two.trace");
    // DiskSim: time in ns, device, block, blocks, 1 a read.
    let text: String = (0..300)
        .map(|n| format!("{} {} {} 8 1\n", n * 100_000, n % 3, n * 8))
        .collect();
    fs::write(&path, text).unwrap();
    let words = [
        "replay",
        path.to_str().unwrap(),
        "--format",
        "disksim",
        "--unit",
        "ns",
        "--map",
        "1:0=sim:100us",
        "--map",
        "1:2=null",
        "--json",
        "--max-lateness",
        "1s",
    ];
    let done = run(folder.path(), &words);
    assert_eq!(done.code, 0, "{}", done.stderr);
    let result = json(&done);
    let targets: Vec<&str> = result["targets"]
        .as_array()
        .unwrap()
        .iter()
        .map(|t| t["path"].as_str().unwrap())
        .collect();
    assert_eq!(targets, ["sim:100us", "null"]);
    assert_eq!(result["issued"].as_u64(), Some(200));
    assert_eq!(
        result["changed"]["devices without a target, left out"].as_u64(),
        Some(100)
    );
    // A hundred requests of 100 us to one, nothing to speak of to the other.
    assert!(
        (0.01..1.0).contains(&result["sum_u2c_s"].as_f64().unwrap()),
        "{result}"
    );
}

#[test]
fn a_target_is_written_before_each_trial_where_that_is_asked_for_and_allowed() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let target = folder.path().join("target.bin");
    fs::write(&target, vec![0xaa; 1 << 20]).unwrap();
    let target = target.to_str().unwrap();
    let trace = evenly(folder.path());
    let words = [
        "replay",
        trace.to_str().unwrap(),
        target,
        "--part",
        "0s..0.1s",
        "--precondition",
        "sequential",
        "--json",
        "--max-lateness",
        "1s",
    ];
    let refused = run(folder.path(), &words);
    assert_eq!(refused.code, 5, "{}", refused.stderr);
    if refused.stderr.contains("direct") {
        return skip(
            "a_target_is_written_before_each_trial",
            "no direct I/O on the folder of test files",
        );
    }
    assert!(
        fs::read(target).unwrap().iter().all(|byte| *byte == 0xaa),
        "untouched"
    );
    let done = run(
        folder.path(),
        &[&words[..], &["--allow-write", target]].concat(),
    );
    assert_eq!(done.code, 0, "{}", done.stderr);
    assert_eq!(json(&done)["job"]["precondition"], "sequential");
    let after = fs::read(target).unwrap();
    let kept = after
        .chunks(4096)
        .filter(|block| block.iter().all(|byte| *byte == 0xaa))
        .count();
    assert_eq!((after.len(), kept), (1 << 20, 0));
}

/// Half of the requests lie beyond the smaller file's end: it has less to do, and is not called better for that.
#[test]
fn devices_that_do_not_do_the_same_work_are_not_compared() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let (large, small) = (
        folder.path().join("large.bin"),
        folder.path().join("small.bin"),
    );
    fs::write(&large, vec![1; 4 << 20]).unwrap();
    fs::write(&small, vec![1; 2 << 20]).unwrap();
    let trace = trace(
        folder.path(),
        (0..200).map(|n| (n * 500, 100, n * 5 % 1000)),
    );
    let words = [
        "compare",
        trace.to_str().unwrap(),
        large.to_str().unwrap(),
        small.to_str().unwrap(),
        "--offsets",
        "clip",
        "--trials",
        "2",
        "--json",
        "--max-lateness",
        "1s",
    ];
    let done = run(folder.path(), &words);
    if done.code == 5 && done.stderr.contains("direct") {
        return skip(
            "devices_that_do_not_do_the_same_work",
            "no direct I/O on the folder of test files",
        );
    }
    let says = json(&done)["verdict"].to_string();
    assert!(
        says.contains("did not do the same work") && !says.contains("better"),
        "{says}"
    );
    assert!(!done.stdout.contains("\"separates\": true"));
}
