//! Tests of devices that fail during a run, of closed streams, and of settings that a killed run
//! left changed.

use crate::bench::{FaultBench, Q2C, SIM, has_words, works};
use crate::skip;
use q2c_host::Roots;
use q2c_host::restore::Guard;
use q2c_result::Exit;
use q2c_testkit::strict_json;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[test]
fn an_io_error_in_the_middle() {
    let bench = FaultBench::new();
    let engine = format!("fault:eio@500:{SIM}");
    let outcome = bench.tune(SIM, &["--engine", &engine]);
    let phrases = "foreground job 0 | at byte | Input/output error | dmesg";
    outcome.fails(Exit::Device, phrases);
    bench.run_is("interrupted");
    let outcome = bench.q2c(&["calibrate", SIM, "--engine", &engine]);
    outcome.fails(Exit::Device, "Input/output error | dmesg");
}

/// The run folder keeps what was measured before the fault. No figures are printed, since there are
/// none.
#[test]
fn an_io_error_in_a_reproduction() {
    if std::thread::available_parallelism().unwrap().get() < 2 {
        return skip("one CPU only");
    }
    let bench = FaultBench::new();
    let engine = format!("fault:eio@300:{SIM}");
    let args = format!("--target {SIM} --engine {engine} --scale 0.01 --trials 1");
    let outcome = bench.run(&format!("reproduce poll-vs-hybrid-cpu {args}"));
    outcome.fails(Exit::Device, "Input/output error | dmesg");
    bench.run_is("interrupted");
}

#[test]
fn faults_of_a_real_file() {
    let bench = FaultBench::new();
    let target = bench.target();
    let eio = bench.tune(&target, &["--engine", "fault:eio@500:io_uring"]);
    if eio.stderr.contains("set up io_uring") {
        return skip("io_uring cannot be used");
    }
    eio.fails(Exit::Device, "Input/output error | dmesg");
    bench.run_is("interrupted");
    let short = bench.q2c(&["calibrate", &target, "--engine", "fault:short@500:io_uring"]);
    short.fails(Exit::Device, "bytes");
    assert!(!bench.path("cache").exists(), "a calibration was stored");
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let bench = FaultBench::new();
    let mut command = bench.command(Q2C, &["doctor", "--json"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(0));
    assert_eq!(String::from_utf8(ended.stderr).unwrap(), "");
}

#[test]
fn json_is_one_document_and_nothing_else() {
    let bench = FaultBench::new();
    let outcome = bench.run("doctor --json");
    outcome.exits(Exit::Done);
    let report: serde_json::Value = strict_json(&outcome.stdout);
    assert!(report["checks"].as_array().is_some_and(|c| !c.is_empty()));
    let tried = bench.tune("nowhere", &["--json"]);
    tried.refuses(Exit::Target, "nowhere");
    let help = bench.run("--help");
    help.exits(Exit::Done);
    assert_eq!(help.stderr, "");
    assert!(help.stdout.contains("130"), "the exit codes are documented");
}

/// The test below starts itself again with this variable, `JOURNAL|SETTING|VALUE`. The second
/// process owns a setting: it changes the setting and waits to be killed.
const OWNER: &str = "Q2C_FAULTS_OWNER";

#[test]
fn settings_left_by_a_killed_run() {
    if let Some(owned) = std::env::var_os(OWNER) {
        return own_setting(owned.to_str().unwrap());
    }
    let bench = FaultBench::new();
    let journal = bench.path("journal").display().to_string();
    let nothing = bench.q2c(&["restore", "--journal", &journal]);
    nothing.exits(Exit::Done);
    assert_eq!(nothing.stdout, "nothing to restore\n");

    let file = bench.file("setting", b"128");
    restored(&bench, &journal, Path::new(&file), "256");
    left_alone(&bench, &journal, Path::new(&file));
    let image = bench.file("image", &[0; 1 << 20]);
    let Some(device) = bench.loop_device(&image) else {
        return skip("no loop device: a made file only");
    };
    let name = device.strip_prefix("/dev/").unwrap();
    let setting = format!("/sys/block/{name}/queue/read_ahead_kb");
    restored(&bench, &journal, Path::new(&setting), "256");
    assert!(works("losetup", &["--detach", &device]));
}

/// Kills an owner, lists its setting with a dry run and restores the setting. A second restore
/// finds nothing to do.
fn restored(bench: &FaultBench, journal: &str, setting: &Path, value: &str) {
    let old = read(setting);
    kill_an_owner(bench, journal, setting, value);
    let args = ["restore", "--journal", journal];
    let name = setting.file_name().unwrap().to_str().unwrap();
    let dry = bench.q2c(&[&args[..], &["--dry-run"]].concat());
    dry.exits(Exit::Done);
    has_words(&dry.stdout, &[name, &*format!("{old:?}")]);
    assert_eq!(read(setting), value);
    let done = bench.q2c(&args);
    done.exits(Exit::Done);
    has_words(&done.stdout, &[name]);
    assert!(done.stdout.ends_with(": restored\n"), "{done:#?}");
    assert_eq!(read(setting), old);
    assert_eq!(bench.q2c(&args).stdout, "nothing to restore\n");
}

/// A value that another program has set since is not changed.
fn left_alone(bench: &FaultBench, journal: &str, setting: &Path) {
    kill_an_owner(bench, journal, setting, "256");
    fs::write(setting, "512").unwrap();
    let done = bench.q2c(&["restore", "--journal", journal]);
    done.exits(Exit::Done);
    has_words(&done.stdout, "left alone | 512");
    assert_eq!(read(setting), "512");
}

fn kill_an_owner(bench: &FaultBench, journal: &str, setting: &Path, value: &str) {
    let owned = format!("{journal}|{}|{value}", setting.display());
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "running::settings_left_by_a_killed_run"])
        .env(OWNER, owned)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    while read(setting) != value {
        let late = begun.elapsed() > Duration::from_secs(20);
        assert!(!late, "nothing was changed");
        std::thread::sleep(Duration::from_millis(5));
    }
    // A setting whose owner lives is not changed, and q2c says so.
    let busy = bench.q2c(&["restore", "--journal", journal]);
    busy.exits(Exit::Requirements);
    assert!(busy.stdout.contains("still goes on"), "{busy:#?}");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(read(setting), value);
}

fn own_setting(owned: &str) {
    let [journal, setting, value]: [&str; 3] =
        owned.split('|').collect::<Vec<_>>().try_into().unwrap();
    let mut guard = Guard::new(&Roots::live(), Path::new(journal)).unwrap();
    guard.set(Path::new(setting), value).unwrap();
    std::thread::sleep(Duration::from_secs(60));
}

fn read(setting: &Path) -> String {
    fs::read_to_string(setting).unwrap().trim().to_owned()
}
