//! Tests that a tune over numbers of jobs can be stopped, fail, be resumed and be read again.

use crate::bench::{
    FaultBench, SIM, assert_whole, change_plan, has_words, result, split, state_of,
};
use q2c_result::Exit;
use q2c_testkit::strict_json;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

fn files(run: &Path) -> Vec<(String, Vec<u8>)> {
    let file = |entry: std::io::Result<fs::DirEntry>| {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        (name, fs::read(entry.path()).unwrap())
    };
    let mut files: Vec<_> = fs::read_dir(run).unwrap().map(file).collect();
    files.sort();
    files
}

/// One run over 2 and 1 jobs. It is stopped at its second number of jobs, then the device fails
/// there, then the run is completed. The first number of jobs runs only once. The report is drawn
/// again from the folder, from which `q2c bench` also takes the method for each number of jobs.
#[test]
fn a_tune_over_jobs_goes_on_until_it_has_every_number() {
    let bench = FaultBench::new();
    let args = ["tune", SIM, "--seconds=5", "--trials=1", "--jobs=2,1"];
    let mut running = bench.begin(&args);
    running.says("number 1 of 2: --jobs 1");
    running.says("number 2 of 2: --jobs 2").signal(Signal::INT);
    let outcome = running.end();
    outcome.exits(Exit::Interrupted);
    let run = bench.run_is("interrupted");
    let name = format!("runs/{}", run.file_name().unwrap().display());
    let phrases = "4 KiB randread | 1 job:  | incomplete: nothing was measured with 2 jobs";
    has_words(&outcome.stdout, phrases);
    let hint = format!("--resume {name} goes on");
    assert!(outcome.stderr.contains(&hint), "{outcome:#?}");
    let (first, second) = (run.join("jobs-1"), run.join("jobs-2"));
    assert_eq!(state_of(&first), "complete");
    assert_eq!(state_of(&second), "interrupted");
    let part = result(&run);
    assert_eq!(part["schema"], "q2c.tune-jobs/2");
    assert_eq!(part["complete"], json!(false));
    assert_eq!(part["jobs"], json!([1, 2]));
    assert_eq!(part["runs"], json!([result(&first)]));
    let before = files(&first);

    let resume = ["tune", "--resume", &name];
    fails_in_the_second_number(&bench, &run, &resume);

    let outcome = bench.q2c(&[&resume[..], &["--json"]].concat());
    let whole = outcome.json();
    has_words(&outcome.stderr, "jobs-1 is complete");
    assert_eq!(files(&first), before, "the first number was not run again");
    is_whole(&run, &whole);
    let tried = bench.q2c(&resume);
    tried.fails(Exit::Input, &[&name, "complete", "start a new run"]);

    is_drawn_again(&bench, &name, &whole);
    gives_methods_to_bench(&bench, &name, &whole);
}

/// The device of the second number of jobs fails from the next session on. The run ends, names that
/// number, and keeps the first number of jobs in its report.
fn fails_in_the_second_number(bench: &FaultBench, run: &Path, resume: &[&str]) {
    let number = run.join("jobs-2");
    let good = fs::read_to_string(number.join("plan.toml")).unwrap();
    let bad = good.replace("engine = \"sim:", "engine = \"fault:eio@20:sim:");
    assert_ne!(good, bad);
    change_plan(&number, &bad);
    let phrases = "tune with --jobs 2 | Input/output error | go on with q2c tune --resume";
    bench.q2c(resume).fails(Exit::Device, phrases);
    assert_eq!(state_of(run), "interrupted");
    assert_whole(run);
    let failed = result(run);
    assert_eq!(failed["failed"]["jobs"], 2);
    let phrases = "Input/output error";
    has_words(failed["failed"]["reason"].as_str().unwrap(), phrases);
    assert_eq!(failed["runs"].as_array().unwrap().len(), 1);
    change_plan(&number, &good);
}

