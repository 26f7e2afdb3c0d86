//! Tests of `q2c tune` as a whole on a simulated device: every field that `result.json` promises is
//! there, and true. Time is simulated, but where a calibration of this machine is stored.

use q2c_testkit::{busily, timed};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Runs q2c with the store of calibrations in `folder`.
fn q2c(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_q2c"))
        .args(arguments)
        .env("XDG_CACHE_HOME", folder)
        .current_dir(folder)
        .output()
        .expect("q2c runs")
}

fn tune(folder: &Path, target: &str) -> Value {
    tune_with(folder, target, &[])
}

fn tune_with(folder: &Path, target: &str, more: &[&str]) -> Value {
    tune_and_stderr(folder, target, more).0
}

/// As [`tune_with`], with what the run said on its way, in one line.
fn tune_and_stderr(folder: &Path, target: &str, more: &[&str]) -> (Value, String) {
    let short = ["--bs", "4k", "--seconds", "0.2", "--trials", "1"];
    let arguments = [&["tune", target, "--json", "--out", "."], &short[..], more].concat();
    let output = q2c(folder, &arguments);
    let stderr = String::from_utf8_lossy(&output.stderr).replace("\n ", "");
    assert!(output.status.success(), "{stderr}");
    let result = serde_json::from_slice(&output.stdout).expect("stdout is one JSON document");
    (result, stderr)
}

/// The fields of these names, which have blanks between them.
fn fields<'a>(value: &'a Value, names: &str) -> Vec<&'a Value> {
    let field = |name: &str| {
        let field = value.get(name);
        field.unwrap_or_else(|| panic!("`{name}` is missing in {value}"))
    };
    names.split(' ').map(field).collect()
}

const COMMON: &str = "iops cpu_pct miss_rate effective_sleep_ns kiops_per_core p99_ns";

/// A list that names one number of jobs is that number: the run has no parts.
#[test]
fn the_result_has_what_it_promises() {
    let folder = tempfile::tempdir().unwrap();
    let result = tune_with(folder.path(), "sim:200us", &["--jobs", "1,1"]);
    assert_eq!(result["schema"], "q2c.tune/4");
    let files = std::fs::read_dir(run_in(folder.path())).unwrap();
    let files: Vec<PathBuf> = files.map(|entry| entry.unwrap().path()).collect();
    assert!(files.iter().all(|path| path.is_file()), "{files:?}");
    let parts = "schema cells recommendation fidelity machine calibration harness_floor_ns";
    fields(&result, parts);
    for cell in result["cells"].as_array().unwrap() {
        fields(cell, "bs method policy sleeping effective_mode");
        for measured in fields(&cell["measured"], COMMON) {
            fields(measured, "median min max trials");
        }
        if cell["sleeping"] == true {
            fields(&cell["predicted"], COMMON);
        }
        for paired in fields(&cell["relative"], "iops kiops_per_core") {
            fields(paired, "median min max trials");
        }
    }
    for advice in result["recommendation"].as_array().unwrap() {
        fields(advice, "bs verdict method policy floor open");
    }
    for error in ["iops_error_pct", "cpu_points", "miss_points"] {
        fields(&result["fidelity"], &format!("{error}_median {error}_max"));
    }
    fields(&result["fidelity"], "cells drift_pct");
}

/// The entry of a list of cells with this method and the rule that starts so.
#[track_caller]
fn cell<'a>(result: &'a Value, method: &str, policy: &str) -> &'a Value {
    let mut cells = result["cells"].as_array().expect("a list").iter();
    let matching = cells.find(|cell| {
        cell["method"] == method && cell["policy"].as_str().expect("a text").starts_with(policy)
    });
    matching.unwrap_or_else(|| panic!("no cell {method} {policy}"))
}

#[track_caller]
fn median(cell: &Value, name: &str) -> f64 {
    cell["measured"][name]["median"].as_f64().expect("a number")
}

