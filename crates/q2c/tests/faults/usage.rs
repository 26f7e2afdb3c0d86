//! Tests of wrong command lines that `refusals.txt` of the commands cannot hold: those with words
//! that have blanks, with lines above the message, and with files of their own.

use crate::bench::{FaultBench, Phrases, Q2C, SIM};
use q2c_result::Exit;

/// The rule is refused in one line, and the lines above show the place of the mistake.
fn bad_rule(args: &[&str], phrases: &(impl Phrases + ?Sized), place: &str) {
    let bench = FaultBench::new();
    let outcome = bench.q2c(args);
    outcome.fails(Exit::Usage, phrases);
    let (shown, _) = outcome.stderr.trim_end().rsplit_once('\n').unwrap();
    assert_eq!(shown, place);
    bench.left_nothing();
}

#[test]
fn bad_rules_are_refused_with_their_place() {
    bad_rule(
        &["tune", SIM, "--rule", "0.7 * mni"],
        &["--rule", "character 7", "unknown name `mni`", "p01 to p99"],
        "0.7 * mni\n      ^",
    );
    bad_rule(
        &["tune", SIM, "--rule", "min / (misses - misses)"],
        &["division by zero"],
        "min / (misses - misses)\n      ^",
    );
    bad_rule(
        &["tune", "--scratch", "1m", "--rule", "mean - 4"],
        &["found a number without a unit", "4us"],
        "mean - 4\n       ^",
    );
    bad_rule(
        &["poll", "sim", "x.trace", "--rule", "min - 4parsec"],
        &["`parsec`", "us"],
        "min - 4parsec\n       ^",
    );
    let policy = "rule:period=1ms,max(min, 3us";
    bad_rule(
        &["poll", "sim", "x.trace", "--policy", policy],
        &["--policy", "`)`", "found the end"],
        &format!("{policy}\n{:>29}", '^'),
    );
    bad_rule(
        &["poll", "sim", "x.trace", "--policy", "meen:50%"],
        &["`meen`", "rule"],
        "meen:50%\n^",
    );
}

/// Rules of one's own are tried whatever simulation says of them, so what takes longer than all
/// other trials is refused: very many rules, or a period for which every trial would wait.
#[test]
fn rules_whose_trials_take_too_long_are_refused() {
    let many: Vec<String> = (1..=100)
        .map(|us| format!("--policy=fixed:{us}us"))
        .collect();
    let mut args = vec!["tune", SIM];
    args.extend(many.iter().map(String::as_str));
    let bench = FaultBench::new();
    bench.q2c(&args).refuses(Exit::Usage, "100 rules | --yes");
    let formula = ["tune", SIM, "--rule", "0.7 * min", "--period", "600s"];
    bench.q2c(&formula).refuses(Exit::Usage, "--yes");
    bench.left_nothing();
    // A period below what windows can have is refused whatever is said.
    bad_rule(
        &["tune", SIM, "--policy", "min:70%,1ns", "--yes"],
        &["period must be from 1us"],
        "min:70%,1ns\n        ^",
    );
}

/// Help is a result as any other: what could not be written is told.
#[test]
fn help_that_cannot_be_written_is_a_failure() {
    for args in [&["help"][..], &["tune", "--help"], &["--version"]] {
        let bench = FaultBench::new();
        let line = r#"exec "$0" "$@" >/dev/full"#;
        let arguments = [&["-c", line, Q2C], args].concat();
        let outcome = bench.start(bench.command("sh", &arguments)).end();
        outcome.refuses(Exit::Device, "write the result | No space left");
    }
}

/// A plan that was changed by hands is checked as the command line is. The folder has nothing else,
/// so the plan is the first thing that is wrong.
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
    // What is right goes on to the next file of a run.
    resumed("", "").fails(Exit::Input, "cells.jsonl");
}
