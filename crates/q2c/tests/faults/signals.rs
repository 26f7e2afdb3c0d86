//! Tests that runs are stopped, killed and resumed.

use crate::bench::{Bench, Outcome, Q2C, SIM, assert_whole, forget_plan, lines, state_of, tune};
use q2c_result::Exit;
use rustix::process::Signal;
use std::fs;
use std::path::Path;

/// A word that q2c prints when a trial has been run.
const TRIAL_DONE: &str = "took";

fn stopped(bench: &Bench, args: &[&str], at: &str, signal: Signal) -> Outcome {
    let mut running = bench.start(bench.command(Q2C, args));
    running.says(at).signal(signal);
    running.end()
}

/// One run is stopped in each of its stages and resumed. In the end it is complete, and has every
/// cell once.
#[test]
fn a_run_stopped_in_each_stage_goes_on() {
    let bench = Bench::new();
    let outcome = stopped(&bench, &tune(SIM, &[]), "calibrating", Signal::INT);
    outcome.fails(Exit::Interrupted, &["calibrate", "stopped by a signal"]);
    let run = bench.run_is("interrupted");
    let name = run.display().to_string();
    let resume = ["tune", "--resume", &name];

    let outcome = stopped(&bench, &resume, "recording", Signal::TERM);
    outcome.fails(Exit::Interrupted, &["stopped by a signal", "--resume"]);
    assert!(run.join("calibration.json").exists());
    assert!(!run.join(format!("trace-{}.parquet", 4096)).exists());
    interrupted(&run);

    let outcome = stopped(&bench, &resume, "simulating", Signal::INT);
    outcome.exits(Exit::Interrupted);
    assert_eq!(trials(&run), 0, "{outcome:#?}");
    interrupted(&run);

    let outcome = stopped(&bench, &resume, TRIAL_DONE, Signal::INT);
    outcome.exits(Exit::Interrupted);
    assert!(
        outcome.stderr.contains(&format!("--resume {name}")),
        "{outcome:#?}"
    );
    interrupted(&run);
    let kept = fs::read_to_string(run.join("cells.jsonl")).unwrap();
    assert!(trials(&run) >= 1);

    fails_in_a_trial(&bench, &run, &resume);
    stopped(&bench, &resume, TRIAL_DONE, Signal::KILL).killed_by(Signal::KILL);
    assert!(
        fs::read_to_string(run.join("cells.jsonl"))
            .unwrap()
            .starts_with(&kept)
    );

    let outcome = bench.q2c(&[&resume[..], &["--json"]].concat());
    outcome.exits(Exit::Done);
    complete(&run, &kept, &outcome.stdout);
    bench
        .q2c(&resume)
        .fails(Exit::Input, &[&name, "complete", "start a new run"]);
}

/// The device fails from the next session on: the run ends and keeps its trials. A plan that
/// differs from the calibration is refused first.
fn fails_in_a_trial(bench: &Bench, run: &Path, resume: &[&str]) {
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
    let plan = spoil("plan.toml");
    bench
        .q2c(resume)
        .fails(Exit::Input, &["plan.toml: was checksum", "new run"]);
    forget_plan(run);
    bench
        .q2c(resume)
        .fails(Exit::Input, &["calibration.json", "engine: was", "new run"]);
    let identity = spoil("calibration-identity.json");
    bench
        .q2c(resume)
        .fails(Exit::Device, &["verify", "Input/output error", "dmesg"]);
    interrupted(run);
    assert_eq!(trials(run), before);
    for (path, good) in [plan, identity] {
        fs::write(path, good).unwrap();
    }
}

fn interrupted(run: &Path) {
    assert_eq!(state_of(run), "interrupted");
    assert_whole(run);
}

fn trials(run: &Path) -> usize {
    let text = fs::read_to_string(run.join("cells.jsonl")).unwrap();
    text.lines()
        .filter(|line| line.contains("\"trial\""))
        .count()
}

fn complete(run: &Path, kept: &str, stdout: &str) {
    assert_eq!(state_of(run), "complete");
    assert_whole(run);
    assert!(run.join("report.html").exists());
    let journal = fs::read_to_string(run.join("cells.jsonl")).unwrap();
    assert!(journal.starts_with(kept));
    assert_eq!(lines(&run.join("cells.jsonl")), journal.lines().count());
    let result: serde_json::Value = serde_json::from_str(stdout).unwrap();
    let file = fs::read(run.join("result.json")).unwrap();
    assert_eq!(
        result,
        serde_json::from_slice::<serde_json::Value>(&file).unwrap()
    );
    assert_eq!(result["complete"], true);
    let cells = result["cells"].as_array().unwrap();
    assert!(cells.len() >= 3);
    assert_eq!(cells.len(), trials(run), "each cell once: {journal}");
}

#[test]
fn stopped_while_filling_the_scratch_file() {
    for signal in [Signal::INT, Signal::HUP] {
        let bench = Bench::new();
        let args = ["tune", "--scratch", "2g", "--seconds", "0.1"];
        let outcome = stopped(&bench, &args, "filling the scratch file", signal);
        outcome.fails(Exit::Interrupted, &["fill the scratch file", "removed"]);
        bench.left_nothing();
    }
}

/// A stopped tune keeps its scratch file for `--resume`. A stopped calibration removes it, since it
/// cannot be resumed.
#[test]
fn the_scratch_file_is_kept_for_a_stopped_tune_only() {
    let bench = Bench::new();
    let args = [
        "tune",
        "--scratch",
        "4m",
        "--seconds",
        "0.1",
        "--trials",
        "1",
    ];
    let outcome = stopped(&bench, &args, "calibrating", Signal::INT);
    outcome.fails(Exit::Interrupted, &["stopped by a signal"]);
    let run = bench.run_is("interrupted");
    let files = fs::read_dir(bench.path("runs")).unwrap();
    let scratch = files
        .map(|e| e.unwrap().path())
        .find(|p| p.is_file())
        .unwrap();
    let named = format!(
        "kept runs/{} for --resume",
        scratch.file_name().unwrap().display()
    );
    assert!(outcome.stderr.contains(&named), "{outcome:#?}");
    assert!(run.exists());

    let bench = Bench::new();
    let args = ["calibrate", "--scratch", "4m"];
    let mut running = bench.start(bench.command(Q2C, &args));
    running.says("filling");
    std::thread::sleep(std::time::Duration::from_millis(1500));
    running.signal(Signal::INT);
    running
        .end()
        .fails(Exit::Interrupted, &["stopped by a signal"]);
    bench.left_nothing();
}

#[test]
fn a_stopped_reproduction() {
    if std::thread::available_parallelism().unwrap().get() < 2 {
        return crate::skip("a_stopped_reproduction", "one CPU only");
    }
    let bench = Bench::new();
    let args = ["reproduce", "miss-rate-interference", SIM, "--seconds", "2"];
    let outcome = stopped(&bench, &args, "run folder", Signal::INT);
    outcome.exits(Exit::Interrupted);
    bench.run_is("interrupted");
}
