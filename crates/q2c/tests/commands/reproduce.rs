//! Tests of `q2c reproduce` and `q2c experiment`.

use crate::program::{
    close, entry, has_words, interrupt_at, number, only_in, q2c, q2c_command, run_in, run_q2c,
    split, texts,
};
use q2c_testkit::strict_json;
use serde_json::Value;
use std::fs;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// One job on a device that answers each request after 10 ms, with a second phase at depth 4.
const SMALL: &str = r#"schema = "q2c.reproduce/2"
name = "small"
title = "Do four in flight do four times as many?"
setting = "a device with eight servers"
interval = "50ms"

[windows]
steady = "100ms.."

[[device]]
name = "disk"
make = "sim:10ms,servers=8"

[[job]]
name = "reader"
device = "disk"

[[phase]]
name = "one"
length = "500ms"

[[phase]]
name = "four"
length = "500ms"
set.reader = { depth = 4 }

[[claim]]
says = "four in flight do more than twice as many"
published = "four times"
phase = "four"
window = "steady"
expect = "ratio(iops, one) > 2"

[[claim]]
says = "one in flight does more than 200 in a second"
phase = "one"
expect = "iops > 200"

[[claim]]
says = "it needs more CPUs than anything has"
phase = "one"
needs = { cpus = 100000 }
expect = "iops > 0"

[[chart]]
title = "IOPS over time"
figure = "iops"
over = "time"
published = [{ name = "published", points = [["0.2", 100], ["0.7", 400]] }]
"#;

fn small(folder: &Path) {
    fs::write(folder.join("small.toml"), SMALL).unwrap();
}

fn verdict(result: &serde_json::Value, says: &str) -> String {
    entry(result, "claims", "says", says)["verdict"]
        .as_str()
        .unwrap()
        .to_owned()
}

#[test]
fn claims_are_judged_and_the_result_is_drawn_again() {
    let folder = tempfile::tempdir().unwrap();
    small(folder.path());
    let said = run_q2c(folder.path(), "reproduce small.toml --trials 3 --json").done();
    let result = strict_json(&said);
    assert_eq!(result["schema"], "q2c.reproduce/2");
    let four = "four in flight do more than twice as many";
    let one = "one in flight does more than 200 in a second";
    assert_eq!(verdict(&result, four), "holds");
    assert_eq!(verdict(&result, one), "does-not-hold");
    let lacks = entry(
        &result,
        "claims",
        "says",
        "it needs more CPUs than anything has",
    );
    assert_eq!(lacks["verdict"], "cannot-judge");
    assert_eq!(lacks["needs"][0]["needed"], "100000");
    // Behind 10 ms of service come 3 us for the interrupt and 0.6 us for the next submission.
    close(
        number(lacks, "/expects/0/measured/median"),
        1e9 / 10_003_600.0,
    );
    assert_eq!(lacks["needs"][0]["present"], "8");
    assert_eq!(result["machine"]["kernel"], "simulated");
    let trials = &lacks["expects"][0]["trials"];
    assert_eq!(number(trials, "/judged"), 3.0);
    assert_eq!(number(trials, "/asked"), 3.0);
    // The series begins with the jobs and has ten intervals in each phase.
    let phases = &result["points"][0]["trials"][0]["phases"];
    for (phase, begin_s) in phases.as_array().unwrap().iter().zip([0.0, 0.5]) {
        assert_eq!(number(phase, "/begin_s"), begin_s);
        assert_eq!(phase["jobs"][0]["ticks"].as_array().unwrap().len(), 10);
    }
    let Reports { table, csv, page } = reports(folder.path(), &result);
    has_words(
        &table,
        &[
            "does-not-hold (measured)",
            "takes 100000 CPUs",
            "Published: four times",
        ],
    );
    assert!(
        csv.lines().count() > 50 && csv.contains("four,reader"),
        "{csv}"
    );
    assert!(page.contains("Diamonds: published") && page.contains("does-not-hold"));
}

struct Reports {
    table: String,
    csv: String,
    page: String,
}

