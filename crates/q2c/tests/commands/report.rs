//! Tests of `q2c report`, and of a simulation on a run's trace with its calibration.

use crate::program::{close, lines, number, put, q2c, run_in, split};
use q2c_testkit::strict_json;
use serde_json::Value;
use std::fs;
use std::path::Path;

fn read(path: &Path) -> Value {
    strict_json(&fs::read_to_string(path).unwrap())
}

/// Runs tune once on a simulated device of 50 us, and tests what can be made of the run later.
#[test]
fn a_run_can_be_drawn_and_simulated_again() {
    let folder = tempfile::tempdir().unwrap();
    let tune = ["tune", "sim:50us", "--seconds", "0.2", "--trials", "1"];
    let table = q2c(folder.path(), &tune).done();
    let run = run_in(folder.path());
    let result = read(&run.join("result.json"));
    let name = run.to_str().unwrap();

    // The report prints the table that tune printed, from the folder and from the file.
    assert_eq!(q2c(folder.path(), &["report", name]).done(), table);
    let file = run.join("result.json");
    assert_eq!(
        q2c(folder.path(), &["report", file.to_str().unwrap()]).done(),
        table
    );

    let cells = result["cells"].as_array().unwrap();
    let csv = q2c(folder.path(), &["report", name, "--csv"]).done();
    let rows: Vec<&str> = csv.lines().collect();
    assert_eq!(rows.len(), cells.len() + 1);
    assert!(
        rows[0].starts_with("jobs,bs_bytes,method,policy"),
        "{}",
        rows[0]
    );
    assert!(
        rows[1..].iter().all(|row| row.starts_with("1,4096,")),
        "{csv}"
    );

    let json = q2c(folder.path(), &["report", name, "--json"]).json();
    assert_eq!(json["recommendation"], result["recommendation"]);
    close(
        number(&json, "/cells/0/measured/iops/median"),
        number(&result, "/cells/0/measured/iops/median"),
    );

    draws_html(folder.path(), name);
    simulates_again(folder.path(), &run, &result);
}

/// The page is written once. An existing file of that name is left alone.
fn draws_html(folder: &Path, run: &str) {
    let draw = ["report", run, "--html", "again.html"];
    let said = q2c(folder, &draw);
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert_eq!(said.stdout.as_str(), "", "{}", said.stderr);
    let page = fs::read_to_string(folder.join("again.html")).unwrap();
    assert!(page.contains("sim:50us") && page.contains("</html>"));
    q2c(folder, &draw).refused(2, &["found an existing file"]);
    assert_eq!(fs::read_to_string(folder.join("again.html")).unwrap(), page);
}

/// The run's own sweep used the same costs and the same recording, so the same rule must give the
/// same numbers. A fixed sleep is compared, because it has no window. A window that closes at a
/// stall of a busy machine may contain the stall or not, which depends on a nanosecond that the
/// sweep rounds. Rules with windows are compared elsewhere, on recordings without stalls.
fn simulates_again(folder: &Path, run: &Path, result: &Value) {
    let trace = run.join("trace-4096.parquet");
    let cost = run.join("corrected.json");
    let sweep = &result["sweeps"][0];
    let swept = sweep["cells"].as_array().unwrap();
    let fixed = |cell: &&Value| {
        cell["rule"] == "fixed" && (1e3..=25e3).contains(&number(cell, "/effective_sleep_ns"))
    };
    let swept = swept.iter().find(fixed).expect("a fixed sleep up to 25 us");
    let policy = swept["policy"].as_str().unwrap();
    let sim = [
        "poll",
        "sim",
        trace.to_str().unwrap(),
        "--json",
        "--policy",
        policy,
    ];
    let again = q2c(
        folder,
        &[&sim[..], &["--cost", cost.to_str().unwrap()]].concat(),
    )
    .json();
    let pairs = [(0, &sweep["poll"]), (1, &sweep["oracle"]), (2, swept)];
    for (at, swept) in pairs {
        let again = &again["methods"][at];
        for field in ["/iops", "/cpu_pct", "/effective_sleep_ns", "/p99_ns"] {
            let (a, b) = (number(again, field), number(swept, field));
            // A sweep's percentiles are the middles of classes 1.6 % wide.
            let within = if field == "/p99_ns" { 8e-3 } else { 1e-3 };
            assert!((a - b).abs() <= within * b.abs(), "{at} {field}: {a} {b}");
        }
    }
    assert!(number(&again, "/methods/0/iops") > 0.0);
    // The folder of the run has the costs, which need no name then.
    let unnamed = q2c(folder, &sim).json();
    assert_eq!(unnamed["methods"], again["methods"]);
    let said = q2c(
        folder,
        &["trace", "info", trace.to_str().unwrap(), "--json"],
    )
    .json();
    assert_eq!(number(&said, "/summary/records"), number(sweep, "/ios"));
    let wrong = ["--bs", "64k", "--cost", cost.to_str().unwrap()];
    let ended = q2c(folder, &[&sim[..], &wrong].concat());
    ended.refused(3, &["expected a calibration for 64 KiB, found 4 KiB"]);
}

