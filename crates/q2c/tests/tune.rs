//! Tests of `q2c tune` as a whole on a simulated device: every field that `result.json` promises is
//! there, and true.

use q2c_testkit::{busily, timed};
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, PoisonError};

/// Held by each run: two runs at once would measure each other.
static MACHINE: Mutex<()> = Mutex::new(());

fn tune(folder: &Path, target: &str) -> Value {
    tune_with(folder, target, &[])
}

fn tune_with(folder: &Path, target: &str, more: &[&str]) -> Value {
    told_tune(folder, target, more).0
}

/// As [`tune_with`], with what the run said on its way.
fn told_tune(folder: &Path, target: &str, more: &[&str]) -> (Value, String) {
    let _alone = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
    let output = Command::new(env!("CARGO_BIN_EXE_q2c"))
        .args([
            "tune",
            target,
            "--bs",
            "4k",
            "--seconds",
            "0.2",
            "--trials",
            "1",
            "--json",
            "--out",
        ])
        .arg(folder)
        .args(more)
        .env("XDG_CACHE_HOME", folder)
        .output()
        .expect("q2c runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let result = serde_json::from_slice(&output.stdout).expect("stdout is one JSON document");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    (result, told)
}

fn fields<'a>(value: &'a Value, names: &[&str]) -> Vec<&'a Value> {
    let field = |name: &&str| {
        value
            .get(name)
            .unwrap_or_else(|| panic!("`{name}` is missing in {value}"))
    };
    names.iter().map(field).collect()
}

const COMMON: [&str; 6] = [
    "iops",
    "cpu_pct",
    "miss_rate",
    "effective_sleep_ns",
    "kiops_per_core",
    "p99_ns",
];

/// A list that names one number of jobs is that number: the run has no parts.
#[test]
fn the_result_has_what_it_promises() {
    let folder = tempfile::tempdir().unwrap();
    let result = tune_with(folder.path(), "sim:200us", &["--jobs", "1,1"]);
    assert_eq!(result["schema"], "q2c.tune/4");
    let entries = |folder: &Path| -> Vec<std::path::PathBuf> {
        let entries = std::fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect()
    };
    let mut runs = entries(folder.path()).into_iter();
    let run = runs.find(|path| path.join("state.json").exists());
    let files = entries(&run.expect("a run folder"));
    assert!(files.iter().all(|path| path.is_file()), "{files:?}");
    let parts = [
        "schema",
        "cells",
        "recommendation",
        "fidelity",
        "machine",
        "calibration",
        "harness_floor_ns",
    ];
    fields(&result, &parts);
    for cell in result["cells"].as_array().unwrap() {
        fields(
            cell,
            &["bs", "method", "policy", "sleeping", "effective_mode"],
        );
        for measured in fields(&cell["measured"], &COMMON) {
            fields(measured, &["median", "min", "max", "trials"]);
        }
        if cell["sleeping"] == true {
            fields(&cell["predicted"], &COMMON);
        }
        for paired in fields(&cell["relative"], &["iops", "kiops_per_core"]) {
            fields(paired, &["median", "min", "max", "trials"]);
        }
    }
    for advice in result["recommendation"].as_array().unwrap() {
        fields(
            advice,
            &["bs", "verdict", "method", "policy", "floor", "open"],
        );
    }
    let errors = ["iops_error_pct", "cpu_points", "miss_points"];
    let errors: Vec<String> = errors
        .iter()
        .flat_map(|e| ["median", "max"].map(|s| format!("{e}_{s}")))
        .collect();
    fields(
        &result["fidelity"],
        &errors.iter().map(String::as_str).collect::<Vec<_>>(),
    );
    fields(&result["fidelity"], &["cells", "drift_pct"]);
}

/// A device of 2 ms serves at most 500 I/Os per second. Polling sees its latency, and half of the
/// latency can be slept through.
#[test]
fn the_numbers_are_the_devices() {
    timed("the_numbers_are_the_devices", || {
        let folder = tempfile::tempdir().unwrap();
        let result = tune(folder.path(), "sim:2ms");
        let cells = result["cells"].as_array().unwrap();
        let cell = |method: &str, policy: &str| {
            let same = |c: &&Value| {
                c["method"] == method && c["policy"].as_str().unwrap().starts_with(policy)
            };
            cells
                .iter()
                .find(same)
                .unwrap_or_else(|| panic!("no cell {method} {policy}"))
        };
        let median = |cell: &Value, name: &str| cell["measured"][name]["median"].as_f64().unwrap();
        for cell in cells {
            assert!(median(cell, "iops") <= 505.0, "{cell}");
            assert!(median(cell, "p50_ns") >= 2e6, "{cell}");
        }
        let (poll, linux) = (cell("poll", ""), cell("hybrid", "mean:ratio=50%"));
        assert!(median(poll, "p50_ns") < 2.2e6, "{poll}");
        // The rule asks for half of the mean latency, which is 2 ms and the time that a busy
        // machine adds.
        let asked = median(linux, "effective_sleep_ns");
        assert!((0.98e6..2e6).contains(&asked), "{asked}");
        assert!(
            median(linux, "cpu_pct") < median(poll, "cpu_pct"),
            "sleeping saves CPU"
        );
        let run = std::fs::read_dir(folder.path())
            .unwrap()
            .filter_map(Result::ok);
        let run = run
            .map(|e| e.path())
            .find(|p| p.join("result.json").exists())
            .expect("a run folder");
        for file in [
            "report.html",
            "cells.jsonl",
            "plan.toml",
            "calibration.json",
            "trace-4096.parquet",
        ] {
            assert!(run.join(file).exists(), "{file}");
        }
    });
}

