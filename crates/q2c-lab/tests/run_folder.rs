//! Run folders through their public face: life, refusals, two processes, a full disk.

use q2c_lab::run_dir::{Identity, RunDir, RunDirError, RunState, Status, Torn, read_plan};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Plan {
    seed: u64,
    sizes: Vec<u32>,
}

fn plan() -> Plan {
    Plan {
        seed: 7,
        sizes: vec![4096, 8192],
    }
}

fn identity() -> Identity {
    Identity::default()
        .with("kernel", "6.12.1")
        .with("target", "/dev/vdb")
}

fn new(root: &Path) -> RunDir {
    RunDir::create(root, "demo", &plan(), &identity()).unwrap()
}

fn interrupted(root: &Path) -> PathBuf {
    let folder = new(root);
    let path = folder.path().to_path_buf();
    folder.finish(RunState::Interrupted).unwrap();
    path
}

fn status(path: &Path) -> Status {
    RunDir::inspect(path).unwrap().1
}

#[test]
fn a_run_from_start_to_end() {
    let root = tempfile::tempdir().unwrap();
    let mut folder = new(&root.path().join("runs"));
    let path = folder.path().to_path_buf();
    let name = path.file_name().unwrap().to_str().unwrap();
    assert!(name.ends_with("Z-demo") && name.len() == "20261120T110747Z-demo".len());
    assert_eq!(status(&path), Status::Running);
    assert_eq!(read_plan::<Plan>(&path).unwrap(), plan());

    folder.append(&[1.5, 2.5]).unwrap();
    folder.publish_json("result.json", &[0.1]).unwrap();
    folder.log("two\nlines").unwrap();
    folder.finish(RunState::Complete).unwrap();

    assert_eq!(status(&path), Status::Complete);
    let text = |name| fs::read_to_string(path.join(name)).unwrap();
    assert_eq!(text("cells.jsonl"), "[1.5,2.5]\n");
    assert_eq!(text("result.json"), "[\n  0.1\n]\n");
    assert!(text("log.txt").contains("Z two\n    lines\n"));
    let again = RunDir::resume(&path, &identity());
    assert!(matches!(again, Err(RunDirError::AlreadyComplete { .. })));
}

#[test]
fn runs_of_one_second_get_folders_of_their_own() {
    let root = tempfile::tempdir().unwrap();
    let folders: Vec<RunDir> = (0..4).map(|_| new(root.path())).collect();
    let paths: BTreeSet<&Path> = folders.iter().map(RunDir::path).collect();
    assert_eq!(paths.len(), 4);
}

#[test]
fn an_error_on_the_way_marks_the_run_interrupted() {
    let root = tempfile::tempdir().unwrap();
    let path = {
        let folder = new(root.path());
        folder.path().to_path_buf()
    };
    assert_eq!(status(&path), Status::Interrupted);
}

#[test]
fn resume_cuts_a_torn_line_says_so_and_sweeps_leftovers() {
    let root = tempfile::tempdir().unwrap();
    let path = interrupted(root.path());
    let journal = path.join("cells.jsonl");
    fs::write(&journal, "[1]\n[2]\n[3").unwrap();
    fs::write(path.join(".result.json.tmp"), "{\"ha").unwrap();

    let (mut folder, torn) = RunDir::resume(&path, &identity()).unwrap();
    assert_eq!(torn, Some(Torn { line: 3, bytes: 2 }));
    assert!(!path.join(".result.json.tmp").exists());
    folder.append(&[4]).unwrap();
    assert_eq!(folder.entries::<[u8; 1]>().unwrap(), [[1], [2], [4]]);
    assert_eq!(folder.record().sessions, 2);
    let log = fs::read_to_string(path.join("log.txt")).unwrap();
    assert!(log.contains("line 3 of cells.jsonl was torn"), "{log}");
}

#[test]
fn other_conditions_are_refused_naming_each() {
    let root = tempfile::tempdir().unwrap();
    let path = interrupted(root.path());
    let now = Identity::default()
        .with("kernel", "6.13.0")
        .with("target", "/dev/vdb")
        .with("calibration", "9f");
    let error = RunDir::resume(&path, &now).err().unwrap().to_string();
    assert!(error.contains("kernel: was 6.12.1, is 6.13.0"), "{error}");
    assert!(error.contains("calibration: was nothing, is 9f"), "{error}");
    assert!(!error.contains("target:"), "{error}");
    assert_eq!(status(&path), Status::Interrupted);
}

#[test]
fn a_folder_that_is_no_run_is_refused() {
    let root = tempfile::tempdir().unwrap();
    for path in [root.path().to_path_buf(), root.path().join("none")] {
        let refused = RunDir::resume(&path, &identity());
        assert!(matches!(refused, Err(RunDirError::NotARun { .. })));
    }
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
}