/// Each I/O takes 2 ms, 500 ns of submission and 100 ns of turnaround; half of the latency can be
/// slept through. A sleep ends 2,500 ns late, and takes 1,487 ns of the CPU.
#[test]
fn the_numbers_are_the_devices() {
    let folder = tempfile::tempdir().unwrap();
    let result = tune(folder.path(), "sim:2ms");
    for (method, rule, asked_ns, cpu_ns) in [
        ("poll", "", 0.0, 2_000_600.0),
        (
            "hybrid",
            "mean:ratio=50%",
            1e6,
            2_000_600.0 - 1_002_500.0 + 1_487.0,
        ),
    ] {
        let cell = cell(&result, method, rule);
        let iops = median(cell, "iops");
        assert!((iops * 2_000_600e-9 - 1.0).abs() < 1e-9, "{iops}");
        assert_eq!(median(cell, "p50_ns"), 2_000_500.0, "{cell}");
        assert_eq!(median(cell, "effective_sleep_ns"), asked_ns, "{cell}");
        let cpu_pct = median(cell, "cpu_pct");
        assert!((cpu_pct - cpu_ns / 20_006.0).abs() < 0.02, "{cpu_pct}");
    }
    let run = run_in(folder.path());
    for file in [
        "report.html",
        "cells.jsonl",
        "plan.toml",
        "calibration.json",
        "trace-4096.parquet",
    ] {
        assert!(run.join(file).exists(), "{file}");
    }
}

/// On a device of 100 us, of which each job thinks 200 us between two I/Os. The simulator knows how
/// many there are, and what think times and sleeps cost together. Of 0.2 s it counts whole I/Os.
#[test]
fn think_time_is_predicted() {
    let folder = tempfile::tempdir().unwrap();
    let result = tune_with(folder.path(), "sim:100us", &["--think", "200us"]);
    assert_eq!(result["job"]["think_ns"].as_f64(), Some(200e3));
    let polled = median(cell(&result, "poll", ""), "iops");
    assert!((polled * 300.6e-6 - 1.0).abs() < 0.002, "{polled}");
    let cells = result["cells"].as_array().unwrap().iter();
    let predicted: Vec<&Value> = cells.filter(|cell| cell["predicted"].is_object()).collect();
    assert!(predicted.len() >= 3);
    for cell in predicted {
        let both = |figure: &str| {
            (
                cell["predicted"][figure].as_f64().unwrap(),
                median(cell, figure),
            )
        };
        let (iops, cpu) = (both("iops"), both("cpu_pct"));
        assert!((iops.0 / iops.1 - 1.0).abs() < 0.005, "{iops:?}: {cell}");
        assert!((cpu.0 - cpu.1).abs() < 0.1, "{cpu:?}: {cell}");
    }
    let text = report(folder.path());
    assert!(text.contains("200 us between its I/Os"), "{text}");
}

/// On a simulated device nothing stands under the target. Each cell that was to have late time says
/// so, and so does the report that is drawn again from the folder.
#[test]
fn without_a_device_there_is_no_late_time_and_the_result_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let result = tune(folder.path(), "sim:2ms");
    let cells = result["cells"].as_array().unwrap();
    let with: Vec<&Value> = cells.iter().filter(|c| !c["late"].is_null()).collect();
    for role in ["linux", "published"] {
        assert!(with.iter().any(|cell| cell["role"] == role), "{role}");
    }
    let polled = |cell: &&Value| cell["method"] == "poll" && !cell["late"].is_null();
    assert!(cells.iter().any(|cell| polled(&cell)));
    assert!(
        with.iter()
            .all(|cell| cell["late"]["unseen"] == "no-device")
    );
    let text = report(folder.path());
    let sentence = "late time: none: no block device stands under the target";
    assert!(text.contains(sentence), "{text}");
}

fn run_in(folder: &Path) -> PathBuf {
    let mut entries = std::fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path());
    let run = entries.find(|path| path.join("state.json").exists());
    run.expect("a run folder")
}