/// The result holds both numbers of jobs as in their folders, and the larger number has the CPUs of
/// the smaller one, too. A device of 400 us does at most 2500 requests per second for each job.
fn is_whole(run: &Path, whole: &Value) {
    assert_eq!(state_of(run), "complete");
    assert_whole(run);
    assert!(run.join("report.html").exists());
    assert_eq!(*whole, result(run));
    assert_eq!(whole["complete"], true);
    assert_eq!(whole["failed"], Value::Null);
    let runs = ["jobs-1", "jobs-2"].map(|part| result(&run.join(part)));
    assert_eq!(whole["runs"], json!(runs));
    let cpus_of = |run: &Value| run["job"]["cpus"].as_array().unwrap().clone();
    let cpus = runs.each_ref().map(cpus_of);
    assert_eq!(cpus.each_ref().map(Vec::len), [1, 2]);
    assert_eq!(cpus[0][0], cpus[1][0]);
    for (run, most) in runs.iter().zip([2_500.0, 5_000.0]) {
        assert_eq!(run["schema"], "q2c.tune/4");
        for cell in run["cells"].as_array().unwrap() {
            let iops = cell["measured"]["iops"]["max"].as_f64().unwrap();
            assert!(iops > 0.0 && iops < most * 1.02, "{iops}: {cell}");
        }
    }
    let leaders = whole["recommended"][0]["leaders"].as_array().unwrap();
    assert_eq!(leaders.len(), 2);
    for (leader, run) in leaders.iter().zip(&runs) {
        assert_eq!(leader["jobs"], run["job"]["jobs"]);
        let answer = &run["recommendation"][0];
        let (method, rule) = (answer["method"].as_str(), answer["policy"].as_str());
        let named = match rule.unwrap() {
            "" => method.unwrap().to_owned(),
            rule => format!("{}:{rule}", method.unwrap()),
        };
        assert_eq!(leader["method"], named);
    }
}

fn is_drawn_again(bench: &FaultBench, name: &str, whole: &Value) {
    let report = |more: &[&str]| {
        let outcome = bench.q2c(&[&["report", name], more].concat());
        outcome.exits(Exit::Done);
        outcome.stdout
    };
    let phrases = "sim:400us, simulated · randread, 1, 2 jobs | 2 jobs:  | recommend";
    has_words(&report(&[]), phrases);
    assert_eq!(strict_json(&report(&["--json"])), *whole);
    let csv = report(&["--csv"]);
    let runs = whole["runs"].as_array().unwrap().iter();
    let cells = runs.map(|run| run["cells"].as_array().unwrap().len());
    assert_eq!(csv.lines().count(), cells.sum::<usize>() + 1);
    report(&["--html", "again.html"]);
    let page = fs::read_to_string(bench.path("again.html")).unwrap();
    assert!(page.contains("Over the number of jobs") && page.contains("</html>"));
}

fn gives_methods_to_bench(bench: &FaultBench, name: &str, whole: &Value) {
    let bench_of = |jobs| {
        let short = "--seconds 0.2 --warm-up 0.2 --trials 1 --json";
        let tuned = format!("--tuned {name} --jobs {jobs}");
        bench.run(&format!("bench {SIM} --method poll {tuned} {short}"))
    };
    bench_of("1,4").fails(Exit::Input, "no answer for --jobs 4, but for --jobs 1,2");
    let measured = bench_of("1,2").json();
    let tuned = measured["job"]["tuned"]["methods"].as_array().unwrap();
    let leaders = whole["recommended"][0]["leaders"].as_array().unwrap();
    assert_eq!(tuned.len(), 2);
    for (tuned, leader) in tuned.iter().zip(leaders) {
        assert_eq!(tuned["jobs"], leader["jobs"]);
        assert_eq!(tuned["method"], leader["method"]);
        let point =
            |cell: &&Value| cell["jobs"] == leader["jobs"] && cell["method"] == leader["method"];
        let cells = measured["cells"].as_array().unwrap().iter();
        assert_eq!(cells.filter(point).count(), 1, "{leader}");
    }
}

/// The run has one scratch file for all numbers of jobs. The file stays when the run is stopped. A
/// later session continues with it, and uses the calibration that was made on it.
#[test]
fn the_numbers_of_jobs_share_a_scratch_file() {
    let bench = FaultBench::new();
    let args = split("tune --scratch 4m --seconds 0.1 --trials 1 --jobs 1,2");
    let stopped = |args: &[&str]| {
        let mut running = bench.begin(args);
        running.says("number 1 of 2: --jobs 1");
        running.says("by classic polling").signal(Signal::INT);
        let outcome = running.end();
        outcome.fails(Exit::Interrupted, "stopped by a signal");
        outcome
    };
    let outcome = stopped(&args);
    let run = bench.run_is("interrupted");
    let name = format!("runs/{}", run.file_name().unwrap().display());
    assert_eq!(outcome.stderr.matches("kept runs/scratch-").count(), 1);
    let kept = format!("for q2c tune --resume {name}");
    assert!(outcome.stderr.contains(&kept), "{outcome:#?}");
    let scratch_files = || {
        let files = fs::read_dir(bench.path("runs")).unwrap();
        let files = files.filter(|entry| entry.as_ref().unwrap().path().is_file());
        files.count()
    };
    assert_eq!(scratch_files(), 1);
    let calibration = fs::read(run.join("jobs-1/calibration.json")).unwrap();

    stopped(&["tune", "--resume", &name]);
    assert_eq!(scratch_files(), 1);
    let again = fs::read(run.join("jobs-1/calibration.json")).unwrap();
    assert_eq!(again, calibration);
    assert!(!run.join("result.json").exists());
}
