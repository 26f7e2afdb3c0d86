//! Tests of `q2c tune` as a whole on a simulated device: every promised field of `result.json`
//! exists and is right. Time is simulated, except where a calibration of this machine is stored.

use crate::program::*;
use q2c_testkit::with_busy_cpu;

fn tune(folder: &Place, how: &str) -> Value {
    tune_and_stderr(folder, how).0
}

/// Runs a tune like [`tune`], and also returns its messages, without the breaks of long lines.
fn tune_and_stderr(folder: &Place, how: &str) -> (Value, String) {
    let short = "--bs 4k --seconds 0.2 --trials 1";
    let ended = folder.q2c(format!("tune --json {short} {how}"));
    let stderr = ended.stderr.replace("\n ", "");
    (ended.json(), stderr)
}

/// The fields with these names, which are separated by blanks.
fn fields<'a>(value: &'a Value, names: &str) -> Vec<&'a Value> {
    let field = |name: &str| {
        let field = value.get(name);
        field.unwrap_or_else(|| panic!("`{name}` is missing in {value}"))
    };
    names.split(' ').map(field).collect()
}

const COMMON: &str = "iops cpu_pct miss_rate effective_sleep_ns kiops_per_core p99_ns";

/// A list that names a single number of jobs counts as that number: the run has no parts.
#[test]
fn the_result_has_what_it_promises() {
    let folder = Place::new();
    let result = tune(&folder, "sim:200us --jobs 1,1");
    assert_eq!(result["schema"], "q2c.tune/4");
    let mut files = fs::read_dir(folder.only_run()).unwrap();
    assert!(files.all(|entry| entry.unwrap().path().is_file()));
    let names = "schema cells recommendation fidelity machine calibration harness_floor_ns";
    fields(&result, names);
    for cell in result.list("cells") {
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
    for advice in result.list("recommendation") {
        fields(advice, "bs verdict method policy floor open");
    }
    for error in ["iops_error_pct", "cpu_points", "miss_points"] {
        fields(&result["fidelity"], &format!("{error}_median {error}_max"));
    }
    fields(&result["fidelity"], "cells drift_pct");
}

fn report(folder: &Place) -> String {
    let line = format!("report {} -v", folder.only_run().display());
    folder.done(line).replace("\n ", "")
}

/// The cell with this method and a policy that starts with `policy`.
#[track_caller]
fn cell<'a>(result: &'a Value, method: &str, policy: &str) -> &'a Value {
    let mut cells = result.list("cells").iter();
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
/// slept. A sleep ends 2,500 ns late, and takes 1,487 ns of CPU.
#[test]
fn the_numbers_are_the_devices() {
    let folder = Place::new();
    let result = tune(&folder, "sim:2ms");
    let slept_ns = 2_000_600.0 - 1_002_500.0 + 1_487.0;
    for (method, rule, asked_ns, cpu_ns) in [
        ("poll", "", 0.0, 2_000_600.0),
        ("hybrid", "mean:ratio=50%", 1e6, slept_ns),
    ] {
        let cell = cell(&result, method, rule);
        let iops = median(cell, "iops");
        assert_near(iops, 1e9 / 2_000_600.0, 1e-9);
        assert_eq!(median(cell, "p50_ns"), 2_000_500.0, "{cell}");
        assert_eq!(median(cell, "effective_sleep_ns"), asked_ns, "{cell}");
        let cpu_pct = median(cell, "cpu_pct");
        assert!((cpu_pct - cpu_ns / 20_006.0).abs() < 0.02, "{cpu_pct}");
    }
    let files = "report.html cells.jsonl plan.toml calibration.json trace-4096.parquet";
    for file in split(files) {
        assert!(folder.only_run().join(file).exists(), "{file}");
    }
    let text = report(&folder);
    has_no_late_time(&result, &text);
    decides_nothing(&result, &text);
}

/// A simulated device has no block device. Each cell that should have late time says so, and so
/// does the report drawn again from the folder.
fn has_no_late_time(result: &Value, text: &str) {
    let cells = result.list("cells").iter();
    let with_late: Vec<&Value> = cells.filter(|c| !c["late"].is_null()).collect();
    for (key, value) in [("role", "linux"), ("role", "published"), ("method", "poll")] {
        assert!(with_late.iter().any(|cell| cell[key] == value), "{value}");
    }
    for cell in with_late {
        assert_eq!(cell["late"]["unseen"], "no-device", "{cell}");
    }
    let phrases = "late time: none: no block device stands under the target";
    has_words(text, phrases);
}

