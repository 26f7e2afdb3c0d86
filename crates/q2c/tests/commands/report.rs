//! Tests of `q2c report`, and of a simulation on a run's trace with its calibration.

use crate::program::*;

fn read(path: &Path) -> Value {
    strict_json(&fs::read_to_string(path).unwrap())
}

/// Runs tune once on a simulated device of 50 us, and tests what can be made of the run later.
#[test]
fn a_run_can_be_drawn_and_simulated_again() {
    let folder = Place::new();
    let tune = ["tune", "sim:50us", "--seconds", "0.2", "--trials", "1"];
    let table = folder.words(&tune).done();
    let run = folder.run();
    let result = read(&run.join("result.json"));
    let name = run.to_str().unwrap();

    // The report prints the table that tune printed, from the folder and from the file.
    assert_eq!(folder.q2c(format!("report {name}")).done(), table);
    let file = run.join("result.json");
    assert_eq!(
        folder.words(&["report", file.to_str().unwrap()]).done(),
        table
    );

    let cells = result.list("cells");
    let csv = folder.q2c(format!("report {name} --csv")).done();
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

    let json = folder.q2c(format!("report {name} --json")).json();
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
    let draw = format!("report {run} --html again.html");
    let said = run_q2c(folder, &draw);
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert_eq!(said.stdout.as_str(), "", "{}", said.stderr);
    let page = fs::read_to_string(folder.join("again.html")).unwrap();
    assert!(page.contains("sim:50us") && page.contains("</html>"));
    run_q2c(folder, &draw).refused(2, "found an existing file");
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
    let swept = sweep.list("cells");
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
    ended.refused(3, "expected a calibration for 64 KiB, found 4 KiB");
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
    let folder = Place::new();
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
            run_q2c(at, "report r.json --json").json(),
            json,
            "{command}"
        );
        let drawn = run_q2c(at, "report r.json").done();
        let table = asked(&[]).done();
        // A sweep tells how fast it was; the rest of its table is the same.
        let head = |text: &str| text.lines().take(8).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(head(&drawn), head(&table), "{command}");
        let page = q2c(
            at,
            &["report", "r.json", "--html", &format!("{command}.html")],
        );
        let csv = run_q2c(at, "report r.json --csv");
        if forms {
            assert_eq!((page.code, csv.code), (0, 0), "{command}")
        } else {
            assert_eq!(page.code, 0, "{command}");
            csv.refused(2, "draw CSV | q2c.poll-sim/1");
        }
    }
}

#[test]
fn a_watch_is_drawn_again() {
    let folder = Place::new();
    let at = folder.path();
    let watch = "poll watch sim:50us --seconds 0.6 --interval 100ms --json";
    let text = run_q2c(at, watch).done();
    let (_, mut json) = lines(&text);
    json.as_object_mut().unwrap().remove("kind");
    fs::write(at.join("w.json"), &text).unwrap();
    assert_eq!(run_q2c(at, "report w.json --json").json(), json);
    // The summary alone is a result, too, as is the result in a document of several lines.
    for alone in [
        text.lines().next_back().unwrap().to_owned(),
        serde_json::to_string_pretty(&json).unwrap(),
    ] {
        fs::write(at.join("s.json"), alone).unwrap();
        assert_eq!(run_q2c(at, "report s.json --json").json(), json);
    }
    let (first, _) = text.split_once('\n').unwrap();
    fs::write(at.join("cut.json"), first).unwrap();
    run_q2c(at, "report cut.json").refused(3, "cut.json | last line of kind `summary`");
    let table = run_q2c(at, "report w.json").done();
    assert!(
        table.contains("hybrid mean") || table.contains("poll"),
        "{table}"
    );
}
