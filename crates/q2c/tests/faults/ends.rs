//! Tests of how commands end: exit codes of outputs and of resumed runs, files of a run that are
//! not regular files, and outputs of a killed command.

use crate::bench::{FaultBench, Q2C, SIM, change_plan, real_tune, split, works};
use crate::skip;
use q2c_result::Exit;
use rustix::process::Signal;
use std::fs;
use std::path::Path;

/// A list of latencies, an input of `poll sweep` and `analyze`.
fn list(bench: &FaultBench) -> String {
    bench.file("list.csv", &b"31\n30\n40\n".repeat(50))
}

/// The names in the test's folder, including hidden ones.
fn names(bench: &FaultBench) -> Vec<String> {
    let entries = fs::read_dir(bench.path("")).unwrap();
    let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name();
    let mut names: Vec<String> = entries.map(|e| name(e).into_string().unwrap()).collect();
    names.sort();
    names
}

/// A mistake in the files of a resumed run is a bad input, even if the same value in the command
/// line would be wrong usage.
#[test]
fn files_of_a_run_that_was_changed() {
    let bench = FaultBench::new();
    let run = interrupted(&bench, &real_tune(SIM, &[]), "recording");
    let name = run.display().to_string();
    let resume = ["tune", "--resume", &name];
    let trace = run.join("trace-4096.parquet");
    assert!(!trace.exists());
    fs::write(&trace, "").unwrap();
    let tried = bench.q2c(&resume);
    tried.fails(Exit::Input, "trace-4096.parquet | start a new run");

    let bench = FaultBench::new();
    let args = format!("bench {SIM} --trials=1000 --method=interrupt --seconds=1");
    let run = interrupted(&bench, &split(&args), "took");
    let name = run.display().to_string();
    let good = fs::read_to_string(run.join("plan.toml")).unwrap();
    for (from, to, word) in [
        ("sim:400us", "sim:400us,servers=0", "servers"),
        ("cpus = [", "cpus = [4095, ", "4095"),
    ] {
        let bad = good.replace(from, to);
        assert_ne!(bad, good);
        change_plan(&run, &bad);
        let tried = bench.q2c(&["bench", "--resume", &name]);
        tried.fails(Exit::Input, &[word]);
    }
}

/// Starts a run, interrupts it once it prints `text`, and returns its folder.
fn interrupted(bench: &FaultBench, args: &[&str], text: &str) -> std::path::PathBuf {
    bench
        .stopped(args, text, Signal::INT)
        .exits(Exit::Interrupted);
    bench.run_is("interrupted")
}

/// Replaces each file that a resumed run reads, first by a pipe without a writer, then by a device
/// without an end.
#[test]
fn files_of_a_run_that_are_no_files() {
    let bench = FaultBench::new();
    let args = ["tune", SIM, "--seconds=0.3", "--trials=1000"];
    let run = interrupted(&bench, &args, "took");
    let name = run.display().to_string();
    for file in split("plan.toml state.json cells.jsonl calibration.json trace-4096.parquet") {
        let path = run.join(file);
        let kept = run.join("kept");
        fs::rename(&path, &kept).unwrap();
        assert!(works("mkfifo", &[path.to_str().unwrap()]));
        let refused = |kind: &str| {
            let outcome = bench.q2c(&["tune", "--resume", &name]);
            outcome.fails(Exit::Input, &[file, "expected a regular file"]);
            let is_named = file.ends_with(".parquet") || outcome.stderr.contains(kind);
            assert!(is_named, "{outcome:#?}");
        };
        refused("a pipe");
        fs::remove_file(&path).unwrap();
        // The journal is never opened through a link.
        if file != "cells.jsonl" {
            std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
            refused("a character device");
            fs::remove_file(&path).unwrap();
        }
        fs::rename(&kept, &path).unwrap();
    }
    // The run continues once the files are complete again.
    let resumed = bench.stopped(&["tune", "--resume", &name], "took", Signal::INT);
    resumed.exits(Exit::Interrupted);
}

/// Runs of all kinds hit the limit on open files at one place after another. A replay may be late
/// on a busy machine, which is code 7.
#[test]
fn too_few_open_files_for_a_run() {
    if !works("prlimit", &["--version"]) {
        return skip("no prlimit");
    }
    let bench = FaultBench::new();
    let list = list(&bench);
    let import = format!("trace import {list} --unit=us --op=read --bs=4k --out t.parquet");
    bench.run(&import).exits(Exit::Done);
    let mut refused = 0;
    for files in 3..=8 {
        for args in [
            "tune SIM --jobs=1,2 --seconds=0.1 --trials=1 --budget=1s",
            "replay t.parquet SIM",
            "reproduce poll-vs-hybrid-cpu --target SIM --scale=0.005 --trials=1",
        ] {
            let args = args.replace("SIM", SIM);
            let args = &split(&args)[..];
            let limit = format!("--nofile={files}");
            let args = [&[limit.as_str(), Q2C], args].concat();
            let outcome = bench.by("prlimit", &args);
            let code = outcome.status.code();
            let is_expected = matches!(code, Some(0 | 4 | 7 | 127));
            assert!(is_expected, "{files} {args:?}: {outcome:#?}");
            refused += u32::from(code == Some(4));
        }
    }
    assert!(refused > 0, "three files are too few for anything");
}

/// A killed command leaves no file with its output's name, neither empty nor incomplete.
#[test]
fn a_killed_command_leaves_no_output() {
    let bench = FaultBench::new();
    let list = list(&bench);
    // 10^7 s of I/Os of 31 us would take hours.
    let sweep = format!("poll sweep {list} --policy=pas --yes --unit=us --measure=10000000s");
    let sweep = split(&sweep);
    let outputs = ["--html=x.html", "--csv=x.csv", "--parquet=x.parquet"];
    killed(&bench, &[&sweep[..], &outputs].concat(), 3);
    let pipe = bench.path("pipe").display().to_string();
    assert!(works("mkfifo", &[&pipe]));
    killed(&bench, &["analyze", &pipe, "--html=x.html"], 1);
    // A name that is taken meanwhile is not overwritten.
    assert!(!names(&bench).iter().any(|name| name.starts_with('x')));
}

/// Kills a command once it has created its outputs, which then have hidden names.
fn killed(bench: &FaultBench, args: &[&str], outputs: usize) {
    let mut running = bench.begin(args);
    let hidden = |bench: &FaultBench| {
        let mut names = names(bench);
        names.retain(|name| name.starts_with(".x.") && name.ends_with(".tmp"));
        names
    };
    while hidden(bench).len() < outputs {
        let early: Vec<String> = names(bench);
        let early = early.iter().filter(|name| name.starts_with("x."));
        assert_eq!(early.count(), 0, "{args:?}");
        running.still_runs("the temporary files of its outputs");
    }
    running.signal(Signal::KILL);
    running.end().killed_by(Signal::KILL);
    for left in hidden(bench) {
        fs::remove_file(Path::new(&bench.path(&left))).unwrap();
    }
}
