//! Tests that runs can be stopped, killed and resumed.

use crate::bench::{
    FaultBench, Q2C, SIM, assert_whole, change_plan, has_words, lines, real_tune, result, split,
    state_of,
};
use q2c_result::Exit;
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// A word that q2c prints after each trial.
const TRIAL_DONE: &str = "took";

/// One run is stopped in each of its stages and resumed. At the end the run is complete, and has
/// every cell once.
#[test]
fn a_run_stopped_in_each_stage_goes_on() {
    let bench = FaultBench::new();
    let outcome = bench.stopped(&real_tune(SIM, &[]), "calibrating", Signal::INT);
    outcome.fails(Exit::Interrupted, "calibrate | stopped by a signal");
    let run = bench.run_is("interrupted");
    let name = run.display().to_string();
    let resume = ["tune", "--resume", &name];

    let outcome = bench.stopped(&resume, "recording", Signal::TERM);
    outcome.fails(Exit::Interrupted, "stopped by a signal | --resume");
    assert!(run.join("calibration.json").exists());
    assert!(!run.join(format!("trace-{}.parquet", 4096)).exists());
    interrupted(&run);

    let outcome = bench.stopped(&resume, "simulating", Signal::INT);
    outcome.exits(Exit::Interrupted);
    assert_eq!(trials(&run), 0, "{outcome:#?}");
    interrupted(&run);

    let outcome = bench.stopped(&resume, TRIAL_DONE, Signal::INT);
    outcome.exits(Exit::Interrupted);
    has_words(&outcome.stderr, &[&*format!("--resume {name}")]);
    // One trial of the first round has run, so the answer names the methods without a trial.
    let answer = outcome.stdout.replace("\n ", "");
    has_words(&answer, "Not in this answer, for want of a trial");
    for unmeasured in [" 0 IOPS", "was poll, no sleep", "effective mode:"] {
        assert!(!answer.contains(unmeasured), "{unmeasured}: {outcome:#?}");
    }
    interrupted(&run);
    let kept = fs::read_to_string(run.join("cells.jsonl")).unwrap();
    assert!(trials(&run) >= 1);

    fails_in_a_trial(&bench, &run, &resume);
    bench
        .stopped(&resume, TRIAL_DONE, Signal::KILL)
        .killed_by(Signal::KILL);
    let journal = fs::read_to_string(run.join("cells.jsonl")).unwrap();
    assert!(journal.starts_with(&kept), "{journal}");

    let printed = bench.q2c(&[&resume[..], &["--json"]].concat()).json();
    complete(&run, &kept, &printed);
    let tried = bench.q2c(&resume);
    tried.fails(Exit::Input, &[&name, "complete", "start a new run"]);
}

/// A stopped and resumed run for a program has the program in its result. Without the file that
/// stores the program, the run cannot be resumed.
#[test]
fn a_stopped_run_for_a_program_keeps_the_program() {
    let bench = FaultBench::new();
    let rows = (0..200u64).map(|n| {
        let (time, offset) = (128_166_372_000_000_000 + n * 2_000, n * 7919 % 1000 * 4096);
        format!("{time},host,0,Read,{offset},4096,1000\n")
    });
    fs::write(bench.path("msr.csv"), rows.collect::<String>()).unwrap();
    let arguments = real_tune(SIM, &["--from", "msr.csv"]);
    let outcome = bench.stopped(&arguments, "calibrating", Signal::INT);
    outcome.exits(Exit::Interrupted);
    let run = bench.run_is("interrupted");
    let resume = ["tune", "--resume", &run.display().to_string(), "--json"];
    let (file, aside) = (run.join("program.json"), run.join("aside"));
    fs::rename(&file, &aside).unwrap();
    let phrases = "program.json | found no file";
    bench.q2c(&resume).fails(Exit::Input, phrases);
    fs::rename(&aside, &file).unwrap();
    let result = bench.q2c(&resume).json();
    assert_eq!(result["program"]["recording"]["source"], "msr");
    assert_eq!(result["program"]["likeness"][0]["bs"], 4096);
    assert!(run.join("program.parquet").exists());
}