/// One trial of each method was requested, which gives no interval; the answer says so.
fn decides_nothing(result: &Value, text: &str) {
    let advice = &result["recommendation"][0];
    let single = &advice["undecided"][0]["single-trials"];
    let tried = single["tried"].as_u64().expect("a number of methods");
    assert!(tried >= 3, "{advice}");
    assert_eq!(single["single"].as_u64(), Some(tried), "{advice}");
    let caveat = format!("caveat: {tried} of {tried} methods have one trial");
    assert!(text.contains(&caveat), "{text}");
}

/// A device of 100 us, and jobs that think for 200 us between two I/Os. The simulator predicts the
/// IOPS, and the joint cost of think times and sleeps. In 0.2 s the trials count whole I/Os.
#[test]
fn think_time_is_predicted() {
    let folder = Place::new();
    let result = tune(&folder, "sim:100us --think 200us");
    assert_eq!(result["job"]["think_ns"].as_f64(), Some(200e3));
    let iops = median(cell(&result, "poll", ""), "iops");
    assert_near(iops, 1e6 / 300.6, 0.002);
    let cells = result.list("cells").iter();
    let predicted: Vec<&Value> = cells.filter(|cell| cell["predicted"].is_object()).collect();
    assert!(predicted.len() >= 3);
    for cell in predicted {
        let predicted = |figure: &str| cell["predicted"][figure].as_f64().unwrap();
        assert_near(predicted("iops"), median(cell, "iops"), 0.005);
        let cpu_off = predicted("cpu_pct") - median(cell, "cpu_pct");
        assert!(cpu_off.abs() < 0.1, "{cpu_off}: {cell}");
    }
    has_words(&report(&folder), "200 us between its I/Os");
}

/// Rules that the user wrote are simulated and run live on a device of 2 ms. A rule that gives no
/// time polls, and causes a warning.
#[test]
fn own_rules_run_live() {
    let folder = Place::new();
    let (half, blind) = ("if(min > 1ms, 50% * min, 0)", "min / (misses * count)");
    let rules = format!("--rule '{half}' --rule '{blind}' --period 50ms");
    let result = tune(&folder, &format!("sim:2ms {rules}"));
    let policy_name = |rule: &str| format!("rule:period=50ms,sleep={rule}");
    let swept = entry(&result["sweeps"][0], "cells", "policy", &policy_name(half));
    assert_eq!(swept["rule"], "rule");
    assert_eq!(swept["params"]["period"], 50e6);
    assert_near(number(swept, "/effective_sleep_ns"), 1e6, 0.001);
    // Without a miss the other formula divides by zero, and without a sleep there is no miss.
    for (rule, asked) in [(half, 1e6), (blind, 0.0)] {
        let live = cell(&result, "hybrid", &policy_name(rule));
        assert_eq!(live["role"], "user");
        assert_eq!(number(live, "/predicted/effective_sleep_ns"), asked);
        assert_eq!(median(live, "effective_sleep_ns"), asked);
    }
    let [warned] = warnings(&result, "rule-without-a-time")[..] else {
        panic!("{}", result["warnings"]);
    };
    has_words(&warned["found"].to_string(), &[blind, "(0 negative"]);
}

fn warnings<'a>(result: &'a Value, id: &str) -> Vec<&'a Value> {
    let warnings = result.list("warnings").iter();
    warnings.filter(|warning| warning["id"] == id).collect()
}

/// The warning of a run whose trials contradict the calibration.
const CONTRADICTED: &str = "calibration-contradicted";

#[test]
fn a_simulated_machine_is_not_checked_and_its_costs_are_neither_stored_nor_contradicted() {
    let folder = Place::new();
    let (result, stderr) = tune_and_stderr(&folder, "sim:50us");
    assert!(!stderr.contains("doctor"), "{stderr}");
    assert_eq!(result["calibration"][0]["reused"], false);
    assert_eq!(warnings(&result, CONTRADICTED), Vec::<&Value>::new());
    assert!(!folder.path().join("cache/q2c").exists());
}

