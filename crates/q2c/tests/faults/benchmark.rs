//! Tests of `q2c bench` if its target fails, a signal arrives, or CPUs are missing.

use crate::bench::{
    FaultBench, Q2C, can_be_nobody, has_words, lines, result, split, state_of, works,
};
use crate::skip;
use q2c_result::Exit;
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// A word that q2c prints after each trial.
const TRIAL_DONE: &str = "took";

fn args<'a>(target: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut args = vec!["bench", target, "--seconds", "0.5", "--warm-up", "0.25"];
    args.extend(more);
    args
}

/// The finding of the only warning with this name; `None` without such a warning.
fn warned<'a>(result: &'a Value, id: &str) -> Option<&'a str> {
    let warnings = result["warnings"].as_array().unwrap().iter();
    let mut findings = warnings.filter(|warning| warning["id"] == id);
    let finding = findings.next()?["found"].as_str();
    assert_eq!(findings.count(), 0, "{result:#}");
    finding
}

/// Engine, method, jobs and number of trials of every cell.
fn cells(result: &Value) -> Vec<(String, String, u64, u64)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let cell = |c: &Value| {
        let [jobs, trials] = [&c["jobs"], &c["iops"]["trials"]].map(|n| n.as_u64().unwrap());
        (text(&c["engine"]), text(&c["method"]), jobs, trials)
    };
    let cells = result["cells"].as_array().unwrap();
    cells.iter().map(cell).collect()
}

#[test]
fn a_target_that_shrinks_ends_the_run_and_resume_goes_on() {
    let bench = FaultBench::new();
    let target = bench.target();
    let more = split("--engine libaio,pvsync2 --method interrupt --trials 3");
    let mut running = bench.begin(&args(&target, &more));
    running.says(TRIAL_DONE);
    let whole = fs::read(&target).unwrap();
    let file = fs::OpenOptions::new().write(true).open(&target).unwrap();
    file.set_len(64 << 10).unwrap();
    let outcome = running.end();
    let phrases = "shorter | 65536 | 1048576 | --resume | of 4096 bytes";
    outcome.fails(Exit::Device, phrases);
    assert!(outcome.stderr.contains("report: "), "{outcome:#?}");
    let run = bench.run_is("interrupted");
    let kept_result = result(&run);
    assert_eq!(kept_result["complete"], false);
    assert!(warned(&kept_result, "aborted").is_some());
    // The file gets its size and content back.
    fs::write(&target, whole).unwrap();
    fs::File::open(&target).unwrap().sync_all().unwrap();
    let outcome = bench.q2c(&["bench", "--resume", &run.display().to_string()]);
    outcome.exits(Exit::Done);
    assert_eq!(state_of(&run), "complete");
    let three = |engine: &str| (engine.to_owned(), "interrupt".to_owned(), 1, 3);
    assert_eq!(cells(&result(&run)), [three("libaio"), three("pvsync2")]);
}

#[test]
fn a_device_that_fails_every_request_is_no_result() {
    let bench = FaultBench::new();
    let bad = "fault:eio@20:sim:2ms";
    let more = ["--engine", bad, "--method", "interrupt", "--trials", "2"];
    let outcome = bench.q2c(&args("sim:2ms", &more));
    let phrases = "every trial failed | Input/output error | dmesg";
    outcome.fails(Exit::Device, phrases);
    let run = bench.run_is("complete");
    let (.., trials) = cells(&result(&run))[0];
    assert_eq!(trials, 0);
}