/// On a device of 100 us, of which each job thinks 200 us between two I/Os, 3,333 I/Os fit into a
/// second. The simulator knows how many there are, and what think times and sleeps cost together.
#[test]
fn think_time_is_predicted() {
    timed("think_time_is_predicted", || {
        let folder = tempfile::tempdir().unwrap();
        let result = tune_with(folder.path(), "sim:100us", &["--think", "200us"]);
        assert_eq!(result["job"]["think_ns"].as_f64(), Some(200e3));
        let of = |cell: &Value, path: &str| cell.pointer(path).unwrap().as_f64().unwrap();
        let cells = result["cells"].as_array().unwrap();
        let lanes = |cell: &&Value| cell["method"] != "hybrid-kernel";
        for cell in cells.iter().filter(lanes) {
            let iops = of(cell, "/measured/iops/median");
            assert!((2_300.0..3_600.0).contains(&iops), "{cell}");
            // A third of the time is polled, and the rest is slept in.
            assert!(of(cell, "/measured/cpu_pct/median") < 60.0, "{cell}");
        }
        // Rules that sleep up to the latency may feed back on themselves: a late I/O makes the next
        // sleep longer.
        let steady = ["baseline", "linux", "published"];
        let predicted = cells.iter().filter(|cell| {
            cell["predicted"].is_object() && steady.contains(&cell["role"].as_str().unwrap())
        });
        for cell in predicted.clone() {
            let name = format!("{} {}", cell["method"], cell["policy"]);
            let both = |figure: &str| {
                let measured = of(cell, &format!("/measured/{figure}/median"));
                (of(cell, &format!("/predicted/{figure}")), measured)
            };
            let (iops, cpu) = (both("iops"), both("cpu_pct"));
            assert!((iops.0 / iops.1 - 1.0).abs() < 0.08, "{name}: {iops:?}");
            assert!((cpu.0 - cpu.1).abs() < 4.0, "{name}: {cpu:?}");
        }
        assert_eq!(predicted.count(), 3);
        let told = "200 us between its I/Os";
        let text = report(folder.path());
        assert!(text.contains(told), "{text}");
    });
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
    let told = "late time: none: no block device stands under the target";
    assert!(text.contains(told), "{text}");
}

/// The report of the run in `folder`, drawn again.
fn report(folder: &Path) -> String {
    let run = std::fs::read_dir(folder).expect("a folder");
    let mut run = run.filter_map(Result::ok).map(|e| e.path());
    let run = run.find(|p| p.join("result.json").exists());
    let run = run.expect("a run folder");
    let again = Command::new(env!("CARGO_BIN_EXE_q2c"))
        .arg("report")
        .arg(run)
        .output()
        .expect("q2c runs");
    String::from_utf8_lossy(&again.stdout).into_owned()
}

/// A wide range around half of 2 ms, ns. I/Os before the first window poll. On a busy machine a
/// lane can also lose its CPU within a submission: its wait is then short, and so are the window's
/// minimum and the sleep.
const ABOUT_HALF: std::ops::Range<f64> = 0.3e6..1.5e6;

