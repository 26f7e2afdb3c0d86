//! Tests on machines that forbid something q2c needs, and on full disks.

use crate::bench::{
    FaultBench, FaultOutcome, Q2C, SIM, can_be_nobody, can_mount, split, state_of, tune, works,
};
use crate::skip;
use q2c_result::Exit;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

/// Python code that runs its arguments with io_uring_setup (425) failing with EPERM, as with sysctl
/// kernel.io_uring_disabled=2. It exits with 99 if seccomp filters cannot be set.
const FORBID: &str = "
import ctypes, os, struct, sys
libc = ctypes.CDLL(None)
rules = [(0x20, 0, 0, 0), (0x15, 0, 1, 425), (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7fff0000)]
code = b''.join(struct.pack('HBBI', *rule) for rule in rules)
kept = ctypes.create_string_buffer(code, len(code))
class Program(ctypes.Structure):
    _fields_ = [('len', ctypes.c_ushort), ('filter', ctypes.c_void_p)]
program = Program(len(rules), ctypes.addressof(kept))
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.byref(program)):
    sys.exit(99)
os.execv(sys.argv[1], sys.argv[1:])
";

#[test]
fn io_uring_forbidden() {
    if !works("python3", &["-c", "import ctypes"]) {
        return skip("no python3 with ctypes");
    }
    let bench = FaultBench::new();
    let target = bench.target();
    let script = bench.file("forbid.py", FORBID.as_bytes());
    let phrases = "set up io_uring | kernel.io_uring_disabled | seccomp";
    let run = |args: &[&str]| bench.by("python3", &[&[&script, Q2C], args].concat());
    for command in [&tune(&target, &[])[..], &["calibrate", &target]] {
        let outcome = run(command);
        if outcome.status.code() == Some(99) {
            return skip("no seccomp filters");
        }
        outcome.refuses(Exit::Environment, phrases);
    }
    run(&short_bench(&target, "io_uring")).refuses(Exit::Environment, phrases);
    bench.assert_no_runs();
    let outcome = run(&["doctor", "--json"]);
    outcome.exits(Exit::Done);
    assert!(outcome.stdout.contains("forbidden here"), "{outcome:#?}");
    other_interfaces_run(&target, &run);
}

fn short_bench<'a>(target: &'a str, engine: &'a str) -> Vec<&'a str> {
    let short = split("--json --trials=1 --seconds=1 --warm-up=0.25 --method=interrupt");
    [&["bench", target, "--engine", engine], &short[..]].concat()
}

/// If io_uring is forbidden, other interfaces are measured, alone and named together with io_uring.
fn other_interfaces_run(target: &str, run: &dyn Fn(&[&str]) -> FaultOutcome) {
    for (engine, measured) in [
        ("libaio", &["libaio"][..]),
        ("pvsync2", &["pvsync2"]),
        ("io_uring,libaio", &["libaio"]),
    ] {
        let outcome = run(&short_bench(target, engine));
        outcome.exits(Exit::Done);
        let result: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
        let cells = result["cells"].as_array().unwrap();
        assert_eq!(cells.len(), engine.split(',').count());
        for cell in cells {
            let name = cell["engine"].as_str().unwrap();
            let trials = u64::from(measured.contains(&name));
            assert_eq!(cell["iops"]["trials"].as_u64(), Some(trials), "{cell}");
            let failures = cell["failures"].to_string();
            assert_eq!(failures.contains("set up io_uring"), trials == 0, "{cell}");
        }
    }
}

#[test]
fn no_locked_memory() {
    if !can_be_nobody() || !works("prlimit", &["--version"]) {
        return skip("setpriv, prlimit: not root, or not there");
    }
    let bench = FaultBench::new();
    let target = bench.target();
    let outcome = bench.by_nobody(&["prlimit", "--memlock=0", Q2C, "calibrate", &target]);
    // Before 5.12 the memory of rings counts as locked. Since then it may be charged elsewhere, and
    // q2c uses plain buffers if it cannot register them.
    if outcome.status.success() {
        skip("the kernel needs none")
    } else {
        outcome.refuses(Exit::Environment, "io_uring | memlock limit | ulimit -l")
    }
}

/// The disk of the run folder fills up: with 4 pages in the calibration, with more pages later.
#[test]
fn a_full_disk() {
    if !can_mount() {
        return skip("unshare -m: no root");
    }
    let bench = FaultBench::new();
    for (pages, stage) in [(4, "calibration"), (19, ""), (26, "")] {
        let script = format!(
            "mkdir -p runs && mount -t tmpfs -o size={}k none runs || exit 99; \
             {Q2C} tune {SIM} --seconds 0.1 --trials 1; code=$?; \
             cp -a runs/. kept-{pages}; exit $code",
            4 * pages
        );
        let outcome = bench.mounting(&script);
        outcome.fails(Exit::Device, "runs | no space left | free some space");
        assert!(outcome.stderr.contains(stage), "{outcome:#?}");
        check_cut_off_runs(&bench, &format!("kept-{pages}"));
    }
}

