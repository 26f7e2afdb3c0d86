//! Errors name the next command, and that command is one that there is.

use crate::program::{q2c_command, refusal, run_q2c, split};
use std::fs;
use std::path::Path;

/// Command lines that are refused, as [`refusal`] takes them. What begins with `q2c` is a command
/// that the message names.
const ALL: &[&str] = &[
    "2 | tune | name a file or a block device | q2c tune --scratch 1g",
    "2 | calibrate | name a file or a block device | q2c calibrate --scratch 1g",
    "2 | bench | name a file or a block device | q2c bench --scratch 1g",
    "2 | tune sim:50us --engine libaio | its own engine | leave --engine out",
    "5 | tune none.bin | none.bin | --scratch 1g",
    "5 | bench none.bin | none.bin | --scratch 1g",
    "5 | replay trace.parquet none.bin | none.bin | such as sim:50us",
    "5 | compare trace.parquet none.bin sim:50us | none.bin | such as sim:50us",
    "2 | replay trace.parquet | name a target | --map",
    "2 | replay trace.parquet --scratch 1g | no scratch file | q2c replay --help",
    "2 | compare trace.parquet --scratch 1g | no scratch file | q2c compare --help",
    "2 | trace import x.csv --nothing | --nothing | q2c trace import --help",
    "3 | trace info x.csv | PAR1 | q2c trace import x.csv --output NEW.parquet",
    "3 | trace import trace.parquet -o y | no import | q2c trace info trace.parquet",
    "3 | analyze garbage.bin | --format | q2c trace import --help",
    "3 | analyze none | name a q2c trace",
    "3 | report garbage.bin | garbage.bin",
    "2 | tune sim:50us --cpus 4095 | name some of them with --cpus",
    "3 | experiment check none | none | q2c reproduce --list",
    "3 | poll sim trace.parquet --policy mean --cost x.csv | x.csv | q2c calibrate --json",
    "3 | replay trace.parquet sim:50us --part 50s..90s | another --part",
    "2 | replay trace.parquet --map 9:9=sim:50us | 0:0; name one of them",
    "3 | report none | none | q2c runs",
    "3 | report . | found none | q2c runs",
    "2 | poll sim trace.parquet --policy nothing | unknown rule | q2c poll sim --help",
];

/// A trace of 100 reads of 80 us each.
fn make_files(folder: &Path) {
    fs::write(folder.join("x.csv"), "a,b\n1,2\n").unwrap();
    fs::write(folder.join("garbage.bin"), [2, 241, 197, 130, 0, 9, 255]).unwrap();
    let latencies: String = (0..100).map(|n| format!("{}\n", 80_000 + n)).collect();
    fs::write(folder.join("latencies.txt"), latencies).unwrap();
    let import = "trace import latencies.txt --format latency-list --unit ns --op read --bs 4k -o trace.parquet";
    run_q2c(folder, import).done();
}

#[test]
fn every_error_says_what_to_do_next() {
    let folder = tempfile::tempdir().unwrap();
    make_files(folder.path());
    for case in ALL {
        let (code, line, says) = refusal(case);
        let ended = run_q2c(folder.path(), line);
        let stderr = &ended.stderr;
        assert_eq!(ended.code, code, "{line}: {stderr}");
        for said in says {
            assert!(stderr.contains(said), "{line}: `{said}` in {stderr}");
        }
        assert!(stderr.starts_with("q2c: failed to ") || stderr.contains("\nq2c: failed to "));
        assert!(!stderr.contains("failed to failed"), "{stderr}");
    }
}

/// The parser takes each command that is named: with `--help` it looks at all words before.
#[test]
fn the_commands_that_errors_name_are_there() {
    let folder = tempfile::tempdir().unwrap();
    let says = ALL.iter().flat_map(|case| refusal(case).2);
    for named in says.filter(|said| said.starts_with("q2c ")) {
        let mut line = split(named);
        line.push("--help");
        let output = q2c_command(folder.path(), &line[1..]).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{named}: {stderr}");
    }
}
