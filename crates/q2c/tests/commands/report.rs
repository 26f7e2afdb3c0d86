//! Tests of `q2c report`, and of a simulation on a run's trace with its calibration.

use crate::program::*;

/// Runs tune once on a simulated device of 50 us, and tests the later uses of that run.
#[test]
fn a_run_can_be_drawn_and_simulated_again() {
    let folder = Place::new();
    let table = folder.done("tune sim:50us --seconds 0.2 --trials 1");
    let run = folder.only_run();
    let file = run.join("result.json");
    let result = strict_json(&folder.text(&file));
    // The report prints the same table as tune, from the folder and from the file.
    let drawn = folder.reports(&run, &result);
    assert_eq!(drawn.table, table);
    assert_eq!(folder.done(format!("report {}", file.display())), table);
    let rows: Vec<&str> = drawn.csv.lines().collect();
    assert_eq!(rows.len(), result.list("cells").len() + 1);
    let head = "jobs,bs_bytes,method,policy";
    assert!(rows[0].starts_with(head), "{}", drawn.csv);
    let all_4k = rows[1..].iter().all(|row| row.starts_with("1,4096,"));
    assert!(all_4k, "{}", drawn.csv);
    has_words(&drawn.page, "sim:50us | </html>");
    // An existing file is not overwritten.
    let again = folder.q2c(format!("report {} --html again.html", run.display()));
    again.refused(2, "found an existing file");
    assert_eq!(folder.text("again.html"), drawn.page);
    simulates_again(&folder, &run, &result);
}

/// The run's own sweep used the same costs and the same recording, so the same rule must give the
/// same numbers. A fixed sleep is compared, because it has no window. Whether a window that closes
/// at a stall contains the stall depends on a nanosecond that the sweep rounds. Other tests compare
/// rules with windows, on recordings without stalls.
fn simulates_again(folder: &Place, run: &Path, result: &Value) {
    let (trace, cost) = (run.join("trace-4096.parquet"), run.join("corrected.json"));
    let (trace, cost) = (trace.display(), cost.display());
    let sweep = &result["sweeps"][0];
    let swept = sweep.list("cells");
    let fixed = |cell: &&Value| {
        cell["rule"] == "fixed" && (1e3..=25e3).contains(&number(cell, "/effective_sleep_ns"))
    };
    let swept = swept.iter().find(fixed).expect("a fixed sleep up to 25 us");
    let policy = swept["policy"].as_str().unwrap();
    let sim = format!("poll sim {trace} --json --policy {policy}");
    let again = folder.json(format!("{sim} --cost {cost}"));
    let pairs = [(0, &sweep["poll"]), (1, &sweep["oracle"]), (2, swept)];
    for (nth, swept) in pairs {
        let again = &again["methods"][nth];
        for field in ["/iops", "/cpu_pct", "/effective_sleep_ns", "/p99_ns"] {
            let (a, b) = (number(again, field), number(swept, field));
            // A sweep's percentiles are the middles of classes that are 1.6 % wide.
            let share = if field == "/p99_ns" { 8e-3 } else { 1e-3 };
            assert!((a - b).abs() <= share * b.abs(), "{nth} {field}: {a} {b}");
        }
    }
    assert!(number(&again, "/methods/0/iops") > 0.0);
    // The folder of the run has the costs, so they need not be named.
    let unnamed = folder.json(&sim);
    assert_eq!(unnamed["methods"], again["methods"]);
    let info = folder.json(format!("trace info {trace} --json"));
    assert_eq!(number(&info, "/summary/records"), number(sweep, "/ios"));
    let wrong = folder.q2c(format!("{sim} --bs 64k --cost {cost}"));
    wrong.refused(3, "expected a calibration for 64 KiB, found 4 KiB");
}

/// The `--json` output of a command is read back without a loss, and drawn like the command draws
/// it. Forms that such a result lacks are refused.
#[test]
fn simulations_are_drawn_again() {
    let folder = Place::new();
    // Two rules treat these latencies differently.
    let lines: String = (0..3_000).map(|n| format!("{}\n", 50 + n % 40)).collect();
    folder.put("l.txt", lines);
    for command in ["sim", "sweep"] {
        let how = "l.txt --unit us --policy min:70%,10ms --measure 100ms";
        let poll = |form: &str| folder.q2c(format!("poll {command} {how} {form}"));
        let json = poll("--json").json();
        folder.put("r.json", json.to_string());
        let report = |form: &str| folder.q2c(format!("report r.json {form}"));
        assert_eq!(report("--json").json(), json, "{command}");
        // A sweep's table ends with its speed; the lines above are the same.
        let head = |text: &str| text.lines().take(8).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(
            head(&report("").done()),
            head(&poll("").done()),
            "{command}"
        );
        report(&format!("--html {command}.html")).done();
        match command {
            "sim" => report("--csv").refused(2, "draw CSV | q2c.poll-sim/1"),
            _ => drop(report("--csv").done()),
        }
    }
}

#[test]
fn a_watch_is_drawn_again() {
    let folder = Place::new();
    let text = folder.done("poll watch sim:50us --seconds 0.6 --interval 100ms --json");
    let (_, mut json) = lines(&text);
    json.as_object_mut().unwrap().remove("kind");
    // A result may also be the summary alone, or a document of several lines.
    for kept in [
        text.clone(),
        text.lines().next_back().unwrap().to_owned(),
        serde_json::to_string_pretty(&json).unwrap(),
    ] {
        folder.put("w.json", kept);
        assert_eq!(folder.json("report w.json --json"), json);
    }
    folder.put("cut.json", text.lines().next().unwrap());
    let cut = folder.q2c("report cut.json");
    cut.refused(3, "cut.json | last line of kind `summary`");
    has_words(&folder.done("report w.json"), "poll");
}
