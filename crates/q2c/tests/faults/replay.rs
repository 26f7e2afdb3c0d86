//! Tests of replays and comparisons that are stopped.

use crate::bench::{FaultBench, assert_whole, split};
use q2c_result::Exit;
use q2c_testkit::strict_json;
use rustix::process::Signal;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

/// A CSV file with a request every 10 ms for a minute.
fn minute(bench: &FaultBench) -> String {
    let path: PathBuf = bench.path("minute.csv");
    let mut text = "submit,took,offset,size,op\n".to_owned();
    (0..6000).for_each(|n| text += &format!("{},100,{},4096,read\n", n * 10_000, n * 4096));
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

const HOW: &str = "--json --real-time --max-lateness 1s --format csv --unit us \
    --columns submit_ns=submit,latency=took,offset=offset,bytes=size,op=op";

#[test]
fn a_stopped_replay_keeps_what_was_done() {
    let bench = FaultBench::new();
    let trace = minute(&bench);
    let mut running = bench.begin(&split(&format!("replay {trace} sim:1ms {HOW}")));
    running.says("1 cell x 1 trial");
    std::thread::sleep(Duration::from_millis(1500));
    running.signal(Signal::INT);
    let outcome = running.end();
    outcome.exits(Exit::Interrupted);
    let result: serde_json::Value = strict_json(&outcome.stdout);
    // The trace has 100 requests per second, and the signal arrived after 1.5 s or slightly later.
    let issued = result["issued"].as_u64().unwrap();
    assert!((50..3000).contains(&issued), "{issued}");
    assert_eq!(result["complete"], false);
    assert_eq!(result["valid"], false);
    assert!(result["invalid"][0]["id"] == "stopped", "{result}");
    let run = bench.run_is("interrupted");
    assert_whole(&run);
    assert!(run.join("report.html").exists());
}

#[test]
fn a_stopped_comparison_keeps_finished_trials() {
    let bench = FaultBench::new();
    let trace = minute(&bench);
    let command_line = format!("compare {trace} sim:1ms sim:2ms --part 0s..0.5s {HOW}");
    let outcome = bench.stopped(&split(&command_line), "trial 1: took", Signal::INT);
    outcome.exits(Exit::Interrupted);
    let result: serde_json::Value = strict_json(&outcome.stdout);
    assert_eq!(result["complete"], false);
    let devices = result["comparisons"][0]["devices"].as_array().unwrap();
    let trials_of = |device: &serde_json::Value| device["trials"].as_array().unwrap().clone();
    let trials = devices.iter().flat_map(trials_of);
    let whole = trials.filter(|trial| trial["whole"] == true).count();
    assert!((1..10).contains(&whole), "{whole}");
}