/// Runs a tune in real time. Returns its result, and why the stored calibration is not used.
fn real_tune(folder: &Place) -> (Value, Option<String>) {
    let (result, stderr) = tune_and_stderr(folder, "sim:50us --real-time");
    let mut lines = stderr.lines();
    let reason = lines.find_map(|line| line.split_once("the stored calibration is not used: "));
    (result, reason.map(|(_, reason)| reason.to_owned()))
}

fn calibrate(folder: &Place) -> String {
    let ended = folder.q2c("calibrate sim:50us --bs 4k --real-time");
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    ended.stderr
}

/// Trials contradict stored costs with ten times the CPU of a sleep. The run states by how much at
/// least. The next run does not use the costs, and says why. Trials beside another load prove
/// nothing.
#[test]
fn a_stored_calibration_that_trials_contradict_is_used_once_in_real_time() {
    timed(|| {
        let folder = Place::new();
        calibrate(&folder);
        change_stored(&folder, |stored| {
            spoil(stored);
            stored["unfit"] = Value::Null;
        });
        let (used, _) = real_tune(&folder);
        let [warning] = warnings(&used, CONTRADICTED)[..] else {
            panic!("{}", used["warnings"]);
        };
        let at_least = "the CPU of a sleep is 0.55 times or less the stored one";
        has_words(&warning["found"].to_string(), at_least);
        has_words(&warning["todo"].to_string(), "the next run calibrates anew");
        let (anew, reason) = real_tune(&folder);
        assert_eq!(anew["calibration"][0]["reused"], false);
        let said = "the trials of a run contradicted it";
        assert!(reason.is_some_and(|reason| reason.starts_with(said)));
    });
}

/// A thread keeps a CPU busy while this machine is calibrated. The next run does not use the stored
/// calibration, and says why. Without its mark `unfit` the calibration is used, also for a
/// simulated machine like this one. A calibration of another version of the fit is not used.
#[test]
fn a_calibration_of_a_busy_machine_is_not_used_again_in_real_time() {
    let folder = &Place::new();
    let stderr = with_busy_cpu(|| calibrate(folder));
    has_words(&stderr, "the next run calibrates anew: ");
    change_stored(folder, |stored| {
        let busy = stored["unfit"]["busy"]["cpus"].as_f64();
        assert!(busy.is_some_and(|cpus| cpus > 0.2), "{stored}");
    });
    let (anew, reason) = real_tune(folder);
    assert_eq!(anew["calibration"][0]["reused"], false);
    let said = "CPUs were busy with other work when it was measured";
    assert!(reason.is_some_and(|reason| reason.ends_with(said)));

    change_stored(folder, |stored| stored["unfit"] = Value::Null);
    let (used, reason) = real_tune(folder);
    assert_eq!(used["calibration"][0]["reused"], true);
    assert_eq!(reason, None);
    change_stored(folder, |stored| stored["unfit"] = Value::Null);
    is_simulated_as_calibrated(folder);
}

fn is_simulated_as_calibrated(folder: &Place) {
    let bench = "bench sim:80us --machine here --seconds 0.2";
    folder.done(format!("{bench} --out simulated"));
    let run = only_in(&folder.path().join("simulated"));
    let plan = fs::read_to_string(run.join("plan.toml")).expect("a plan");
    let name = "name = \"this machine, as calibrated with sim:50us\"";
    has_words(&plan, name);

    change_stored(folder, |stored| stored["identity"]["fit"] = "0".into());
    let phrase = "found 1 of another kind; make one with q2c calibrate";
    folder.q2c(bench).refused(3, phrase);
}

/// Changes each calibration stored in `folder`.
fn change_stored(folder: &Place, change: impl Fn(&mut Value)) {
    let entries = fs::read_dir(folder.path().join("cache/q2c/calibration")).expect("a store");
    for path in entries.map(|entry| entry.expect("an entry").path()) {
        let text = fs::read_to_string(&path).expect("a stored calibration");
        let mut stored: Value = serde_json::from_str(&text).expect("JSON");
        change(&mut stored);
        fs::write(&path, stored.to_string()).expect("a file that can be written");
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