/// Has `q2c report` read the only run below a folder, in every form. Its JSON is that of the run.
fn reports(folder: &Path, result: &Value) -> Reports {
    let run = run_in(folder);
    let report = |more: &[&str]| {
        let args = [&["report", run.to_str().unwrap()], more].concat();
        q2c(folder, &args).done()
    };
    assert_eq!(strict_json(&report(&["--json"])), *result);
    report(&["--html", "page.html"]);
    Reports {
        table: report(&[]),
        csv: report(&["--csv"]),
        page: fs::read_to_string(folder.join("page.html")).unwrap(),
    }
}

#[test]
fn files_are_checked_by_line() {
    let folder = tempfile::tempdir().unwrap();
    small(folder.path());
    let sound = q2c(folder.path(), &["experiment", "check", "small.toml"]).done();
    assert!(sound.contains("small: sound. 3 claims"), "{sound}");
    let wrong = SMALL
        .replace("iops > 200", "speed > 200")
        .replace("depth = 4", "depth = 0");
    fs::write(folder.path().join("wrong.toml"), wrong).unwrap();
    q2c(folder.path(), &["experiment", "check", "wrong.toml"]).refused(
        3,
        &[
            "wrong.toml: line 25: depth is `0`",
            "wrong.toml: line 37: `speed > 200`: there is no figure `speed`; there are iops",
        ],
    );
    q2c(folder.path(), &["reproduce", "wrong.toml"]).refused(3, &["line 25"]);
}

#[test]
fn the_list_has_every_file_and_its_needs() {
    let folder = tempfile::tempdir().unwrap();
    let list = strict_json(&q2c(folder.path(), &["reproduce", "--list", "--json"]).done());

    let files = fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments")).unwrap();
    let stem = |path: PathBuf| path.file_stem().unwrap().to_str().unwrap().to_owned();
    let mut names: Vec<String> = files.map(|file| stem(file.unwrap().path())).collect();
    let mut listed = texts(&list, "experiments", "name");
    names.sort();
    listed.sort_unstable();
    assert_eq!(listed, names);
    let queues = entry(&list, "experiments", "name", "hwqueue-scaling");
    assert_eq!(queues["needs"][0]["needed"], "120");
    let variant = entry(&list, "experiments", "name", "miss-rate-interference-1m");
    assert_eq!(variant["variant_of"], "miss-rate-interference");
}

#[test]
fn an_experiment_without_its_target_says_what_to_name() {
    let folder = tempfile::tempdir().unwrap();
    let run = q2c(folder.path(), &["reproduce", "poll-vs-hybrid-cpu"]);
    run.refused(2, &["--target", "--scratch"]);
}

/// A machine of two CPUs on which a submission takes 1 ms.
const SLOW: &str = "cpus = 2\nslice_ns = 3000000\nsubmission_ns = 1000000\nturnaround_ns = 100\nlook_ns = 50\n\
                    switch_ns = 1500\ntimer_ns = 500\nwake_delay_ns = 2500\ninterrupt_ns = 1000\ninterrupt_delay_ns = 3000\n";

/// A run as SIGKILL would leave it behind its second trial ends as the whole run did, on the
/// machine of its plan.
#[test]
fn a_run_in_simulated_time_goes_on_on_its_own_machine() {
    let folder = tempfile::tempdir().unwrap();
    small(folder.path());
    let machine = folder.path().join("slow.toml");
    fs::write(&machine, SLOW).unwrap();
    let args = ["reproduce", "small.toml", "--trials", "4", "--json"];
    let args = [&args[..], &["--machine", "slow.toml"]].concat();
    let whole = q2c(folder.path(), &args).json();
    let lacks = "it needs more CPUs than anything has";
    let claim = entry(&whole, "claims", "says", lacks);
    close(
        number(claim, "/expects/0/measured/median"),
        1e9 / 11_003_100.0,
    );
    assert_eq!(claim["needs"][0]["present"], "2");
    let run = run_in(folder.path());
    let change = |name: &str, change: fn(String) -> String| {
        let path = run.join(name);
        fs::write(&path, change(fs::read_to_string(&path).unwrap())).unwrap();
    };
    let running = |text: String| text.replace("\"complete\"", "\"running\"");
    change("state.json", running);
    let two = |text: String| text.split_inclusive('\n').take(2).collect();
    change("cells.jsonl", two);
    fs::remove_file(machine).unwrap();
    let resume = ["reproduce", "--resume", run.to_str().unwrap(), "--json"];
    let resumed = q2c(folder.path(), &resume);
    let said = &resumed.stderr;
    assert!(said.contains("2 trials done before"), "{said}");
    let resumed = resumed.json();
    for field in ["points", "claims", "machine"] {
        assert_eq!(resumed[field], whole[field], "{field}");
    }
}