fn report(folder: &Path) -> String {
    let run = run_in(folder);
    let output = q2c(folder, &["report", run.to_str().expect("UTF-8"), "-v"]);
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Rules that the user wrote are simulated and run live on a device of 2 ms. A rule that gives no
/// time polls, and there is a warning about it.
#[test]
fn own_rules_run_live() {
    let folder = tempfile::tempdir().unwrap();
    let (half, blind) = ("if(min > 1ms, 50% * min, 0)", "min / (misses * count)");
    let rules = ["--rule", half, "--rule", blind, "--period", "50ms"];
    let result = tune_with(folder.path(), "sim:2ms", &rules);
    let policy_name = |rule: &str| format!("rule:period=50ms,sleep={rule}");
    let mut swept = result["sweeps"][0]["cells"].as_array().unwrap().iter();
    let swept = swept
        .find(|cell| cell["policy"] == policy_name(half))
        .unwrap();
    assert_eq!(swept["rule"], "rule");
    assert_eq!(swept["params"]["period"], 50e6);
    let asked = swept["effective_sleep_ns"].as_f64().unwrap();
    assert!((asked / 1e6 - 1.0).abs() < 0.001, "{asked}");
    // Without a miss the other formula divides by zero, and without a sleep there is no miss.
    for (rule, asked) in [(half, 1e6), (blind, 0.0)] {
        let live = cell(&result, "hybrid", &policy_name(rule));
        assert_eq!(live["role"], "user");
        assert_eq!(
            live["predicted"]["effective_sleep_ns"].as_f64(),
            Some(asked)
        );
        assert_eq!(median(live, "effective_sleep_ns"), asked);
    }
    let warned = result["warnings"].as_array().unwrap().iter();
    let warned: Vec<&str> = warned
        .filter(|warning| warning["id"] == "rule-without-a-time")
        .map(|warning| warning["found"].as_str().unwrap())
        .collect();
    assert_eq!(warned.len(), 1, "{warned:?}");
    assert!(
        warned[0].contains(blind) && warned[0].contains("(0 negative"),
        "{warned:?}"
    );
}

/// One trial of each method was asked for, and one has no interval: the answer says so.
#[test]
fn one_trial_of_each_decides_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let result = tune(folder.path(), "sim:2ms");
    let advice = &result["recommendation"][0];
    let single = &advice["undecided"][0]["single-trials"];
    let tried = single["tried"].as_u64().expect("a number of methods");
    assert!(tried >= 3, "{advice}");
    assert_eq!(single["single"].as_u64(), Some(tried), "{advice}");
    let text = report(folder.path());
    let caveat = format!("caveat: {tried} of {tried} methods have one trial");
    assert!(text.replace("\n ", "").contains(&caveat), "{text}");
}

/// The warnings of a run that its trials contradict the calibration.
fn contradicted(result: &Value) -> Vec<&Value> {
    let warnings = result["warnings"].as_array().expect("a list").iter();
    warnings
        .filter(|warning| warning["id"] == "calibration-contradicted")
        .collect()
}

#[test]
fn a_simulated_machine_is_not_checked_and_its_costs_are_neither_stored_nor_contradicted() {
    let folder = tempfile::tempdir().unwrap();
    let (result, stderr) = tune_and_stderr(folder.path(), "sim:50us", &[]);
    assert!(!stderr.contains("doctor"), "{stderr}");
    assert_eq!(result["calibration"][0]["reused"], false);
    assert_eq!(contradicted(&result), Vec::<&Value>::new());
    assert!(!folder.path().join("q2c").exists());
}

/// Runs a tune in real time. Returns its result, and why the stored calibration is not used.
fn real_tune(folder: &Path) -> (Value, Option<String>) {
    let (result, stderr) = tune_and_stderr(folder, "sim:50us", &["--real-time"]);
    let mut lines = stderr.lines();
    let reason = lines.find_map(|line| line.split_once("the stored calibration is not used: "));
    (result, reason.map(|(_, reason)| reason.to_owned()))
}