#[test]
fn what_is_no_result_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    q2c(folder.path(), &["report", "absent"]).refused(3, &["read absent"]);
    q2c(folder.path(), &["report", "."]).refused(3, &["the run has not ended"]);
    put(
        &folder.path().join("result.json"),
        "{\"schema\": \"q2c.tune/99\"}",
    );
    q2c(folder.path(), &["report", "."]).refused(3, &["q2c.tune/4", "q2c.tune/99"]);
    fs::write(folder.path().join("result.json"), "[]").unwrap();
    q2c(folder.path(), &["report", "."]).refused(3, &["expected a result of q2c"]);
    q2c(folder.path(), &["report", ".", "--csv", "--json"]).refused(2, &["cannot be used"]);
}

#[test]
fn a_result_of_another_version_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("result.json"), r#"{"schema": "q2c.replay/1"}"#).unwrap();
    for command in [
        &["report", "."][..],
        &["report", "result.json", "--json"],
        &["diff", "result.json", "result.json"],
    ] {
        q2c(at, command).refused(3, &["q2c.replay/1"]);
    }
    let phrases = ["q2c.replay/3", "`q2c.replay/1`; use the q2c that wrote it"];
    q2c(at, &["report", "."]).refused(3, &phrases);
}

/// Latencies that two rules treat differently.
fn latencies(folder: &Path) {
    let lines: String = (0..3_000).map(|n| format!("{}\n", 50 + n % 40)).collect();
    fs::write(folder.join("l.txt"), lines).unwrap();
}

/// What a command prints with `--json` is read back without a loss, and drawn as the command draws
/// it. Forms that such a result does not have are refused.
#[test]
fn simulations_are_drawn_again() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    latencies(at);

    for (command, forms) in [("sim", false), ("sweep", true)] {
        let asked = |more: &[&str]| {
            let how = "--unit us --policy min:70%,10ms --measure 100ms";
            q2c(
                at,
                &[&split(&format!("poll {command} l.txt {how}")), more].concat(),
            )
        };
        let json = asked(&["--json"]).json();
        fs::write(at.join("r.json"), json.to_string()).unwrap();
        assert_eq!(
            q2c(at, &["report", "r.json", "--json"]).json(),
            json,
            "{command}"
        );
        let drawn = q2c(at, &["report", "r.json"]).done();
        let table = asked(&[]).done();
        // A sweep tells how fast it was; the rest of its table is the same.
        let head = |text: &str| text.lines().take(8).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(head(&drawn), head(&table), "{command}");
        let page = q2c(
            at,
            &["report", "r.json", "--html", &format!("{command}.html")],
        );
        let csv = q2c(at, &["report", "r.json", "--csv"]);
        if forms {
            assert_eq!((page.code, csv.code), (0, 0), "{command}")
        } else {
            assert_eq!(page.code, 0, "{command}");
            csv.refused(2, &["draw CSV", "q2c.poll-sim/1"]);
        }
    }
}

#[test]
fn a_watch_is_drawn_again() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let watch = split("poll watch sim:50us --seconds 0.6 --interval 100ms --json");
    let text = q2c(at, &watch).done();
    let (_, mut json) = lines(&text);
    json.as_object_mut().unwrap().remove("kind");
    fs::write(at.join("w.json"), &text).unwrap();
    assert_eq!(q2c(at, &["report", "w.json", "--json"]).json(), json);
    // The summary alone is a result, too, as is the result in a document of several lines.
    for alone in [
        text.lines().next_back().unwrap().to_owned(),
        serde_json::to_string_pretty(&json).unwrap(),
    ] {
        fs::write(at.join("s.json"), alone).unwrap();
        assert_eq!(q2c(at, &["report", "s.json", "--json"]).json(), json);
    }
    let (first, _) = text.split_once('\n').unwrap();
    fs::write(at.join("cut.json"), first).unwrap();
    q2c(at, &["report", "cut.json"]).refused(3, &["cut.json", "last line of kind `summary`"]);
    let table = q2c(at, &["report", "w.json"]).done();
    assert!(
        table.contains("hybrid mean") || table.contains("poll"),
        "{table}"
    );
}