/// Half of 10 ms is slept, which costs no IOPS; five trials of 40 s.
#[test]
fn a_simulated_target_is_measured_in_simulated_time() {
    let folder = tempfile::tempdir().unwrap();
    let target = ["--target", "sim:10ms", "--json"];
    let args = [&["reproduce", "poll-vs-hybrid-cpu"], &target[..]].concat();
    let result = q2c(folder.path(), &args).json();
    assert_eq!(
        verdict(&result, "hybrid polling has the IOPS of polling"),
        "holds"
    );
    assert_eq!(result["machine"]["kernel"], "simulated");
    assert_eq!(
        result["warnings"].as_array().unwrap().len(),
        0,
        "{}",
        result["warnings"]
    );
}

/// Eight threads take 0.6 CPUs of interrupts: 1.076 us in each 13.6 us.
#[test]
fn interrupts_of_a_simulated_machine_are_no_other_programs() {
    let folder = tempfile::tempdir().unwrap();
    let text = SMALL.replace("sim:10ms", "sim:10us");
    let text = text.replace("device = \"disk\"\n", "device = \"disk\"\nthreads = 8\n");
    fs::write(folder.path().join("small.toml"), text).unwrap();
    let shortened = ["--trials", "1", "--scale", "0.1", "--json"];
    let args = [&["reproduce", "small.toml"], &shortened[..]].concat();
    let result = q2c(folder.path(), &args).json();
    let warnings = result["warnings"].as_array().unwrap().iter();
    let ids: Vec<&Value> = warnings.map(|warning| &warning["id"]).collect();
    assert_eq!(ids, ["times-scaled"]);
}

#[test]
fn what_needs_real_time_is_refused_a_machine() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "").unwrap();
    for (name, reason) in [
        ("placement-within-core", "it has no jobs"),
        ("blkmq-core-scaling", "it makes ramdisk_mq:size=1g"),
        ("fs-shared-file-scaling", "it makes ext4:256m"),
        ("queue-balance", "it captures the block layer"),
        ("poll-vs-hybrid-cpu", "its jobs work on a real target"),
    ] {
        let args = ["reproduce", name, "--target", "file", "--machine", "here"];
        let reason = format!("use --machine with {name}: {reason}");
        q2c(folder.path(), &args).refused(2, &[&reason, "leave --machine out"]);
    }
}

#[test]
fn a_stopped_run_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    small(folder.path());
    let args = ["reproduce", "small.toml", "--trials", "4", "--real-time"];
    let mut child = q2c_command(folder.path(), &args)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    interrupt_at("trial 2: took", &child, &mut stderr);
    drop(stderr);
    let code = child.wait().unwrap().code();
    assert!(matches!(code, Some(130)), "{code:?}");
    let run = run_in(folder.path());
    let path = run.to_str().unwrap();
    let resumed = q2c(folder.path(), &["reproduce", "--resume", path, "--json"]);
    has_words(&resumed.stderr, &["2 trials done before"]);
    let result = strict_json(&resumed.done());
    assert_eq!(result["points"][0]["trials"].as_array().unwrap().len(), 4);
    assert_eq!(result["complete"], true);
    assert_ne!(result["machine"]["kernel"], "simulated");
}

/// A trace of 20 reads, 50 ms apart, that loads neither device: it takes 1 s on both, and the sum
/// of U2C tells them apart.
const COMPARED: &str = r#"schema = "q2c.reproduce/2"
name = "compared"
title = "Which device is better?"
setting = "two devices, one of them half as fast"

[compare]
command = "q2c compare light.parquet sim:20ms sim:40ms"
traces = ["light"]
devices = ["first", "second"]
modes = ["timed"]

[[claim]]
says = "completion time does not tell the devices apart"
expect = ["completion[device=first] ~ 1 s +- 0.2 s", "completion[device=second] ~ 1 s +- 0.2 s"]

[[claim]]
says = "the sum of U2C does"
expect = "sum_u2c[device=second] / sum_u2c[device=first] ~ 2 +- 0.4"
"#;