/// The run is stopped twice and then finished. Every point has its trials once, and the trials of
/// the first session are unchanged.
#[test]
fn an_interrupted_benchmark_goes_on() {
    let bench = FaultBench::new();
    let more = split("--jobs 1,2 --method interrupt,poll --trials 2");
    let more = [&more[..], &["--real-time"]].concat();
    let outcome = bench.stopped(&args("sim:2ms", &more), TRIAL_DONE, Signal::INT);
    outcome.exits(Exit::Interrupted);
    let run = bench.run_is("interrupted");
    let name = run.display().to_string();
    let folder_name = run.file_name().unwrap().to_str().unwrap();
    let hint = format!("--resume runs/{folder_name} goes on");
    assert!(outcome.stderr.contains(&hint), "{outcome:#?}");
    assert_eq!(result(&run)["complete"], false);
    let kept = fs::read_to_string(run.join("cells.jsonl")).unwrap();
    let kept_trials = lines(&run.join("cells.jsonl"));
    assert!((1..8).contains(&kept_trials), "{kept}");

    let killed = bench.stopped(&["bench", "--resume", &name], TRIAL_DONE, Signal::KILL);
    killed.killed_by(Signal::KILL);

    let printed = bench.q2c(&["bench", "--resume", &name, "--json"]).json();
    assert_eq!(printed, result(&run));
    assert_eq!(printed["complete"], true);
    let point = |method: &str, jobs| ("sim:2ms".to_owned(), method.to_owned(), jobs, 2);
    let interrupt = [point("interrupt", 1), point("interrupt", 2)];
    let expected = [interrupt, [point("poll", 1), point("poll", 2)]].concat();
    assert_eq!(cells(&printed), expected);
    let journal = fs::read_to_string(run.join("cells.jsonl")).unwrap();
    assert!(journal.starts_with(&kept));
    let trials = lines(&run.join("cells.jsonl"));
    assert_eq!(trials, 8, "each trial once: {journal}");
    let again = bench.q2c(&["bench", "--resume", &name]);
    again.fails(Exit::Input, &[&name, "complete", "start a new run"]);
}

/// The plan stores the machine, so a resumed run continues in simulated time. The resumed run has
/// the same cells as a run that nobody stopped.
#[test]
fn an_interrupted_simulation_goes_on_as_if_it_had_not_been_stopped() {
    let bench = FaultBench::new();
    let device = "sim:lognormal(80us,0.4)";
    let base = ["bench", device, "--seconds=20", "--trials=20", "--out"];
    let arguments = |out| [&base[..], &[out, "--method=poll"]].concat();
    bench.q2c(&arguments("whole")).exits(Exit::Done);
    let stopped = bench.stopped(&arguments("runs"), TRIAL_DONE, Signal::INT);
    stopped.exits(Exit::Interrupted);
    let run = bench.run_is("interrupted");
    assert!(lines(&run.join("cells.jsonl")) < 20);
    let tried = bench.q2c(&["bench", "--resume", &run.display().to_string()]);
    tried.exits(Exit::Done);
    let whole = fs::read_dir(bench.path("whole")).unwrap().next().unwrap();
    let whole = whole.unwrap().path();
    assert_eq!(result(&run)["cells"], result(&whole)["cells"]);
}

/// The scratch file is kept for the resumed run. Writing to it then needs `--allow-write`, like
/// every file that q2c did not just create.
#[test]
fn an_interrupted_benchmark_keeps_its_scratch_file() {
    let bench = FaultBench::new();
    let start = split("bench --scratch 4m --rw randwrite --engine libaio");
    let short = split("--method interrupt --seconds 1 --warm-up 0.25 --trials 3");
    let outcome = bench.stopped(&[start, short].concat(), TRIAL_DONE, Signal::TERM);
    outcome.exits(Exit::Interrupted);
    has_words(&outcome.stderr, "kept runs/scratch-");
    let run = bench.run_is("interrupted").display().to_string();
    let files = fs::read_dir(bench.path("runs")).unwrap();
    let mut files = files.map(|entry| entry.unwrap().path());
    let scratch = files.find(|path| path.is_file()).unwrap();
    let scratch = scratch.display().to_string();
    let refused = bench.q2c(&["bench", "--resume", &run]);
    refused.fails(Exit::Target, "--allow-write");
    let done = bench.q2c(&["bench", "--resume", &run, "--allow-write", &scratch]);
    done.exits(Exit::Done);
    has_words(&done.stderr, "does not need runs/scratch-");
    let (.., trials) = cells(&result(Path::new(&run)))[0];
    assert_eq!(trials, 3);
}

/// A job and its submitting thread share one CPU. The point is measured, since such a machine has
/// no better figure, and the point is marked.
#[test]
fn sqpoll_without_a_cpu_left_is_marked() {
    let bench = FaultBench::new();
    let target = bench.target();
    let more = split("--engine io_uring --method interrupt,sqpoll --trials 1 --cpus 0 --json");
    let outcome = bench.q2c(&args(&target, &more));
    if outcome.stderr.contains("set up io_uring") {
        return skip("io_uring cannot be used");
    }
    let printed = outcome.json();
    let [interrupt, sqpoll] = &printed["cells"].as_array().unwrap()[..] else {
        panic!("{printed:#}");
    };
    assert_eq!(interrupt["oversubscribed"], false);
    assert_eq!(sqpoll["oversubscribed"], true);
    let iops = sqpoll["iops"]["median"].as_f64();
    assert!(iops > Some(0.0), "{sqpoll:#}");
    let marked = warned(&printed, "oversubscribed").unwrap();
    has_words(marked, "io_uring sqpoll");
    assert!(!marked.contains("interrupt"), "{marked}");
    let run = bench.run_is("complete").display().to_string();
    let table = bench.q2c(&["report", &run]);
    has_words(&table.stdout, "1*");
}

