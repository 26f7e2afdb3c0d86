//! Tests that settings are put back when their owner is stopped by a signal or killed. This binary
//! starts itself as the owner.
//!
//! The setting is a test file, and, with root and a free loop device, also a real one of a block
//! queue. A test that is left out is counted as a skip.
#![expect(clippy::unwrap_used, reason = "a panic is a failed test")]
#![expect(clippy::print_stdout, reason = "this binary is its own test harness")]

#[path = "host/loop_device.rs"]
mod loop_device;

use loop_device::TestLoopDevice;
use q2c_host::Roots;
use q2c_host::restore::{Guard, UndoOutcome, restore_all};
use q2c_host::signals::Signals;
use rustix::process::{Pid, Signal, kill_process};
use std::env;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

fn main() {
    let args: Vec<String> = env::args().collect();
    if args.get(1).is_some_and(|a| a == "own") {
        return run_owner(Path::new(&args[2]), Path::new(&args[3]), &args[4]);
    }
    let made = tempfile::tempdir().unwrap();
    let file = made.path().join("setting");
    fs::write(&file, "128\n").unwrap();
    check_every_signal(&file, "256");
    match TestLoopDevice::new(made.path(), 1 << 20) {
        Some(device) => {
            let queue = Path::new("/sys/block").join(&device.name).join("queue");
            check_every_signal(&queue.join("read_ahead_kb"), "256");
            // The kernel rounds this value to whole pages: the value read back counts as the
            // owner's.
            check_kill(&queue.join("read_ahead_kb"), "261");
            check_every_signal(&queue.join("nomerges"), "2");
        }
        None => q2c_testkit::skip("killed owners of a queue setting", "no loop device"),
    }
    println!("killed owners: ok");
}

/// The owner: changes the setting, prints `changed`, and runs until a signal asks it to stop.
fn run_owner(journal: &Path, file: &Path, value: &str) {
    let signals = Signals::install(|_message| ()).unwrap();
    let mut guard = Guard::new(&Roots::live(), journal).unwrap();
    guard.set(file, value).unwrap();
    println!("changed");
    while !signals.stopped() {
        std::thread::sleep(Duration::from_millis(2));
    }
    drop(guard);
    std::process::exit(signals.received().unwrap());
}

fn check_every_signal(file: &Path, value: &str) {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT] {
        check_orderly_stop(file, value, signal);
    }
    check_kill(file, value);
}

/// An owner that a signal asked to stop has put the setting back when it ends.
fn check_orderly_stop(file: &Path, value: &str, signal: Signal) {
    let old = read_setting(file);
    let mut owner = OwnerProcess::start(file, value);
    assert_ne!(read_setting(file), old);
    assert_eq!(owner.end(signal).code(), Some(signal.as_raw()));
    assert_eq!(read_setting(file), old, "after {signal:?}");
    let mut left = fs::read_dir(&owner.journal).unwrap();
    assert!(!left.any(|entry| entry.unwrap().path().is_file()));
}

/// An owner that was killed leaves the setting changed, and `restore_all` puts it back, but never
/// while the owner lives.
fn check_kill(file: &Path, value: &str) {
    let old = read_setting(file);
    let mut owner = OwnerProcess::start(file, value);
    let ours = read_setting(file);
    let alive = restore_all(&Roots::live(), &owner.journal).unwrap();
    assert_eq!(alive.items[0].outcome, UndoOutcome::OwnerAlive);
    assert_eq!(read_setting(file), ours);
    owner.end(Signal::KILL);
    assert_eq!(read_setting(file), ours);
    let report = restore_all(&Roots::live(), &owner.journal).unwrap();
    assert!(report.is_complete(), "{report:?}");
    assert_eq!(report.items[0].outcome, UndoOutcome::Restored);
    assert_eq!(read_setting(file), old);
    let again = restore_all(&Roots::live(), &owner.journal).unwrap();
    assert!(again.items.is_empty());
}

fn read_setting(file: &Path) -> String {
    fs::read_to_string(file).unwrap().trim().to_owned()
}

struct OwnerProcess {
    child: Child,
    journal: PathBuf,
    _dir: tempfile::TempDir,
}

impl OwnerProcess {
    fn start(file: &Path, value: &str) -> OwnerProcess {
        let dir = tempfile::tempdir().unwrap();
        let journal = dir.path().join("restore");
        let mut command = Command::new(env::current_exe().unwrap());
        command.arg("own").args([&journal, file]).arg(value);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        output.read_line(&mut line).unwrap();
        assert_eq!(line, "changed\n");
        OwnerProcess {
            child,
            journal,
            _dir: dir,
        }
    }

    fn end(&mut self, signal: Signal) -> ExitStatus {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
        self.child.wait().unwrap()
    }
}
