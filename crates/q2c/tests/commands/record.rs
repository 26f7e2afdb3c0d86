//! `q2c trace record`: refusals everywhere; a recording where BPF is permitted, else a counted skip.

use crate::program::{number, q2c};
use std::fs;
use std::path::Path;

/// A file of 16 MiB on the disk below the build's folder.
fn file(folder: &Path) {
    let data: Vec<u8> = (0..16 << 20).map(|n: u32| ((n * 31) >> 3) as u8).collect();
    fs::write(folder.join("file"), data).unwrap();
    fs::File::open(folder.join("file"))
        .unwrap()
        .sync_all()
        .unwrap();
}

#[test]
fn what_is_wrong_is_said() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("taken"), "precious").unwrap();
    for (status, words, said) in [
        (5, "trace record nvme9n9 --out t", "nvme9n9"),
        (5, "trace record /dev/nowhere --out t", "/dev/nowhere"),
        (
            2,
            "trace record taken --op erase --seconds 1 --out t",
            "erase",
        ),
        (
            2,
            "trace record taken --seconds 0 --out t",
            "seconds above 0",
        ),
        (2, "trace record taken --pid 0 --out t", "--pid"),
    ] {
        let words: Vec<&str> = words.split(' ').collect();
        q2c(folder.path(), &words).refused(status, &[said]);
    }
    assert!(!folder.path().join("t").exists());
}

/// 400 direct reads by dd: as many records of its size, in a run folder of their own; the name of a trace that is there stays.
#[test]
fn a_command_is_recorded() {
    let test = "record::a_command_is_recorded";
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    file(folder.path());
    let dd = [
        "dd",
        "if=file",
        "of=/dev/null",
        "bs=32k",
        "iflag=direct",
        "count=400",
    ];
    let record = ["trace", "record", "file", "--op", "read", "--json", "--"];
    let ended = q2c(folder.path(), &[&record[..], &dd].concat());
    if ended.code == 4 || ended.code == 5 {
        q2c_testkit::skip(test, ended.stderr.trim());
        return;
    }
    let info = ended.json();
    // A read that crosses a border between pieces of the file is two.
    let whole = number(&info, "/summary/sizes/32768");
    assert!((390.0..=400.0).contains(&whole), "{info}");
    assert_eq!(number(&info, "/meta/lost"), 0.0);
    assert_eq!(info["meta"]["source"], "q2c trace record");
    assert_eq!(info["meta"]["clock"], "CLOCK_MONOTONIC");
    assert_eq!(info["meta"]["facts"]["command_status"], "0");
    assert!(number(&info, "/meta/start_unix_ns") > 1.7e18);
    let trace = info["path"].as_str().unwrap();
    assert!(
        trace.starts_with("runs/") && trace.ends_with("-record/trace.parquet"),
        "{trace}"
    );
    let result = q2c(folder.path(), &["analyze", trace, "--json"]).json();
    assert!(number(&result, "/stages/D2C/n") >= whole);

    let again = ["trace", "record", "file", "--out", trace, "--seconds", "1"];
    q2c(folder.path(), &again).refused(2, &["found an existing file"]);
    let fails = [
        "trace", "record", "file", "--out", "b", "--", "sh", "-c", "exit 3",
    ];
    let ended = q2c(folder.path(), &fails);
    assert!(
        ended.stderr.contains("sh ended with exit status: 3"),
        "{}",
        ended.stderr
    );
    assert!(ended.done().contains("command_status         3"));
    let absent = [
        "trace",
        "record",
        "file",
        "--out",
        "c",
        "--",
        "./no-such-program",
    ];
    q2c(folder.path(), &absent).refused(2, &["start ./no-such-program"]);
    assert!(!folder.path().join("c").exists());
}