#[test]
fn a_result_of_compare_is_judged() {
    q2c_testkit::alone("a_result_of_compare_is_judged", || {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("compared.toml"), COMPARED).unwrap();
        let args = ["reproduce", "compared.toml", "--json"];
        let without = strict_json(&q2c(folder.path(), &args).done());
        let claim = &without["claims"][0];
        assert_eq!(claim["verdict"], "cannot-judge");
        let reason = claim["reasons"][0]["why"].as_str().unwrap();
        has_words(&reason, &["q2c compare light.parquet", "--from"]);
        let row = |n: u64| format!("0,{},4096,R,0.{:02}\n", n * 8, n * 5);
        let rows: String = (0..20).map(row).collect();
        fs::write(folder.path().join("light.spc"), rows).unwrap();
        let import = split("trace import light.spc --format spc --out light.parquet");
        q2c(folder.path(), &import).done();
        let judge = |first: &str, second: &str, out: &str| {
            // A few milliseconds do not matter beside the 20 ms of the faster device.
            let how = format!("--trials 3 --max-lateness 10ms --out {out}");
            let compare = format!("compare light.parquet {first} {second} {how}");
            run_q2c(folder.path(), &compare).done();
            let run = only_in(&folder.path().join(out)).display().to_string();
            let args = [&args[..], &["--from", &run]].concat();
            strict_json(&q2c(folder.path(), &args).done())
        };
        let published = judge("sim:20ms", "sim:40ms", "one");
        assert_eq!(
            verdict(
                &published,
                "completion time does not tell the devices apart"
            ),
            "holds"
        );
        assert_eq!(verdict(&published, "the sum of U2C does"), "holds");
        let turned = judge("sim:40ms", "sim:20ms", "other");
        assert_eq!(verdict(&turned, "the sum of U2C does"), "does-not-hold");
    });
}

/// Two rules on the library of patterns: one that follows the latencies closely, and one that
/// sleeps a tenth of the minimum and so polls nearly all the time.
const RULES: &str = r#"schema = "q2c.reproduce/2"
name = "rules"
title = "How long should one sleep?"
setting = "nowhere"
trials = 4

[study]
only = true

[[study.group]]
name = "closely followed"
rules = "pas"

[[study.group]]
name = "tenth"
rules = "min:10%,10ms"

[[claim]]
says = "a tenth is best"
expect = "loss[rule=tenth] - min(loss over rule) <= 0 %"

[[claim]]
says = "what follows closely loses less"
expect = 'loss[rule="closely followed"] < loss[rule=tenth]'

[[chart]]
title = "Mean loss"
figure = "loss"
over = "rule"
"#;

/// `pas` sleeps most of the time on nearly every pattern and keeps the floor there, so it takes
/// less CPU whichever sources are drawn. A rule with nothing to choose has the same loss on sources
/// left out.
#[test]
fn sleep_rules_are_judged_over_the_library() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("rules.toml"), RULES).unwrap();
    let args = ["reproduce", "rules.toml", "--json"];
    let result = strict_json(&q2c(folder.path(), &args).done());
    assert_eq!(result["study"], "rules");
    assert_eq!(verdict(&result, "a tenth is best"), "does-not-hold");
    assert_eq!(verdict(&result, "what follows closely loses less"), "holds");
    let claim = &result["claims"][1];
    assert_eq!(claim["basis"], "predicted");
    assert_eq!(claim["reasons"][0]["reason"], "predicted");
    let points = result["points"].as_array().unwrap();
    assert_eq!(points.len(), 2);
    for point in points {
        let trials = point["trials"].as_array().unwrap();
        assert_eq!(trials.len(), 4);
        for trial in trials {
            let figures = &trial["figures"];
            close(number(figures, "/loss"), number(figures, "/left_out"));
        }
    }
    let Reports { table, csv, page } = reports(folder.path(), &result);
    has_words(
        &table,
        &[
            "simulator of sleep rules",
            "does-not-hold (predicted)",
            "closely followed",
        ],
    );
    // Two groups, four trials, two figures, and the head.
    assert_eq!(csv.lines().count(), 1 + 2 * 4 * 2);
    assert!(page.contains("simulator of sleep rules") && page.contains("does-not-hold"));
    // The same seed draws the same sets.
    let again = strict_json(&q2c(folder.path(), &args).done());
    assert_eq!(again["points"], result["points"]);
}