/// Runs one of the ignored tests below in a process of its own.
fn child(wrapper: &[&str], test: &str, folder: &Path) -> Command {
    let exe = std::env::current_exe().unwrap();
    let mut words = wrapper.iter().map(Into::into).chain([exe.into_os_string()]);
    let mut command = Command::new(words.next().unwrap());
    command.args(words);
    command.args(["--ignored", "--exact", "--nocapture", test]);
    command.env("Q2C_LAB_FOLDER", folder);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    command
}

fn given_folder() -> PathBuf {
    PathBuf::from(std::env::var_os("Q2C_LAB_FOLDER").expect("started by another test"))
}

#[test]
fn two_processes_cannot_use_one_folder_and_a_killed_one_leaves_it_crashed() {
    let root = tempfile::tempdir().unwrap();
    let path = interrupted(root.path());
    let mut holder = child(&[], "hold", &path).spawn().unwrap();
    let said = BufReader::new(holder.stdout.take().unwrap());
    let held = said.lines().any(|line| line.unwrap().contains("held"));
    assert!(held);

    assert_eq!(status(&path), Status::Running);
    match RunDir::resume(&path, &identity()) {
        Err(RunDirError::Busy { owner, .. }) => assert_eq!(owner, Some(holder.id())),
        other => panic!("expected busy, found {:?}", other.err()),
    }

    holder.kill().unwrap();
    holder.wait().unwrap();
    assert_eq!(status(&path), Status::Crashed);
    RunDir::resume(&path, &identity()).unwrap();
}

#[test]
#[ignore = "run in a process of its own by another test"]
fn hold() {
    let _folder = RunDir::resume(&given_folder(), &identity()).unwrap();
    println!("held");
    std::io::stdin().read_line(&mut String::new()).unwrap();
}

/// A real full disk, where the kernel lets us mount one of 64 KiB in a namespace of our own.
#[test]
fn a_full_disk_keeps_whole_lines_and_old_files() {
    let root = tempfile::tempdir().unwrap();
    let namespace = ["unshare", "--user", "--map-root-user", "--mount"];
    let mounted = "mount -t tmpfs -o size=64k none \"$Q2C_LAB_FOLDER\" && exec \"$0\" \"$@\"";
    let shell = [&namespace[..], &["sh", "-c", mounted]].concat();
    let possible = Command::new(namespace[0])
        .args(&namespace[1..])
        .args(["mount", "-t", "tmpfs", "none"])
        .arg(root.path())
        .status();
    if !possible.is_ok_and(|s| s.success()) {
        println!("skipped: this system does not allow a mount in a user namespace");
        return;
    }
    let done = child(&shell, "fill_a_small_disk", root.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(
        done.status.success(),
        "{}",
        String::from_utf8_lossy(&done.stdout)
    );
    assert!(String::from_utf8_lossy(&done.stdout).contains("1 passed"));
}

#[test]
#[ignore = "run in a namespace of its own by another test"]
fn fill_a_small_disk() {
    let root = given_folder();
    let mut folder = new(&root);
    let path = folder.path().to_path_buf();
    folder
        .publish("report.html", |out| out.write_all(b"old"))
        .unwrap();

    let entry = "x".repeat(3000);
    let mut kept = 0;
    let error = loop {
        match folder.append(&entry) {
            Ok(()) => kept += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(error, RunDirError::DiskFull { .. }), "{error}");
    assert!(kept > 3);
    assert_eq!(folder.entries::<String>().unwrap(), vec![entry; kept]);
    let line = fs::metadata(path.join("cells.jsonl")).unwrap().len();
    assert_eq!(line, kept as u64 * 3003);

    let big = |out: &mut dyn Write| out.write_all(&[b'y'; 100_000]);
    for name in ["report.html", "result.json"] {
        let failed = folder.publish(name, big);
        assert!(matches!(failed, Err(RunDirError::DiskFull { .. })));
    }
    assert_eq!(fs::read(path.join("report.html")).unwrap(), b"old");
    assert!(!path.join("result.json").exists());
    assert!(!path.join(".result.json.tmp").exists());

    // Take what is left: now not even a new folder fits.
    let mut filler = OpenOptions::new()
        .create(true)
        .append(true)
        .open(root.join("filler"))
        .unwrap();
    while filler.write_all(&[0; 512]).is_ok() {}
    let refused = RunDir::create(&root, "second", &plan(), &identity());
    assert!(matches!(refused, Err(RunDirError::DiskFull { .. })));
    let folders = fs::read_dir(&root)
        .unwrap()
        .filter(|e| e.as_ref().unwrap().path().is_dir());
    assert_eq!(folders.count(), 1);
}
