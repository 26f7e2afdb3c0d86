//! Tests of wrong command lines that `refusals.txt` of the commands cannot hold: with blanks in
//! words, with lines above the message, and with files of their own.

use crate::bench::{FaultBench, Q2C, SIM, split};
use q2c_result::Exit;

/// The rule, which is the last word, is refused in one line. The lines above mark the mistake, at
/// the character with index `place`.
fn bad_rule(args: &str, rule: &str, place: usize, phrases: &str) {
    let bench = FaultBench::new();
    let outcome = bench.q2c(&[&split(args)[..], &[rule]].concat());
    outcome.fails(Exit::Usage, phrases);
    let (shown, _) = outcome.stderr.trim_end().rsplit_once('\n').unwrap();
    assert_eq!(shown, format!("{rule}\n{}^", " ".repeat(place)));
    bench.assert_no_runs();
}

#[test]
fn bad_rules_are_refused_with_their_place() {
    let phrases = "--rule | character 7 | unknown name `mni` | p01 to p99";
    bad_rule("tune sim:400us --rule", "0.7 * mni", 6, phrases);
    let divided = "min / (misses - misses)";
    bad_rule("tune sim:400us --rule", divided, 6, "division by zero");
    let phrases = "found a number without a unit | 4us";
    bad_rule("tune --scratch 1m --rule", "mean - 4", 7, phrases);
    let sim = "poll sim x.trace";
    let rule = format!("{sim} --rule");
    bad_rule(&rule, "min - 4parsec", 7, "`parsec` | us");
    let (policy, phrases) = (
        "rule:period=1ms,max(min, 3us",
        "--policy | `)` | found the end",
    );
    bad_rule(&format!("{sim} --policy"), policy, 28, phrases);
    bad_rule(&format!("{sim} --policy"), "meen:50%", 0, "`meen` | rule");
}

/// The user's own rules are tried whatever simulation predicts. So they are refused if they take
/// longer than all other trials: very many rules, or a period for which every trial would wait.
#[test]
fn rules_whose_trials_take_too_long_are_refused() {
    let many = (1..=100).map(|us| format!(" --policy=fixed:{us}us"));
    let tune = format!("tune {SIM}{}", many.collect::<String>());
    let bench = FaultBench::new();
    bench.run(&tune).refuses(Exit::Usage, "100 rules | --yes");
    let formula = ["tune", SIM, "--rule", "0.7 * min", "--period", "600s"];
    bench.q2c(&formula).refuses(Exit::Usage, "--yes");
    bench.assert_no_runs();
    // A period below the limit of windows is always refused.
    let tune = "tune sim:400us --yes --policy";
    bad_rule(tune, "min:70%,1ns", 8, "period must be from 1us");
}

/// Help is a result like any other, so a failed write is reported.
#[test]
fn help_that_cannot_be_written_is_a_failure() {
    for args in [&["help"][..], &["tune", "--help"], &["--version"]] {
        let bench = FaultBench::new();
        let line = r#"exec "$0" "$@" >/dev/full"#;
        let arguments = [&["-c", line, Q2C], args].concat();
        let outcome = bench.by("sh", &arguments);
        outcome.refuses(Exit::Device, "write the result | No space left");
    }
}

/// A manually changed plan is checked like the command line. The folder has no other file, so the
/// plan is the first mistake.
#[test]
fn a_plan_that_the_command_line_would_refuse_is_not_resumed() {
    const PLAN: &str = "target = \"sim:50us\"\nengine = \"sim:50us\"\nrw = \"randread\"\n\
        bs = [4096]\ncpus = [0]\njobs = [1]\nbackground = []\npolicy = []\nseconds = 1.0\n\
        part_seconds = 0.0613\nslice_seconds = 0.0417\ntrials = 5\nall_trials = false\n\
        program = false\nobjective = \"iops\"\nseed = 1\n";
    let bench = FaultBench::new();
    std::fs::create_dir(bench.path("run")).unwrap();
    let resumed = |from: &str, to: &str| {
        let text = PLAN.replace(from, to);
        bench.file("run/plan.toml", text.as_bytes());
        bench.run("tune --resume run")
    };
    for (from, to, field) in [
        ("\nseconds = 1.0", "\nseconds = -1.0", "seconds"),
        ("\nseconds = 1.0", "\nseconds = nan", "seconds"),
        ("= 0.0613", "= 1e-300", "part_seconds"),
        ("trials = 5", "trials = 4294967295", "trials"),
        ("\"iops\"", "\"fastest\"", "fastest"),
        ("policy = []", "policy = [\"min:170%\"]", "min"),
        ("cpus = [0]", "cpus = []", "cpus"),
        ("jobs = [1]", "jobs = [4294967295, 1]", "jobs"),
    ] {
        resumed(from, to).refuses(Exit::Input, &["plan.toml", field]);
    }
    // A correct plan lets the check proceed to the next file of a run.
    resumed("", "").fails(Exit::Input, "cells.jsonl");
}
