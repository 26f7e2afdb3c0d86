//! Two processes on one folder, and a disk that is really full.

use crate::{identity, interrupted, new_folder, plan, status};
use q2c_run::run_dir::{RunDir, RunDirError, Status};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A command that runs one of the ignored tests below in a process of its own, under the program
/// and arguments of `wrapper`.
fn child(wrapper: &[&str], test: &str, folder: &Path) -> Command {
    let exe = std::env::current_exe().unwrap();
    let mut arguments = wrapper.iter().map(Into::into).chain([exe.into_os_string()]);
    let mut command = Command::new(arguments.next().unwrap());
    command.args(arguments);
    command.args(["--ignored", "--exact", "--nocapture", test]);
    command.env("Q2C_LAB_FOLDER", folder);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    command
}

fn folder_of_parent() -> PathBuf {
    PathBuf::from(std::env::var_os("Q2C_LAB_FOLDER").expect("started by another test"))
}

#[test]
fn two_processes_cannot_use_one_folder_and_a_killed_one_leaves_it_crashed() {
    let root = tempfile::tempdir().unwrap();
    let path = interrupted(root.path());
    let mut holder = child(&[], "process::hold", &path).spawn().unwrap();
    let output = BufReader::new(holder.stdout.take().unwrap());
    let is_held = output.lines().any(|line| line.unwrap().contains("held"));
    assert!(is_held);

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
    let _folder = RunDir::resume(&folder_of_parent(), &identity()).unwrap();
    println!("held");
    std::io::stdin().read_line(&mut String::new()).unwrap();
}

/// Fills a real disk: a tmpfs of 64 KiB in a mount namespace of the test. Skipped if the kernel
/// forbids namespaces.
#[test]
fn a_full_disk_keeps_whole_lines_and_old_files() {
    let root = tempfile::tempdir().unwrap();
    let namespace = ["unshare", "--user", "--map-root-user", "--mount"];
    let script = "mount -t tmpfs -o size=64k none \"$Q2C_LAB_FOLDER\" && exec \"$0\" \"$@\"";
    let shell = [&namespace[..], &["sh", "-c", script]].concat();
    let mut mount = Command::new(namespace[0]);
    mount.args(&namespace[1..]);
    mount
        .args(["mount", "-t", "tmpfs", "none"])
        .arg(root.path());
    if !mount.status().is_ok_and(|s| s.success()) {
        let test = "a_full_disk_keeps_whole_lines_and_old_files";
        return q2c_testkit::skip(test, "no mount in a user namespace is allowed");
    }
    let mut filling = child(&shell, "process::fill_a_small_disk", root.path());
    let output = filling.stdin(Stdio::null()).output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && stdout.contains("1 passed"),
        "{stdout}"
    );
}

#[test]
#[ignore = "run in a namespace of its own by another test"]
fn fill_a_small_disk() {
    let root = folder_of_parent();
    let mut folder = new_folder(&root);
    let path = folder.path().to_path_buf();
    let old = folder.publish("report.html", |out| out.write_all(b"old"));
    old.unwrap();

    let entry = "x".repeat(3000);
    let mut appended = 0;
    let error = loop {
        match folder.append(&entry) {
            Ok(()) => appended += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(error, RunDirError::DiskFull { .. }), "{error}");
    assert!(appended > 3);
    assert_eq!(folder.entries::<String>().unwrap(), vec![entry; appended]);
    let journal_bytes = fs::metadata(path.join("cells.jsonl")).unwrap().len();
    assert_eq!(journal_bytes, appended as u64 * 3003);

    let big = |out: &mut dyn Write| out.write_all(&[b'y'; 100_000]);
    for name in ["report.html", "result.json"] {
        let failed = folder.publish(name, big);
        assert!(matches!(failed, Err(RunDirError::DiskFull { .. })));
    }
    assert_eq!(fs::read(path.join("report.html")).unwrap(), b"old");
    assert!(!path.join("result.json").exists());
    assert!(!path.join(".result.json.tmp").exists());

    // The rest of the disk is filled, so that not even a new folder fits.
    let mut filler = File::create(root.join("filler")).unwrap();
    while filler.write_all(&[0; 512]).is_ok() {}
    let refused = RunDir::create(&root, "second", &plan(), &identity());
    assert!(matches!(refused, Err(RunDirError::DiskFull { .. })));
    let entries = fs::read_dir(&root).unwrap();
    let folders = entries.filter(|e| e.as_ref().unwrap().path().is_dir());
    assert_eq!(folders.count(), 1);
}
