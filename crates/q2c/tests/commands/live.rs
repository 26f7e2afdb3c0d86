//! Tests of `q2c analyze --live`. Refusals are tested everywhere. A capture is tested where it is
//! permitted, and is a counted skip elsewhere.

use crate::program::{number, q2c, refuses};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

/// A shell command that reads a file of 4 MiB twenty times, with pauses: the I/O that is captured.
const READER: &str = "i=0; while [ $i -lt 20 ]; do dd if=file of=/dev/null bs=16k iflag=direct 2>/dev/null; i=$((i + 1)); sleep 0.1; done";

fn file(folder: &Path) {
    fs::write(folder.join("file"), vec![7; 4 << 20]).unwrap();
    let file = fs::File::open(folder.join("file")).unwrap();
    file.sync_all().unwrap();
}

#[test]
fn what_is_wrong_is_said() {
    refuses(&[
        (5, "analyze --live nvme9n9", "nvme9n9"),
        (2, "analyze t --by tracefs", "--live"),
        (2, "analyze t --interval 2s", "--live"),
        (2, "analyze t -- true", "--live"),
        (2, "analyze --live t --format msr", "--format"),
        (2, "analyze --live t --interval 1ms", "10.0 ms"),
        (2, "analyze --live t --by magic", "tracefs"),
    ]);
}

/// By BPF and by tracefs: lines are printed while a command runs, and then the analysis of the
/// whole capture.
#[test]
fn a_line_for_each_interval_and_the_whole() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    file(folder.path());
    for by in ["bpf", "tracefs"] {
        let words = [
            "analyze",
            "--live",
            "file",
            "--by",
            by,
            "--op",
            "read",
            "--interval",
            "500ms",
            "--",
            "sh",
            "-c",
            READER,
        ];
        let ended = q2c(folder.path(), &words);
        if ended.code == 4 || ended.code == 5 {
            q2c_testkit::skip(
                "live::a_line_for_each_interval_and_the_whole",
                ended.stderr.trim(),
            );
            continue;
        }
        let text = ended.done();
        let (lines, whole) = text.split_once("file \u{b7}").unwrap_or((&text, ""));
        let shown = lines.lines().filter(|line| line.contains("D2C ")).count();
        assert!(shown >= 3, "{text}");
        assert!(
            lines.contains("IOPS") && whole.contains("bottleneck:"),
            "{text}"
        );
    }
}

#[test]
fn json_is_the_whole_alone() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    file(folder.path());
    let words = [
        "analyze",
        "--live",
        "file",
        "--op",
        "read",
        "--max-size",
        "16k",
        "--json",
        "--",
        "dd",
        "if=file",
        "of=/dev/null",
        "bs=16k",
        "iflag=direct",
    ];
    let ended = q2c(folder.path(), &words);
    if ended.code == 4 || ended.code == 5 {
        return q2c_testkit::skip("live::json_is_the_whole_alone", ended.stderr.trim());
    }
    assert!(ended.stderr.contains("IOPS"), "{}", ended.stderr);
    let result = ended.json();
    // Other processes may read, too. A read across extents of the file is split in two.
    assert!(
        number(&result, "/requests") + number(&result, "/lost") >= 250.0,
        "{result}"
    );
    assert_eq!(result["input"]["path"], "file");
}

/// A signal is the normal end of a capture without a time or a command. The exit code is 0.
#[test]
fn a_signal_ends_it() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    file(folder.path());
    let mut child = Command::new(env!("CARGO_BIN_EXE_q2c"))
        .args(["analyze", "--live", "file", "--interval", "200ms"])
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let seen = lines.by_ref().take(3).count();
    if seen < 3 {
        child.wait().unwrap();
        return q2c_testkit::skip("live::a_signal_ends_it", "no capture here");
    }
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    lines.for_each(drop);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