/// Rules that the user wrote are simulated and run live on a device of 2 ms. A rule that gives no
/// time polls, and there is a warning about it.
#[test]
fn own_rules_run_live() {
    timed("own_rules_run_live", || {
        let folder = tempfile::tempdir().unwrap();
        let (half, blind) = ("if(min > 1ms, 50% * min, 0)", "min / (misses * count)");
        let rules = ["--rule", half, "--rule", blind, "--period", "50ms"];
        let result = tune_with(folder.path(), "sim:2ms", &rules);
        let own = |rule: &str| format!("rule:period=50ms,sleep={rule}");
        let with = |list: &str, rule: &str| -> Value {
            let all = result.pointer(list).unwrap().as_array().unwrap();
            let found = all.iter().find(|c| c["policy"] == own(rule));
            found
                .unwrap_or_else(|| panic!("no {rule} in {list}"))
                .clone()
        };
        let swept = with("/sweeps/0/cells", half);
        assert_eq!(swept["rule"], "rule");
        assert_eq!(swept["params"]["period"], 50e6);
        let live = with("/cells", half);
        assert_eq!(live["role"], "user");
        assert_eq!(with("/cells", blind)["role"], "user");
        for predicted in [
            &swept["effective_sleep_ns"],
            &live["predicted"]["effective_sleep_ns"],
        ] {
            let asked = predicted.as_f64().unwrap();
            assert!(ABOUT_HALF.contains(&asked), "{asked}");
        }
        let median = |cell: &Value, name: &str| cell["measured"][name]["median"].as_f64().unwrap();
        let asked = median(&live, "effective_sleep_ns");
        assert!(ABOUT_HALF.contains(&asked), "{asked}");
        // Without a miss the formula divides by zero, and without a sleep there is no miss.
        let warned = result["warnings"].as_array().unwrap();
        let of_blind = |w: &&Value| w["id"] == "rule-without-a-time";
        let warning = warned.iter().find(of_blind).expect("a warning");
        let found = warning["found"].as_str().unwrap();
        assert!(
            found.contains(blind) && found.contains("(0 negative"),
            "{found}"
        );
        assert_eq!(median(&with("/cells", blind), "effective_sleep_ns"), 0.0);
        let about_half = |w: &Value| w["found"].as_str().unwrap().contains(half);
        assert!(!warned.iter().any(about_half));
    });
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
    let told =
        format!("nothing is decided by intervals: {tried} of {tried} methods have one trial");
    assert!(text.replace("\n ", "").contains(&told), "{text}");
}

/// Costs of ten times the CPU of a sleep are stored. The trials contradict them; the run says by
/// how much at least, and the next run does not use them and says why.
#[test]
fn a_stored_calibration_that_trials_contradict_is_used_once() {
    timed(
        "a_stored_calibration_that_trials_contradict_is_used_once",
        || {
            let folder = tempfile::tempdir().unwrap();
            let contradicted = |result: &Value| -> Vec<Value> {
                let warnings = result["warnings"].as_array().unwrap().iter();
                let of = |w: &&Value| w["id"] == "calibration-contradicted";
                warnings.filter(of).cloned().collect()
            };
            let fresh = tune(folder.path(), "sim:50us");
            assert_eq!(fresh["calibration"][0]["reused"], false);
            assert_eq!(contradicted(&fresh), Vec::<Value>::new());
            change_stored(folder.path(), |stored| {
                spoil(stored);
                stored["unfit"] = Value::Null;
            });
            let warned = contradicted(&tune(folder.path(), "sim:50us"));
            assert_eq!(warned.len(), 1, "{warned:?}");
            let found = warned[0]["found"].as_str().unwrap();
            assert!(
                found.contains("the CPU of a sleep is 0.55 times or less the stored one"),
                "{found}"
            );
            let todo = warned[0]["todo"].as_str().unwrap();
            assert!(todo.contains("the next run calibrates anew"), "{todo}");
            let (anew, told) = told_tune(folder.path(), "sim:50us", &[]);
            assert_eq!(anew["calibration"][0]["reused"], false);
            assert_eq!(contradicted(&anew), Vec::<Value>::new());
            let why = "the stored calibration is not used: the trials of a run contradicted it";
            assert!(told.replace("\n ", "").contains(why), "{told}");
        },
    );
}

/// A thread keeps a CPU busy while `q2c calibrate` runs. The next run does not use what it stored,
/// and says why. Without the mark the same file is used.
#[test]
fn a_calibration_of_a_busy_machine_is_not_used_again() {
    let folder = tempfile::tempdir().unwrap();
    let told = busily(|| {
        let _alone = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
        let output = Command::new(env!("CARGO_BIN_EXE_q2c"))
            .args(["calibrate", "sim:50us", "--bs", "4k"])
            .env("XDG_CACHE_HOME", folder.path())
            .output()
            .expect("q2c runs");
        String::from_utf8_lossy(&output.stderr).into_owned()
    });
    assert!(told.contains("the next run calibrates anew: "), "{told}");
    change_stored(folder.path(), |stored| {
        let busy = stored["unfit"]["busy"]["cpus"].as_f64();
        assert!(busy.is_some_and(|cpus| cpus > 0.2), "{stored}");
        stored["calibration"]["seconds"] = Value::from(12_345.0);
    });
    let (result, told) = told_tune(folder.path(), "sim:50us", &[]);
    assert_eq!(result["calibration"][0]["reused"], false);
    let why = "CPUs were busy with other work when it was measured";
    assert!(
        told.contains("the stored calibration is not used: "),
        "{told}"
    );
    assert!(told.replace("\n ", "").contains(why), "{told}");
    change_stored(folder.path(), |stored| {
        assert_ne!(stored["calibration"]["seconds"], 12_345.0, "{stored}");
        stored["unfit"] = Value::Null;
    });
    let reused = tune(folder.path(), "sim:50us");
    assert_eq!(reused["calibration"][0]["reused"], true);
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