/// The device fails from the next session on: the run ends and keeps its trials. A plan that
/// contradicts the calibration is refused first.
fn fails_in_a_trial(bench: &FaultBench, run: &Path, resume: &[&str]) {
    // The engine of the file gets a fault; the name of its target stays.
    let spoil = |name: &str| {
        let path = run.join(name);
        let good = fs::read_to_string(&path).unwrap();
        let bad = good.replace("\"sim:", "\"fault:eio@20:sim:");
        let bad = bad.replace("target = \"fault:eio@20:", "target = \"");
        let bad = bad.replace("target\": \"fault:eio@20:", "target\": \"");
        assert_ne!(good, bad);
        fs::write(&path, bad).unwrap();
        (path, good)
    };
    let before = trials(run);
    let (_, plan) = spoil("plan.toml");
    let tried = bench.q2c(resume);
    tried.fails(Exit::Input, "plan.toml: was checksum | new run");
    change_plan(run, &fs::read_to_string(run.join("plan.toml")).unwrap());
    let tried = bench.q2c(resume);
    tried.fails(Exit::Input, "calibration.json | engine: was | new run");
    let (path, identity) = spoil("calibration-identity.json");
    let tried = bench.q2c(resume);
    tried.fails(Exit::Device, "verify | Input/output error | dmesg");
    interrupted(run);
    assert_eq!(trials(run), before);
    fs::write(path, identity).unwrap();
    change_plan(run, &plan);
}

fn interrupted(run: &Path) {
    assert_eq!(state_of(run), "interrupted");
    assert_whole(run);
}

fn trials(run: &Path) -> usize {
    let text = fs::read_to_string(run.join("cells.jsonl")).unwrap();
    text.lines().filter(|l| l.contains("\"trial\"")).count()
}

fn complete(run: &Path, kept: &str, printed: &Value) {
    assert_eq!(state_of(run), "complete");
    assert_whole(run);
    assert!(run.join("report.html").exists());
    let journal = fs::read_to_string(run.join("cells.jsonl")).unwrap();
    assert!(journal.starts_with(kept));
    assert_eq!(lines(&run.join("cells.jsonl")), journal.lines().count());
    assert_eq!(*printed, result(run));
    assert_eq!(printed["complete"], true);
    let cells = printed["cells"].as_array().unwrap();
    assert!(cells.len() >= 3);
    assert_eq!(cells.len(), trials(run), "each cell once: {journal}");
}

/// Batch systems and limits of CPU time send other signals than a terminal does.
#[test]
fn stopped_while_filling_the_scratch_file() {
    let of_people = [Signal::INT, Signal::HUP, Signal::USR1, Signal::USR2];
    let of_timers = [Signal::ALARM, Signal::VTALARM, Signal::PROF, Signal::XCPU];
    let others = [Signal::IO, Signal::SYS, Signal::POWER];
    for signal in [&of_people[..], &of_timers, &others].concat() {
        let bench = FaultBench::new();
        let args = ["tune", "--scratch", "2g", "--seconds", "0.1"];
        let outcome = bench.stopped(&args, "filling the scratch file", signal);
        outcome.fails(Exit::Interrupted, "fill the scratch file | removed");
        bench.assert_no_runs();
    }
}

/// A write beyond the limit on file sizes is an error with a message, and leaves nothing.
#[test]
fn a_limit_of_file_sizes_is_told() {
    let bench = FaultBench::new();
    let line = r#"ulimit -f 64; exec "$0" "$@""#;
    let args = ["-c", line, Q2C, "tune", "--scratch=4m", "--seconds=0.1"];
    let outcome = bench.by("sh", &args);
    outcome.fails(Exit::Environment, "the scratch file | File too large");
    bench.assert_no_runs();
}

/// A stopped tune keeps its scratch file for `--resume`. A stopped calibration removes it, since it
/// cannot be resumed.
#[test]
fn the_scratch_file_is_kept_for_a_stopped_tune_only() {
    let bench = FaultBench::new();
    let args = split("tune --scratch 4m --seconds 0.1 --trials 1");
    let outcome = bench.stopped(&args, "calibrating", Signal::INT);
    outcome.fails(Exit::Interrupted, "stopped by a signal");
    let run = bench.run_is("interrupted");
    let files = fs::read_dir(bench.path("runs")).unwrap();
    let mut files = files.map(|entry| entry.unwrap().path());
    let scratch = files.find(|path| path.is_file()).unwrap();
    let left = format!("runs/{}", scratch.file_name().unwrap().display());
    let kept = format!("kept {left} for q2c tune --resume");
    assert!(outcome.stderr.contains(&kept), "{outcome:#?}");
    assert!(run.exists());

    // The completed run names the file but does not remove it, since another session created it.
    let done = bench.q2c(&["tune", "--resume", &run.display().to_string()]);
    done.exits(Exit::Done);
    assert!(scratch.exists());
    let no_need = format!("does not need {left} any more: remove it");
    assert!(done.stderr.contains(&no_need), "{done:#?}");

    let bench = FaultBench::new();
    let args = ["calibrate", "--scratch", "4m"];
    let outcome = bench.stopped(&args, "calibrating", Signal::INT);
    outcome.fails(Exit::Interrupted, "stopped by a signal");
    bench.assert_no_runs();
}