fn calibrate(folder: &Path) -> String {
    let arguments = ["calibrate", "sim:50us", "--bs", "4k", "--real-time"];
    let output = q2c(folder, &arguments);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Costs of ten times the CPU of a sleep are stored. The trials contradict them; the run says by
/// how much at least, and the next run does not use them and says why. Trials beside another load
/// tell nothing.
#[test]
fn a_stored_calibration_that_trials_contradict_is_used_once_in_real_time() {
    let name = "a_stored_calibration_that_trials_contradict_is_used_once_in_real_time";
    timed(name, || {
        let folder = tempfile::tempdir().unwrap();
        calibrate(folder.path());
        change_stored(folder.path(), |stored| {
            spoil(stored);
            stored["unfit"] = Value::Null;
        });
        let (used, _) = real_tune(folder.path());
        let [warning] = contradicted(&used)[..] else {
            panic!("{}", used["warnings"]);
        };
        let finding = warning["found"].as_str().unwrap();
        let at_least = "the CPU of a sleep is 0.55 times or less the stored one";
        assert!(finding.contains(at_least), "{finding}");
        let todo = warning["todo"].as_str().unwrap();
        assert!(todo.contains("the next run calibrates anew"), "{todo}");
        let (anew, reason) = real_tune(folder.path());
        assert_eq!(anew["calibration"][0]["reused"], false);
        let reason = reason.expect("a reason");
        assert!(
            reason.starts_with("the trials of a run contradicted it"),
            "{reason}"
        );
    });
}

/// A thread keeps a CPU busy while this machine is calibrated: the next run does not use what is
/// stored, and says why. Without the mark the stored calibration is used, also for a simulated
/// machine like this one; that of another fit is not.
#[test]
fn a_calibration_of_a_busy_machine_is_not_used_again_in_real_time() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let stderr = busily(|| calibrate(at));
    assert!(
        stderr.contains("the next run calibrates anew: "),
        "{stderr}"
    );
    change_stored(at, |stored| {
        let busy = stored["unfit"]["busy"]["cpus"].as_f64();
        assert!(busy.is_some_and(|cpus| cpus > 0.2), "{stored}");
    });
    let (anew, reason) = real_tune(at);
    assert_eq!(anew["calibration"][0]["reused"], false);
    let reason = reason.expect("a reason");
    assert!(
        reason.ends_with("CPUs were busy with other work when it was measured"),
        "{reason}"
    );

    change_stored(at, |stored| stored["unfit"] = Value::Null);
    let (used, reason) = real_tune(at);
    assert_eq!(used["calibration"][0]["reused"], true);
    assert_eq!(reason, None);
    change_stored(at, |stored| stored["unfit"] = Value::Null);
    is_simulated_as_calibrated(at);
}

fn is_simulated_as_calibrated(at: &Path) {
    let arguments = ["bench", "sim:80us", "--machine", "here", "--seconds", "0.2"];
    let out = at.join("simulated");
    let output = q2c(
        at,
        &[&arguments[..], &["--out", out.to_str().expect("UTF-8")]].concat(),
    );
    assert!(output.status.success(), "{output:?}");
    let plan = std::fs::read_to_string(run_in(&out).join("plan.toml")).expect("a plan");
    let name = "name = \"this machine, as calibrated with sim:50us\"";
    assert!(plan.contains(name), "{plan}");

    change_stored(at, |stored| stored["identity"]["fit"] = "0".into());
    let refused = q2c(at, &arguments);
    let stderr = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(3), "{stderr}");
    assert!(
        stderr.contains("found 1 of another kind; make one with q2c calibrate"),
        "{stderr}"
    );
}

/// Changes each calibration that is stored in `folder`.
fn change_stored(folder: &Path, change: impl Fn(&mut Value)) {
    let entries = std::fs::read_dir(folder.join("q2c/calibration")).expect("a store");
    for path in entries.map(|entry| entry.expect("an entry").path()) {
        let text = std::fs::read_to_string(&path).expect("a stored calibration");
        let mut stored: Value = serde_json::from_str(&text).expect("JSON");
        change(&mut stored);
        std::fs::write(&path, stored.to_string()).expect("a file that can be written");
    }
}

/// Multiplies the CPU of a sleep in a stored calibration by ten.
fn spoil(stored: &mut Value) {
    let cost = stored.pointer_mut("/calibration/cost").expect("costs");
    for curve in ["sleep_cpu_clear_ns", "sleep_cpu_hit_ns"] {
        for y in cost[curve]["y"].as_array_mut().expect("a curve") {
            *y = Value::from(y.as_f64().expect("a number") * 10.0);
        }
    }
}
