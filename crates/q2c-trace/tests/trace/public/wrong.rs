//! Bad input: the error names line or byte, field, expected and found, or the input is counted.

use super::cases::needed;
use super::{blkparse, import, options, skipping};
use crate::support::{self, parts, tells};
use q2c_trace::import::{FORMATS, ImportOptions, TimeUnit};
use std::io::{BufReader, Read};

/// The case's format, its good line and its bad lines.
fn split_case<'a>(case: &&'a [&'a str]) -> (&'a str, &'a str, &'a [&'a str]) {
    (case[0], case[1], &case[2..])
}

/// A format, a good line of it, and bad lines: text, field, and a part of what was expected.
const CASES: &[&[&str]] = &[
    &[
        "alibaba",
        "1,R,512,512,1577808144360767",
        "1,R,512,512 => line => 5 cells",
        "x,R,512,512,10 => device_id => below 2^32",
        "1,T,512,512,10 => opcode => R, W",
        "1,R,513,512,10 => offset => a multiple of 512",
        "1,R,512,0,10 => length => above zero",
        "1,R,512,512,-1 => timestamp => zero or above",
        "1,R,512,512,99999999999999999999 => timestamp => zero or above",
    ],
    &[
        "tencent",
        "1538323200,8,8,0,7",
        "1,8,8,2,7 => IOType => 0 (read) or 1 (write)",
        "1,8,99999999999999999,0,7 => Size => below 2^64",
        "1,99999999999999999,8,0,7 => Offset => below 2^64",
        "1,8,8,0,4294967296 => VolumeID => below 2^32",
    ],
    &[
        "spc",
        "0,8,512,R,0.5",
        "0,8,512,R => line => 5 cells or more",
        "0,8,512,Q,0.5 => opcode => R, W",
        "0,8,512,R,nan => timestamp => a time",
    ],
    &[
        "msr",
        "128166372003061629,usr,0,Read,512,512,5",
        "5,usr,0,Read,512,512,5 => Timestamp => file time",
        "128166372003061629,,0,Read,512,512,5 => Hostname => 1 to 16",
        "128166372003061629,usr,0,Read,512,512,x => ResponseTime => whole",
    ],
    &[
        "systor17",
        "1455846123.5,0.1,R,0,512,512",
        "5.5,x,R,0,512,512 => Response => a time",
        "5.5,0.1,Z,0,512,512 => IOType => R, W",
        ",0.1,R,0,512,512 => Timestamp => a time",
    ],
    &[
        "fiu",
        "5 1 a 8 8 R 6 0 x",
        "5 1 a 8 8 R 6 => line => 8 or 9 cells",
        "5 -1 a 8 8 R 6 0 x => pid => below 2^32",
    ],
    &[
        "disksim",
        "5 0 8 8 1",
        "5 0 8 8 => line => 5 numbers",
        "inf 0 8 8 1 => time => a time",
        "5 0 8 8 r => flags => whole",
    ],
    &[
        "nexus5",
        "8\t\t1\t\t512\t\t1\t\t1.0\t\t1.0\t\t1.0",
        "8 1 512 1 1.0 1.0 => line => 7 or 8",
        "8 1 512 1 1.0 1.0 1.0 0.5 => finished => not before",
    ],
    &[
        "ms-etw",
        "DiskRead, 50, a (1), 1, 0x0, 0x200, 0x200, 5, 0",
        "FileRead, x => event => the name of an event",
        "DiskRead, 50, a (1), 1, 0x0, 0x200, 0x200, 5 => line => DiskNum",
        "DiskRead, 50, a (1), 1, 0x0, 512, 0x200, 5, 0 => ByteOffset => hexadecimal",
        "DiskRead, 50, a (1), 1, 0x0, 0x200, 0x0, 5, 0 => IOSize => above zero",
        "DiskRead, 50, a (1), 1, 0x0, 0x200, 0x200, 86400000000, 0 => latency => less than a day",
        "DiskRead, 50, a (x), 1, 0x0, 0x200, 0x200, 5, 0 => process (PID) => below",
        "DiskFlush, 50, a (1), 1, 0x0, 5 => line => DiskNum",
    ],
    &[
        "fio-iolog",
        "fio version 3 iolog\n5 a read 0 512",
        "5 a copy 0 512 => action => read, write",
        "5 a read => offset => whole",
        "5 => action => name action",
        "5 a wait 100 => action => no wait in version 3",
    ],
    &[
        "biosnoop",
        "TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n1.5 a b 7 sda W 8 4096 0.5",
        "1.5 a 7 sda => line => as many cells",
        "1.5 a b sda W 8 4096 0.5 => PID => below 2^32",
        "1.5 a 7 sda w 8 4096 0.5 => T => letters",
        "1.5 a 7 sda W 8 4096 86400000 => latency => less than a day",
    ],
    &[
        "fio-log",
        "5000, 700, 0, 4096, 0",
        "5000, 700, 3, 4096, 0 => direction => 0 (read)",
        "5000, 700, 0, 0, 0 => block size => above zero",
        "5000, -1, 0, 4096, 0 => latency => zero or above",
        "5000, 9000000000, 0, 4096, 0 => latency => fio's start",
        "0, 700, 0, 4096, 0 => time => another job",
        "5000, 700 => line => 4 to 7 cells",
    ],
];

fn stated(format: &str) -> ImportOptions {
    match format {
        // The cases are of the biosnoop that prints operation and length.
        "biosnoop" => options(),
        _ => needed(format),
    }
}

#[test]
fn bad_lines_are_told_with_their_field() {
    for (format, good, bads) in CASES.iter().map(split_case) {
        let before = good.lines().count();
        for case in bads {
            let [bad, field, expected] = parts(case);
            let text = format!("{good}\n\n{bad}\n");
            let error = import(format, text.as_bytes(), &stated(format)).unwrap_err();
            let place = format!("import some, line {}, {field}: expected ", before + 2);
            assert!(error.starts_with(&place), "{format}: {error}");
            tells(&error, expected);
        }
    }
}

#[test]
fn bad_lines_are_skipped_and_counted() {
    for (format, good, bads) in CASES.iter().map(split_case) {
        let mut text = format!("{good}\n");
        for case in bads {
            let [bad, ..]: [&str; 3] = parts(case);
            text += &format!("{bad}\n");
        }
        text.push_str(good.lines().last().unwrap());
        let mut options = stated(format);
        options.skip_bad = true;
        let (records, meta) = import(format, text.as_bytes(), &options).unwrap();
        assert_eq!(records.len(), 2, "{format}");
        let bad = meta.unmatched.values().sum::<u64>();
        assert_eq!(bad, bads.len() as u64, "{format}");
    }
}

/// For each reason, the first ten lines are listed.
#[test]
fn lines_that_are_left_out_are_named() {
    let text = format!("1,R,512,512,1\n{}1,R,512,0,1\n", "bad\n".repeat(12));
    let (_, meta) = import("alibaba", text.as_bytes(), &skipping()).unwrap();
    let lines = |reason| &meta.facts[&format!("skipped.{reason}.lines")];
    assert_eq!(lines("wrong number of cells"), "2,3,4,5,6,7,8,9,10,11");
    assert_eq!(lines("zero length"), "14");
}

#[test]
fn nothing_is_an_error() {
    let texts = CASES.iter().map(|case| (case[0], "\n \n\r\n"));
    let empty = CASES.iter().map(|case| (case[0], ""));
    let others = [
        ("vscsi", ""),
        ("blkparse", ""),
        ("blkparse", "\n \n"),
        ("blkparse", "CPU0 (8,0):\n Reads Queued: 0\n"),
        ("latency-list", ""),
        ("latency-list", "\n\n"),
        ("latency-list", "# nothing\n"),
    ];
    for (format, text) in texts.chain(empty).chain(others) {
        let error = import(format, text.as_bytes(), &stated(format)).unwrap_err();
        tells(&error, "expected at least one request, found none");
    }
}

#[test]
fn what_the_source_does_not_say_must_be_said() {
    for (format, option) in [("disksim", "unit"), ("nexus5", "offset unit")] {
        let error = import(format, b"5 0 8 8 1\n", &options()).unwrap_err();
        tells(&error, &format!("expected the option {option}: "));
    }
}

#[test]
fn a_log_without_a_line_of_a_log_is_refused() {
    let error = import("fio-iolog", b"5 a copy 0 512\n", &options()).unwrap_err();
    tells(&error, "line 1, header: expected fio version 2 iolog");
}

#[test]
fn every_option_of_the_unit_is_heard() {
    let mut options = options();
    options.unit = Some(TimeUnit::Nanoseconds);
    let text = "fio version 3 iolog\n5 a read 0 512\n12 a read 0 512\n";
    let (records, _) = import("fio-iolog", text.as_bytes(), &options).unwrap();
    assert_eq!(records[1].submit_ns.unwrap().0, 7);
}

/// Builds a record of version 1.
fn vscsi(command: u16, version: u16, length: u32, at: u64) -> Vec<u8> {
    let ints = [1u32, length, 1].map(u32::to_le_bytes).concat();
    let command_and_version = [command, version].map(u16::to_le_bytes).concat();
    let block_and_time = [8, at].map(u64::to_le_bytes).concat();
    [ints, command_and_version, block_and_time].concat()
}

#[test]
fn bad_records_are_told_with_their_byte_or_counted() {
    let good = vscsi(0x28, 0x0100, 512, 10);
    let other = vscsi(0x28, 0x0300, 512, 10);
    let zero = vscsi(0x28, 0x0100, 0, 10);
    let late = vscsi(0x28, 0x0100, 512, u64::MAX);
    let cut = good[..31].to_vec();
    for (bad, case) in [
        (other, "version => 0x0300 => mixed versions"),
        (zero, "length => `0` => zero length"),
        (late, "time => `18446744073709551615` => too large"),
        (cut, "record => the end after 31 bytes => truncated record"),
    ] {
        let [field, found, reason] = parts(case);
        let file = [&good[..], &bad].concat();
        let error = import("vscsi", &file, &options()).unwrap_err();
        let place = format!("import some, record at byte 32, {field}: expected ");
        assert!(error.starts_with(&place), "{error}");
        tells(&error, found);
        let (records, meta) = import("vscsi", &file, &skipping()).unwrap();
        assert_eq!(records.len(), 1);
        assert_eq!(meta.unmatched, [(reason.to_owned(), 1)].into());
    }
    let error = import("vscsi", &[0; 64], &options()).unwrap_err();
    tells(&error, "record at byte 0, version: ");
}

/// Ten GB without a line break. Text that is read line by line comes in shorter blocks.
#[test]
fn an_endless_line_is_refused_after_a_block() {
    const INPUT_BYTES: u64 = 10_000_000_000;
    let by_block = CASES.iter().map(|case| (case[0], 1024 * 1024));
    let by_line = ["blkparse", "latency-list", "csv"].map(|format| (format, 128 * 1024));
    for (format, max_bytes) in by_block.chain(by_line) {
        let mut input = BufReader::new(std::io::repeat(b'1').take(INPUT_BYTES));
        let error = support::import(format, "endless", &mut input, &stated(format)).unwrap_err();
        let expected = "expected at most 65536 bytes and a line break";
        tells(&error.to_string(), expected);
        let read = INPUT_BYTES - input.into_inner().limit();
        assert!(read <= max_bytes, "{format}: {read}");
    }
}

#[test]
fn no_format_takes_the_files_of_another() {
    let texts = CASES.iter().map(|case| (case[0], case[1]));
    for (format, good) in texts.chain([("blkparse", str::from_utf8(blkparse::TEXT).unwrap())]) {
        let text = format!("{good}\n");
        let recognised = FORMATS.iter().filter(|f| (f.sniff)(text.as_bytes()));
        let names: Vec<&str> = recognised.map(|f| f.name).collect();
        assert_eq!(names, [format]);
    }
}