#[test]
fn a_stopped_reproduction() {
    if std::thread::available_parallelism().unwrap().get() < 2 {
        return crate::skip("one CPU only");
    }
    let bench = FaultBench::new();
    let args = format!("reproduce poll-vs-hybrid-cpu --target {SIM} --scale=0.1");
    let outcome = bench.stopped(&split(&args), "run folder", Signal::INT);
    outcome.exits(Exit::Interrupted);
    bench.run_is("interrupted");
}

/// Commands in the middle of work that does not check for signals: one rule's simulation, and a
/// read from a pipe without a writer.
#[test]
fn a_command_that_does_not_look_ends_all_the_same() {
    let bench = FaultBench::new();
    let list = bench.file("latencies.csv", &b"31\n30\n40\n".repeat(50));
    let pipe = bench.path("pipe").display().to_string();
    assert!(crate::bench::works("mkfifo", &[&pipe]));
    // 10^7 s of I/Os of 31 us would take hours.
    let long = "--policy=pas --unit=us --measure=10000000s";
    let commands = [
        format!("poll sim {list} {long}"),
        format!("poll sweep {list} {long} --yes"),
        format!("trace import {pipe} --out t.parquet"),
        format!("analyze {pipe}"),
        format!("poll sim {pipe} --policy=pas"),
        format!("bench {SIM} --fio {pipe}"),
        format!("replay {pipe} {SIM}"),
        format!("compare {pipe} {SIM} {SIM}"),
    ];
    let start = |line: &String| bench.begin(&split(line));
    let mut started: Vec<_> = commands.iter().map(start).collect();
    // After this sleep all commands are in the middle of their work.
    std::thread::sleep(Duration::from_millis(1_500));
    for running in &mut started {
        running.signal(Signal::TERM);
    }
    for running in started {
        let outcome = running.end();
        outcome.fails(Exit::Interrupted, "stopped by a signal");
    }
    // A q2c trace is read from its end, which is impossible with a pipe.
    let tried = bench.q2c(&["trace", "info", &pipe]);
    tried.refuses(Exit::Input, "expected a regular file");
    bench.assert_no_runs();
    // Only the list and the pipe remain, and no incomplete trace.
    let mut left: Vec<_> = fs::read_dir(bench.path("")).unwrap().collect();
    left.retain(|e| e.as_ref().unwrap().path().extension().is_some());
    assert_eq!(left.len(), 1, "{left:?}");
}

/// A run waits for its requests in flight, here ten minutes; a second signal ends the run at once.
#[test]
fn a_second_signal_ends_a_run_at_once() {
    let bench = FaultBench::new();
    let args = split("bench sim:600s --method=interrupt --trials=1 --seconds=1 --real-time");
    let mut running = bench.begin(&args);
    running.says("1 cell");
    // The trial starts, and with it the first request.
    std::thread::sleep(Duration::from_secs(2));
    running.signal(Signal::INT);
    // Leaves time to handle the first signal, since two that arrive together count as one.
    std::thread::sleep(Duration::from_secs(1));
    running.signal(Signal::INT);
    let outcome = running.end();
    outcome.fails(Exit::Interrupted, "second signal | q2c restore");
}

/// timeout(1) sends signals this way: one to the program, and right after it one to its group.
#[test]
fn two_signals_that_come_together_are_one() {
    let bench = FaultBench::new();
    let args = split("bench sim:1ms --method=interrupt --trials=1 --seconds=60 --real-time");
    let mut running = bench.begin(&args);
    running.says("1 cell");
    running.signal(Signal::INT).signal(Signal::TERM);
    let outcome = running.end();
    outcome.exits(Exit::Interrupted);
    assert!(!outcome.stderr.contains("second signal"), "{outcome:#?}");
}