#[test]
fn a_cpu_that_the_process_may_not_use() {
    if !works("taskset", &["-c", "0", "true"]) || !works("taskset", &["-c", "1", "true"]) {
        return skip("no taskset, or one CPU only");
    }
    let bench = FaultBench::new();
    let real = args("sim:2ms", &["--cpus", "1", "--real-time"]);
    let confined = [&["-c", "0", Q2C][..], &real].concat();
    let outcome = bench.by("taskset", &confined);
    outcome.fails(Exit::Usage, "CPU 1 | CPUs 0 here");
    bench.assert_no_runs();
}

const STAGES: &str = "--stages --engine=io_uring --method=interrupt --jobs=1,2 --trials=1";

fn stages(result: &Value) -> Vec<Value> {
    let cells = result["cells"].as_array().unwrap().iter();
    cells.map(|cell| cell["stages"].clone()).collect()
}

/// A user without rights gets the trials, and at each point the reason why stages are missing.
#[test]
fn stages_without_the_right_to_capture_say_why() {
    if !can_be_nobody() {
        return skip("setpriv: not root, or the program is out of reach");
    }
    let bench = FaultBench::new();
    let target = bench.target();
    let out = bench.path("out");
    fs::create_dir(&out).unwrap();
    fs::set_permissions(&out, fs::Permissions::from_mode(0o777)).unwrap();
    let out = out.display().to_string();
    let arguments = args(&target, &split(STAGES));
    let arguments = [&[Q2C], &arguments[..], &["--out", &out, "--json"]].concat();
    let outcome = bench.by_nobody(&arguments);
    outcome.exits(Exit::Done);
    let (before, _) = outcome.stderr.split_once(TRIAL_DONE).expect("a trial");
    has_words(&before, "there will be no stages: failed to");
    let printed = outcome.json();
    assert_eq!(printed["complete"], true);
    for ((.., trials), point_stages) in cells(&printed).iter().zip(stages(&printed)) {
        assert_eq!(*trials, 1, "the trial stands: {printed:#}");
        let reason = point_stages["unseen"]["refused"].as_str();
        has_words(reason.expect("a reason"), "record by BPF | tracefs");
    }
}

/// After a signal during the runs for stages the trials are kept, and points without such a run say
/// that they were stopped. The resumed run has stages at all points.
#[test]
fn an_interrupted_benchmark_goes_on_with_its_stages() {
    let bench = FaultBench::new();
    let target = bench.target();
    let arguments = args(&target, &split(STAGES));
    let outcome = bench.stopped(&arguments, "stages: a run of each point", Signal::INT);
    if outcome.status.code() == Some(0) {
        return skip("the runs for stages ended at once: no capture here");
    }
    outcome.exits(Exit::Interrupted);
    let run = bench.run_is("interrupted");
    let interrupted = result(&run);
    let once = cells(&interrupted).iter().all(|(.., trials)| *trials == 1);
    assert!(once, "{interrupted:#}");
    let is_stopped = |stages: &Value| stages["unseen"] == "stopped";
    let some_stopped = stages(&interrupted).iter().any(is_stopped);
    assert!(some_stopped, "{interrupted:#}");
    let kept = fs::read_to_string(run.join("cells.jsonl")).unwrap();

    let name = run.display().to_string();
    bench.q2c(&["bench", "--resume", &name]).exits(Exit::Done);
    let resumed = result(&run);
    assert_eq!(resumed["complete"], true);
    assert!(!stages(&resumed).iter().any(is_stopped), "{resumed:#}");
    let journal = fs::read_to_string(run.join("cells.jsonl")).unwrap();
    assert!(journal.starts_with(&kept), "{journal}");
    let entries = lines(&run.join("cells.jsonl"));
    assert_eq!(entries, 4, "a trial and a run of each point");
}