/// Checks that the interrupted run has no incomplete file, and that its state is not complete.
fn check_cut_off_runs(bench: &FaultBench, kept: &str) {
    for run in std::fs::read_dir(bench.path(kept)).unwrap() {
        let run = run.unwrap().path();
        crate::bench::assert_whole(&run);
        // If not even the state could be written, the state is still `running`, which without an
        // owner means a crash.
        assert_ne!(state_of(&run), "complete");
        assert!(!run.join("result.json").exists());
    }
}

/// The user may have so few tasks that each of the program's threads in turn is refused. No limit
/// causes a panic: a thread that q2c cannot do without is reported with code 4.
#[test]
fn too_few_threads() {
    if !can_be_nobody() || !works("prlimit", &["--version"]) {
        return skip("setpriv, prlimit: not root, or not there");
    }
    let bench = FaultBench::new();
    let lines: String = (0..20_000).map(|n| format!("{}\n", 40 + n % 7)).collect();
    let list = bench.file("list.txt", lines.as_bytes());
    let sweep = ["poll", "sweep", &list, "--unit", "us", "--rule", "20us"];
    let analyze = ["analyze", &list, "--unit=us", "--op=read", "--bs=4k"];
    let mut refused = 0;
    for tasks in 1..=5 {
        for command in [&sweep[..], &analyze] {
            let limit = format!("--nproc={tasks}");
            let outcome = bench.by_nobody(&[&["prlimit", &limit, Q2C][..], command].concat());
            let panicked = outcome.stderr.contains("panicked");
            assert!(!panicked, "{tasks}: {outcome:#?}");
            let code = outcome.status.code();
            assert!(matches!(code, Some(0 | 3 | 4)), "{tasks}: {outcome:#?}");
            refused += u32::from(code == Some(4));
        }
    }
    if refused == 0 {
        skip("the kernel counts no tasks of this user");
    }
}

/// The limit on open files is hit at one place after another. It is never reported as a fault of
/// the device or its disk, which would be code 6.
#[test]
fn too_few_open_files() {
    if !works("prlimit", &["--version"]) {
        return skip("no prlimit");
    }
    let bench = FaultBench::new();
    let target = bench.target();
    let short = ["--seconds", "0.2", "--warm-up", "0.2", "--trials", "1"];
    let mut refused = 0;
    for files in 6..=9 {
        let limit = format!("--nofile={files}");
        let args = [&[limit.as_str(), Q2C, "bench", &target][..], &short].concat();
        let outcome = bench.by("prlimit", &args);
        let code = outcome.status.code();
        assert!(matches!(code, Some(0 | 4)), "{files}: {outcome:#?}");
        refused += u32::from(code == Some(4));
    }
    let few = "six files are too few for a ring, a target and a run folder";
    assert!(refused > 0, "{few}");
}

/// A folder that cannot take the output is reported with code 4, at any time, and the message names
/// the option for another folder. q2c creates the second folder, with permissions that forbid all
/// files in it.
#[test]
fn folders_that_cannot_be_written() {
    if !can_be_nobody() {
        return skip("setpriv: not root, or not there");
    }
    let bench = FaultBench::new();
    let list = bench.file("list.txt", b"40\n50\n60\n");
    for (name, mode) in [("closed", 0o555), ("open", 0o777)] {
        let folder = bench.path(name);
        std::fs::create_dir(&folder).unwrap();
        std::fs::set_permissions(&folder, Permissions::from_mode(mode)).unwrap();
    }
    let refused = |umask: &str, command: &str, phrases: &[&str]| {
        let script = format!("umask {umask}; exec {Q2C} {command}");
        let outcome = bench.by_nobody(&["sh", "-c", &script]);
        outcome.fails(Exit::Environment, phrases);
    };
    let sim = "sim:50us --seconds 0.2 --trials 1 --out";
    let out = ["Permission denied", "--out"];
    refused("022", &format!("bench {sim} closed"), &out);
    refused("022", &format!("tune {sim} closed"), &out);
    refused("022", "tune --scratch 1m --out closed", &out);
    refused("022", "calibrate --scratch 1m --out closed/runs", &out);
    refused("0777", &format!("bench {sim} open"), &out);
    let sweep = format!("poll sweep {list} --unit us --rule 20us --html closed/page.html");
    refused("022", &sweep, &["Permission denied", "another folder"]);
}

/// Without rights no disk is captured. The message has the reason of each way and what to do, with
/// code 4, and the terminal's modes and the folder stay as they were.
#[test]
fn a_live_view_without_permission() {
    if !can_be_nobody() {
        return skip("setpriv: not root, or not there");
    }
    let bench = FaultBench::new();
    for command in ["top vda", "top", "analyze --live vda"] {
        let arguments = [&[Q2C][..], &split(command)].concat();
        let outcome = bench.by_nobody(&arguments);
        if outcome.status.code() == Some(i32::from(Exit::Target.code())) {
            return skip("no disk of hardware");
        }
        outcome.fails(Exit::Environment, &["BPF", "tracefs", "root"]);
    }
    bench.assert_no_runs();
}