/// The rate is a thousand times what the device can do. The run still ends with its trial, without
/// working off the overdue requests, which would take a quarter of an hour.
#[test]
fn a_rate_above_what_the_device_can_do_ends_in_time() {
    let bench = FaultBench::new();
    let short = "--trials=1 --seconds=1 --warm-up=0.25 --json";
    let run = format!("bench sim:1ms --method=poll --rate=1000000 {short}");
    let result = bench.run(&run).json();
    let iops = result["cells"][0]["iops"]["median"].as_f64().unwrap();
    // One server of 1 ms, and 600 ns between two of its requests.
    assert!((iops * 1_000_600e-9 - 1.0).abs() < 1e-6, "{iops}");
}

/// A trial in which the program stood still has no figures. Its I/Os would be averaged over time in
/// which it could do none.
#[test]
fn a_trial_in_which_the_program_was_stopped_does_not_count() {
    let bench = FaultBench::new();
    let args = split("bench sim:1ms --method=interrupt --trials=1 --seconds=5 --real-time");
    let mut running = bench.begin(&args);
    running.says("1 cell");
    std::thread::sleep(Duration::from_secs(2));
    running.signal(Signal::STOP);
    std::thread::sleep(Duration::from_secs(4));
    running.signal(Signal::CONT);
    let outcome = running.end();
    outcome.fails(Exit::Environment, "every trial failed | stood still");
}

/// A command that ignores signals is killed, and the recording so far is kept.
#[test]
fn a_recorded_command_that_ignores_signals() {
    let bench = FaultBench::new();
    let target = bench.target();
    let deaf = "trap '' INT TERM HUP; echo deaf >&2; while :; do sleep 0.1; done";
    let record = ["trace", "record", &target, "--out", "t.parquet"];
    let args = [&record[..], &["--", "sh", "-c", deaf]].concat();
    let mut running = bench.begin(&args);
    std::thread::sleep(Duration::from_secs(2));
    running.signal(Signal::INT);
    // A `sleep` of the shell may remain for up to 0.1 s.
    let outcome = running.end_with_others();
    if outcome.status.code() != Some(i32::from(Exit::Interrupted.code())) {
        assert!(!outcome.stderr.contains("deaf"), "{outcome:#?}");
        return crate::skip("no capture here");
    }
    assert!(bench.path("t.parquet").exists(), "{outcome:#?}");
}

/// A second signal does not wait for the recorded command, but ends it too.
#[test]
fn a_recorded_command_does_not_outlive_a_second_signal() {
    let bench = FaultBench::new();
    let target = bench.target();
    let deaf = "trap '' INT TERM HUP; echo $$ > pid; while :; do sleep 0.1; done";
    let args = ["trace", "record", &target, "--", "sh", "-c", deaf];
    let mut running = bench.begin(&args);
    std::thread::sleep(Duration::from_secs(2));
    running.signal(Signal::INT);
    std::thread::sleep(Duration::from_secs(1));
    running.signal(Signal::INT);
    let outcome = running.end_with_others();
    let Ok(pid) = fs::read_to_string(bench.path("pid")) else {
        return crate::skip("no capture here");
    };
    outcome.exits(Exit::Interrupted);
    let left = Path::new("/proc").join(pid.trim()).join("cmdline");
    let begun = std::time::Instant::now();
    // A killed process may need a moment to disappear, and longer as a zombie without a parent.
    while fs::read(&left).is_ok_and(|cmdline| !cmdline.is_empty()) {
        assert!(begun.elapsed() < Duration::from_secs(20), "it still runs");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_refused_recording_leaves_no_run_folder() {
    let bench = FaultBench::new();
    let target = bench.target();
    let refused = bench.q2c(&["trace", "record", &target, "--", "/nowhere/command"]);
    assert!(!refused.status.success(), "{refused:#?}");
    bench.assert_no_runs();
}

/// A run of tens of thousands of points ends soon after a signal, although its result lists each of
/// them. More points than any run can measure are refused.
#[test]
fn a_run_of_very_many_points_ends_all_the_same() {
    let bench = FaultBench::new();
    let args = ["bench", SIM, "--method=interrupt", "--trials=1"];
    let stopped = |axes: &[&str], says: &str| {
        let mut running = bench.begin(&[&args[..], axes].concat());
        running.says(says).signal(Signal::INT);
        running.end().exits(Exit::Interrupted);
    };
    // Up to eight numbers of jobs are all measured; of more, only a coarse grid.
    stopped(&["--jobs=1..8", "--depth=1..1000"], "8000 cells");
    stopped(&["--jobs=1..200", "--depth=1..100"], "800 cells");
    let tried = bench.q2c(&[&args[..], &["--jobs=1..1001", "--depth=1..100"]].concat());
    tried.fails(Exit::Usage, "100000 points | found 100100");
}
