//! Tests of wrong command lines.

use crate::bench::{FaultBench, Phrases, Q2C, SIM, split};
use q2c_result::Exit;

fn refused(args: &[&str], phrases: &(impl Phrases + ?Sized)) {
    let bench = FaultBench::new();
    bench.q2c(args).refuses(Exit::Usage, phrases);
    bench.left_nothing();
}

/// Checks cases, each of a command line, in which `SIM` is a device, and what the message says.
fn refused_all(cases: &[&str]) {
    for case in cases {
        let mut parts = case.split(" | ");
        let line = parts.next().unwrap().replace("SIM", SIM);
        refused(&split(&line), &parts.collect::<Vec<_>>());
    }
}

#[test]
fn unknown_words_are_refused_with_those_that_would_do() {
    refused_all(&[
        "tune SIM --engine aio | `aio` | io_uring | sim",
        "tune SIM --rw trim | `trim` | randread | write",
        "tune SIM --objective best | `best` | kiops-per-core",
        "tune SIM --background x=3 | x=3 | rw | depth",
        "reproduce moon --target SIM | `moon` | miss-rate-interference",
        "tnue SIM | tnue | tune",
        "tune SIM --sconds 1 | --sconds | --seconds",
    ]);
}

#[test]
fn unknown_units_are_refused() {
    refused_all(&[
        "tune SIM --bs 4q | `4q` | 4k",
        "tune SIM --max-p99 5parsec | `5parsec` | 40us",
        "tune SIM --budget 90x | `90x` | 2s",
        "tune SIM --budget 0 | 1 s or more",
        "tune SIM --max-p99 0 | above 0",
        "tune SIM --max-cpu 100000% | up to 100",
        "bench SIM --rate 1e-7 | 3.333 per second",
        "tune SIM --seconds 0.01 | 0.1 s to 3600 s",
        "tune sim:50parsec | `sim:50parsec` | 40us",
        "tune --scratch 1x | `1x` | 4k",
    ]);
}

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
    let period = |text| ["tune", SIM, "--rule", "min", "--period", text];
    refused(&period("0"), &["--period", "from 1us to 3600s"]);
    refused(&period("10"), &["`10`", "100ms"]);
    refused_all(&["tune SIM --period 5ms | --rule"]);
}

#[test]
fn numbers_out_of_range_are_refused() {
    refused_all(&["tune SIM --cpu 4095 | 4095 | may run on CPUs"]);
    for jobs in ["0", "1,0", "4..2", "1,,2", "1025", "two"] {
        let wanted = ["--jobs", "whole numbers from 1 to 1024", jobs];
        refused(&["tune", SIM, "--jobs", jobs], &wanted);
    }
    refused_all(&[
        "calibrate SIM --jobs 0 | --jobs | 1..=",
        "calibrate SIM --jobs 1,2 | --jobs | 1,2",
        "tune SIM --jobs 1,2 --cpu 4095 | 4095 | may run on CPUs",
        "tune SIM --trials 0 | --trials | 1..=",
    ]);
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
    refused(&args, &["100 rules", "--yes"]);
    let hour = ["tune", SIM, "--policy", "min:70%,3600s"];
    refused(&hour, &["the rule of", "shorter periods", "--yes"]);
    refused(&[&hour[..], &["--jobs", "1,2"]].concat(), &["--yes"]);
    let formula = ["tune", SIM, "--rule", "0.7 * min", "--period", "600s"];
    refused(&formula, &["--yes"]);
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

#[test]
fn missing_and_contradicting_arguments_are_refused() {
    refused_all(&[
        "tune | --scratch 1g | --help",
        "calibrate | --scratch 1g | --help",
        "tune SIM --scratch 1m | --scratch",
        "tune SIM --resume runs/x | --resume",
    ]);
}

#[test]
fn what_is_no_run_cannot_be_resumed() {
    let bench = FaultBench::new();
    let tried = bench.run("tune --resume runs/none");
    tried.refuses(Exit::Input, "runs/none");
    std::fs::create_dir(bench.path("not-a-run")).unwrap();
    let tried = bench.run("tune --resume not-a-run");
    tried.refuses(Exit::Input, "not-a-run");
    bench.file("not-a-run/plan.toml", b"seconds = \"many\"\n");
    let tried = bench.run("tune --resume not-a-run");
    tried.refuses(Exit::Input, "not-a-run/plan.toml");
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

/// A simulated device is an engine, so that one for files beside it is a mistake in the command.
#[test]
fn an_engine_for_files_on_a_simulated_device_is_refused() {
    for engine in ["io_uring", "null,libaio", "spdk"] {
        let phrases = "its own engine | drop --engine";
        refused(&["bench", SIM, "--engine", engine], phrases);
    }
}
