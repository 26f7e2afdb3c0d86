//! Tests of `q2c reproduce --list` and of what a run says while it goes on.

use crate::program::*;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

/// Three points of a job that wants libaio on a simulated device, which has no file for it.
const FAILING: &str = r#"schema = "q2c.reproduce/2"
name = "failing"
title = "What cannot run?"
setting = "nowhere"

[[device]]
name = "disk"
make = "sim:1ms"

[[axis]]
name = "jobs"
values = [1, 2, 3]

[[job]]
name = "reader"
device = "disk"
engine = "libaio"
threads = "{jobs}"

[[phase]]
name = "only"
length = "100ms"

[[claim]]
says = "it reads"
at.jobs = 1
expect = "iops > 1"
"#;

fn list(folder: &Path, more: &[&str]) -> serde_json::Value {
    let args = [&["reproduce", "--list", "--json"], more].concat();
    strict_json(&q2c(folder, &args).done())
}

#[test]
fn the_list_counts_the_claims_that_can_be_judged() {
    let folder = Place::new();
    let listing = list(folder.path(), &[]);
    for experiment in listing.list("experiments") {
        let counts =
            ["claims", "judgeable", "depend_on_target"].map(|name| experiment[name].as_u64());
        let [claims, judgeable, open] = counts.map(Option::unwrap);
        assert!(claims > 0 && judgeable + open <= claims, "{experiment}");
        for need in experiment.list("needs") {
            assert!(
                need["what"].is_string() && need["needed"].is_string(),
                "{experiment}"
            );
            assert!(
                need["met"].is_boolean() || need["met"].is_null(),
                "{experiment}"
            );
        }
    }
    // Nothing here has a device with hardware queues until a target is named.
    let queues = entry(&listing, "experiments", "name", "queue-balance-2cpu");
    let need = entry(queues, "needs", "what", "hw-queues");
    assert!(need["met"].is_null(), "{need}");
    assert_eq!(need["present"], "depends on the target");
    // A claim on 120 CPUs is judged nowhere below that.
    let cpus = std::thread::available_parallelism().unwrap().get();
    let scaling = entry(&listing, "experiments", "name", "hwqueue-scaling");
    let need = entry(scaling, "needs", "what", "cpus");
    assert_eq!(need["needed"], "120");
    assert_eq!(need["met"], cpus >= 120);
    if cpus < 120 {
        assert_eq!(scaling["judgeable"], 0);
    }
}

/// The result of another command is judged, and its length is nobody's guess.
#[test]
fn a_comparison_needs_the_result_of_a_command() {
    let folder = Place::new();
    let listing = list(folder.path(), &[]);
    let compare = entry(&listing, "experiments", "name", "replay-ssd-comparison");
    assert!(compare["seconds"].is_null(), "{compare}");
    assert_eq!(compare["judgeable"], 0);
    let need = &compare["needs"][0];
    let needed = need["needed"].as_str().unwrap();
    has_words(&needed, "--from | q2c compare");
    let table = folder.q2c("reproduce --list").done();
    assert!(table.contains("none: --from"), "{table}");
}

/// The phases of this experiment are nearly all of its time.
#[test]
fn lengths_follow_scale_and_trials() {
    let folder = Place::new();
    let total_seconds = |more: &[&str]| {
        let listing = list(folder.path(), more);
        let experiments = listing.list("experiments").iter();
        let sum: f64 = experiments
            .filter_map(|experiment| experiment["seconds"].as_f64())
            .sum();
        assert!((sum - number(&listing, "/seconds")).abs() < 1e-6 * sum);
        let one = entry(&listing, "experiments", "name", "miss-rate-interference");
        number(one, "/seconds")
    };
    let whole = total_seconds(&["--trials", "4"]);
    let half = total_seconds(&["--trials", "2"]);
    let tenth = total_seconds(&["--trials", "4", "--scale", "0.1"]);
    assert!((whole / half - 2.0).abs() < 1e-6, "{whole} {half}");
    assert!((9.0..10.0).contains(&(whole / tenth)), "{whole} {tenth}");
    let table = folder.q2c("reproduce --list --scale 0.1").done();
    let last = table.lines().last().unwrap();
    assert!(last.contains("multiplied by 0.1"), "{table}");
}

#[test]
fn names_are_whole_at_80_columns() {
    let folder = Place::new();
    let mut command = q2c_command(folder.path(), &["reproduce", "--list"]);
    let output = command.env("COLUMNS", "80").output().unwrap();
    let table = String::from_utf8(output.stdout).unwrap();
    let listing = list(folder.path(), &[]);
    for experiment in listing.list("experiments") {
        let name = experiment["name"].as_str().unwrap();
        assert!(table.lines().any(|line| line == name), "{name}: {table}");
    }
    let widest = table.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(80), "{table}");
}

#[test]
fn a_reason_for_many_points_is_told_once() {
    let folder = Place::new();
    folder.put("failing.toml", FAILING);
    let run = folder.q2c("reproduce failing.toml --trials 3");
    let reason = "libaio needs a file or device, and the device is simulated";
    let reason_lines: Vec<&str> = run
        .stderr
        .lines()
        .filter(|line| line.contains(reason))
        .collect();
    assert_eq!(reason_lines.len(), 2, "{}", run.stderr);
    assert!(reason_lines[0].contains("jobs="), "{}", run.stderr);
    let more = "2 more points failed for the same reason";
    assert!(reason_lines[1].starts_with(more), "{}", run.stderr);
}

/// A simulation that takes no time tells none, neither in the list nor in the run.
#[test]
fn list_and_run_have_one_estimate() {
    let folder = Place::new();
    let table = folder.q2c("reproduce --list").done();
    let line = table
        .lines()
        .find(|line| line.starts_with("placement-within-core"));
    assert!(line.unwrap().contains("< 1 s"), "{table}");
    let run = folder.q2c("reproduce placement-within-core");
    assert!(run.stderr.contains("1 cell x "), "{}", run.stderr);
    assert!(!run.stderr.contains("about"), "{}", run.stderr);
}

/// Stopped in the first experiment, with all others missing.
#[test]
fn a_stopped_run_of_all_says_what_is_missing_and_how_to_go_on() {
    let folder = Place::new();
    let args = ["reproduce", "--all", "--scale", "small", "--trials", "1"];
    let mut child = q2c_command(folder.path(), &args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    interrupt_at("miss-rate-interference:", &child, &mut stderr);
    let last: Vec<String> = stderr.lines().map(Result::unwrap).collect();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{last:?}");
    let table = String::from_utf8(output.stdout).unwrap();
    let second = table.lines().nth(1).unwrap();
    assert!(
        second.starts_with("incomplete: ") && second.contains(" of 24 experiments are missing"),
        "{table}"
    );
    let run = folder.run();
    let run = run.strip_prefix(folder.path()).unwrap_or(&run).display();
    let command = format!("q2c reproduce --resume {run}");
    // A program that is slow to end says so behind it.
    assert!(last.iter().any(|line| line.trim() == command), "{last:?}");
}
