//! Errors name the next command, and that command is one that there is.

use crate::program::{q2c, q2c_command};
use std::fs;
use std::path::Path;

/// A command line that is refused.
struct Refused {
    /// The words behind `q2c`.
    line: &'static str,
    code: i32,
    /// What the message says, among other words.
    says: &'static [&'static str],
    /// The command that the message names, as it stands there; empty where it names none.
    names: &'static str,
}

const fn refused(
    line: &'static str,
    code: i32,
    says: &'static [&'static str],
    names: &'static str,
) -> Refused {
    Refused {
        line,
        code,
        says,
        names,
    }
}

const ALL: &[Refused] = &[
    refused(
        "tune",
        2,
        &["name a file or a block device"],
        "q2c tune --scratch 1g",
    ),
    refused(
        "calibrate",
        2,
        &["name a file or a block device"],
        "q2c calibrate --scratch 1g",
    ),
    refused(
        "bench",
        2,
        &["name a file or a block device"],
        "q2c bench --scratch 1g",
    ),
    refused(
        "tune sim:50us --engine libaio",
        2,
        &["its own engine", "leave --engine out"],
        "",
    ),
    refused("tune none.bin", 5, &["none.bin", "--scratch 1g"], ""),
    refused("bench none.bin", 5, &["none.bin", "--scratch 1g"], ""),
    refused(
        "replay trace.parquet none.bin",
        5,
        &["none.bin", "such as sim:50us"],
        "",
    ),
    refused(
        "compare trace.parquet none.bin sim:50us",
        5,
        &["none.bin", "such as sim:50us"],
        "",
    ),
    refused("replay trace.parquet", 2, &["name a target", "--map"], ""),
    refused(
        "replay trace.parquet --scratch 1g",
        2,
        &["no scratch file"],
        "q2c replay --help",
    ),
    refused(
        "compare trace.parquet --scratch 1g",
        2,
        &["no scratch file"],
        "q2c compare --help",
    ),
    refused(
        "trace import x.csv --nothing",
        2,
        &["--nothing"],
        "q2c trace import --help",
    ),
    refused(
        "trace info x.csv",
        3,
        &["PAR1"],
        "q2c trace import x.csv --output NEW.parquet",
    ),
    refused(
        "trace import trace.parquet -o y",
        3,
        &["no import"],
        "q2c trace info trace.parquet",
    ),
    refused(
        "analyze garbage.bin",
        3,
        &["--format"],
        "q2c trace import --help",
    ),
    refused("analyze none", 3, &["name a q2c trace"], ""),
    refused("report garbage.bin", 3, &["garbage.bin"], ""),
    refused(
        "tune sim:50us --cpus 4095",
        2,
        &["name some of them with --cpus"],
        "",
    ),
    refused(
        "experiment check none",
        3,
        &["none"],
        "q2c reproduce --list",
    ),
    refused(
        "poll sim trace.parquet --policy mean --cost x.csv",
        3,
        &["x.csv"],
        "q2c calibrate --json",
    ),
    refused(
        "replay trace.parquet sim:50us --part 50s..90s",
        3,
        &["another --part"],
        "",
    ),
    refused(
        "replay trace.parquet --map 9:9=sim:50us",
        2,
        &["0:0; name one of them"],
        "",
    ),
    refused("report none", 3, &["none"], "q2c runs"),
    refused("report .", 3, &["found none"], "q2c runs"),
    refused(
        "poll sim trace.parquet --policy nothing",
        2,
        &["unknown rule"],
        "q2c poll sim --help",
    ),
];

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

/// A trace of 100 reads of 80 us each.
fn make_files(folder: &Path) {
    fs::write(folder.join("x.csv"), "a,b\n1,2\n").unwrap();
    fs::write(folder.join("garbage.bin"), [2, 241, 197, 130, 0, 9, 255]).unwrap();
    let latencies: String = (0..100).map(|n| format!("{}\n", 80_000 + n)).collect();
    fs::write(folder.join("latencies.txt"), latencies).unwrap();
    let import = "trace import latencies.txt --format latency-list --unit ns --op read --bs 4k -o trace.parquet";
    q2c(folder, &words(import)).done();
}

#[test]
fn every_error_says_what_to_do_next() {
    let folder = tempfile::tempdir().unwrap();
    make_files(folder.path());
    for case in ALL {
        let ended = q2c(folder.path(), &words(case.line));
        let told = &ended.stderr;
        assert_eq!(ended.code, case.code, "{}: {told}", case.line);
        for said in case.says.iter().chain([&case.names]) {
            assert!(told.contains(said), "{}: `{said}` in {told}", case.line);
        }
        assert!(told.starts_with("q2c: failed to ") || told.contains("\nq2c: failed to "));
        assert!(!told.contains("failed to failed"), "{told}");
    }
}

/// The parser takes each command that is named: with `--help` it looks at all words before.
#[test]
fn the_commands_that_errors_name_are_there() {
    let folder = tempfile::tempdir().unwrap();
    for named in ALL
        .iter()
        .map(|case| case.names)
        .filter(|named| !named.is_empty())
    {
        let mut line = words(named);
        line.push("--help");
        let output = q2c_command(folder.path(), &line[1..]).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{named}: {told}");
    }
}
