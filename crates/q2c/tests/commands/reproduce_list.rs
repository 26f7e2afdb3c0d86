//! Tests of `q2c reproduce --list`, and of the messages of a run.

use crate::program::*;

/// Three points of a job that needs a file for libaio, on a simulated device, which has none.
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

fn list(more: &str) -> Value {
    Place::new().json(format!("reproduce --list --json {more}"))
}

#[test]
fn the_list_counts_the_claims_that_can_be_judged() {
    let listing = list("");
    for experiment in listing.list("experiments") {
        let [claims, judgeable, unsure] =
            ["/claims", "/judgeable", "/depend_on_target"].map(|count| number(experiment, count));
        assert!(claims > 0.0 && judgeable + unsure <= claims, "{experiment}");
        for need in experiment.list("needs") {
            let texts = need["what"].is_string() && need["needed"].is_string();
            let met = need["met"].is_boolean() || need["met"].is_null();
            assert!(texts && met, "{experiment}");
        }
    }
    // Without a target it is unknown if there are hardware queues.
    let queues = entry(&listing, "experiments", "name", "queue-balance-2cpu");
    let need = entry(queues, "needs", "what", "hw-queues");
    assert!(need["met"].is_null(), "{need}");
    assert_eq!(need["present"], "depends on the target");
    assert!(entry(queues, "needs", "what", "capture")["met"].is_null());
    // A file in memory has no disk to capture, and a simulated machine captures itself.
    let folder = tempfile::tempdir_in("/dev/shm").unwrap();
    let file = folder.path().join("target");
    std::fs::write(&file, vec![1; 80 << 20]).unwrap();
    let with_file = list(&format!("--target {}", file.display()));
    let queues = entry(&with_file, "experiments", "name", "queue-balance-2cpu");
    assert_eq!(entry(queues, "needs", "what", "capture")["met"], false);
    let simulated = entry(&with_file, "experiments", "name", "queue-balance-simulated");
    assert_eq!(simulated["judgeable"], simulated["claims"]);
    // No machine with fewer CPUs can judge a claim on 120 CPUs.
    let cpus = std::thread::available_parallelism().unwrap().get();
    let scaling = entry(&listing, "experiments", "name", "hwqueue-scaling");
    let need = entry(scaling, "needs", "what", "cpus");
    assert_eq!(need["needed"], "120");
    assert_eq!(need["met"], cpus >= 120);
    if cpus < 120 {
        assert_eq!(scaling["judgeable"], 0);
    }
}

/// The result of another command is judged, and the length of that command is unknown.
#[test]
fn a_comparison_needs_the_result_of_a_command() {
    let listing = list("");
    let compare = entry(&listing, "experiments", "name", "replay-ssd-comparison");
    assert!(compare["seconds"].is_null(), "{compare}");
    assert_eq!(compare["judgeable"], 0);
    let needed = compare["needs"][0]["needed"].as_str().unwrap();
    has_words(needed, "--on | --from | q2c compare");
    let table = Place::new().done("reproduce --list");
    has_words(&table, "none: --on");
    let samples = "replay-ssd-comparison-samples";
    let samples = entry(&listing, "experiments", "name", samples);
    assert_eq!(
        number(samples, "/judgeable"),
        number(samples, "/claims") - 2.0
    );
}

/// Almost all time of this experiment is in its phases.
#[test]
fn lengths_follow_scale_and_trials() {
    let total_seconds = |more: &str| {
        let listing = list(more);
        let experiments = listing.list("experiments").iter();
        let seconds = experiments.filter_map(|experiment| experiment["seconds"].as_f64());
        assert_close(number(&listing, "/seconds"), seconds.sum());
        let one = entry(&listing, "experiments", "name", "miss-rate-interference");
        number(one, "/seconds")
    };
    let whole = total_seconds("--trials 4");
    let half = total_seconds("--trials 2");
    let tenth = total_seconds("--trials 4 --scale 0.1");
    assert_close(whole, 2.0 * half);
    assert!((9.0..10.0).contains(&(whole / tenth)), "{whole} {tenth}");
    let table = Place::new().done("reproduce --list --scale 0.1");
    has_words(table.lines().last().unwrap(), "multiplied by 0.1");
}

#[test]
fn names_are_whole_at_80_columns() {
    let folder = Place::new();
    let mut command = q2c_command(folder.path(), &["reproduce", "--list"]);
    let output = command.env("COLUMNS", "80").output().unwrap();
    let table = String::from_utf8(output.stdout).unwrap();
    let listing = list("");
    for name in texts(&listing, "experiments", "name") {
        assert!(table.lines().any(|line| line == name), "{name}: {table}");
    }
    let widest = table.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(80), "{table}");
}

#[test]
fn a_reason_for_many_points_is_told_once() {
    let folder = Place::with_file("failing.toml", FAILING);
    let run = folder.q2c("reproduce failing.toml --trials 3");
    let reason = "simulate libaio: expected its costs, found none";
    let lines = run.stderr.lines().filter(|line| line.contains(reason));
    let [first, more] = lines.collect::<Vec<&str>>()[..] else {
        panic!("{}", run.stderr);
    };
    has_words(first, "jobs=");
    let same = "2 more points failed for the same reason";
    assert!(more.starts_with(same), "{more}");
}

/// A simulation that takes no time has no length, neither in the list nor in the run.
#[test]
fn list_and_run_have_one_estimate() {
    let folder = Place::new();
    let table = folder.done("reproduce --list");
    let mut lines = table.lines();
    let line = lines.find(|line| line.starts_with("placement-within-core"));
    has_words(line.unwrap(), "< 1 s");
    let run = folder.q2c("reproduce placement-within-core");
    has_words(&run.stderr, "1 cell x ");
    assert!(!run.stderr.contains("about"), "{}", run.stderr);
}

/// The run is stopped in the first experiment, while all others are missing.
#[test]
fn a_stopped_run_of_all_says_what_is_missing_and_how_to_go_on() {
    let folder = Place::new();
    let line = "reproduce --all --scale small --trials 1";
    let ended = folder.interrupted(line, "miss-rate-interference:");
    let (table, last) = (ended.stdout, ended.stderr);
    assert_eq!(ended.code, 130, "{last}");
    let second = table.lines().nth(1).unwrap();
    assert!(second.starts_with("incomplete: "), "{table}");
    has_words(second, " of 34 experiments are missing");
    let run = folder.only_run();
    let run = run.strip_prefix(folder.path()).unwrap_or(&run).display();
    let command = format!("q2c reproduce --resume {run}");
    // A program that ends slowly says so after that line.
    assert!(last.lines().any(|line| line.trim() == command), "{last}");
}
