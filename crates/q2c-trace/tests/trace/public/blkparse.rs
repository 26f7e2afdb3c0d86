//! The text of blkparse: I/Os of a hand-written file, formats of the user, and bad lines.

use super::{import, options, skipping};
use crate::support::{parts, stating, tells};
use q2c_model::{IoRecord, Nanos, Op, OpFlags};
use q2c_trace::import::{ImportOptions, sniff};

pub(super) const TEXT: &[u8] = include_bytes!("../data/public/blkparse.txt");

/// Sector, bytes, and the times of Q, G, I, D and C in units of 100 ns; -1 if unknown.
fn life(record: &IoRecord) -> (u64, u64, [i64; 5]) {
    let times = [
        record.queue_ns,
        record.getrq_ns,
        record.insert_ns,
        record.issue_ns,
        record.complete_ns,
    ];
    let ns = |time: Option<Nanos>| time.map_or(-1, |ns| i64::try_from(ns.0 / 100).unwrap());
    (record.sector.0, record.bytes.0, times.map(ns))
}

#[test]
fn the_lives_of_a_text() {
    assert_eq!(sniff(TEXT).map(|f| f.name), Some("blkparse"));
    let (records, meta) = import("blkparse", TEXT, &options()).unwrap();
    let lives: Vec<_> = records.iter().map(life).collect();
    let wanted = [
        (2048, 4096, [0, 10, -1, 70, 470]),
        (4096, 8192, [30, 35, 60, 80, 580]),
        // The merged I/O has the D and C of its carrier.
        (4112, 4096, [40, 45, -1, 80, 580]),
        (0, 0, [600, 610, 620, 630, 1640]),
        (8, 1 << 20, [1900, -1, -1, -1, -1]),
    ];
    assert_eq!(lives, wanted);
    let ops: Vec<Op> = records.iter().map(|record| record.op).collect();
    let (read, write) = (Op::Read, Op::Write);
    assert_eq!(ops, [read, write, write, Op::Flush, Op::Discard]);
    let comms: Vec<Option<&str>> = records.iter().map(|r| r.comm.as_deref()).collect();
    let (fio, odd) = (Some("fio"), Some("my [odd] job"));
    assert_eq!(comms, [fio, odd, odd, Some("jbd2/nvme0n1-8"), fio]);
    let devices = records.iter().map(|record| record.device.to_string());
    let devices: Vec<String> = devices.collect();
    assert_eq!(devices, ["259:0", "259:0", "259:0", "259:0", "8:17"]);
    assert_eq!(records[1].flags, OpFlags::SYNC);
    assert_eq!((records[0].error, records[2].error), (Some(0), Some(-5)));
    let origin = (records[0].pid, records[0].cpu_submit);
    assert_eq!(origin, (Some(700), Some(1)));
    assert_eq!(records[0].cpu_complete, Some(0));
    assert_eq!(records[2].merged_into, Some(records[1].id));
    assert_eq!((meta.source.as_str(), meta.lost), ("blkparse", 0));
    let unmatched = [
        ("event without a place (passthrough)".to_owned(), 2),
        ("never completed".to_owned(), 1),
    ];
    assert_eq!(meta.unmatched, unmatched.into());
}

fn with_format(format: &str) -> ImportOptions {
    stating(|o| o.blkparse_format = Some(format.to_owned()))
}

#[test]
fn a_given_format() {
    let text = "\
0.000000010|Q|RA|8+8|my job|8:1|77|3
0.000000020|D|RA|8+8|my job|8:1|77|3
0.000000030|C|RA|8+8||8:1|0|4
";
    let given = with_format(r"%T.%9t|%a|%d|%S+%n|%C|%M:%m|%p|%c\n");
    let error = import("blkparse", text.as_bytes(), &options()).unwrap_err();
    tells(&error, "its format in --blkparse-format");
    let (records, meta) = import("blkparse", text.as_bytes(), &given).unwrap();
    assert_eq!(records.len(), 1);
    let record = &records[0];
    let times = (record.queue_ns, record.issue_ns, record.complete_ns);
    let at = |ns| Some(Nanos(ns));
    assert_eq!(times, (at(0), at(10), at(20)));
    assert_eq!((record.sector.0, record.bytes.0), (8, 4096));
    assert_eq!((record.op, record.flags), (Op::Read, OpFlags::READAHEAD));
    assert_eq!(record.device.to_string(), "8:1");
    assert_eq!(record.pid, Some(77));
    assert_eq!(record.comm.as_deref(), Some("my job"));
    assert_eq!((record.cpu_submit, record.cpu_complete), (Some(3), Some(4)));
    assert!(meta.unmatched.is_empty());
    // Lengths in bytes, and fields padded on either side.
    let given = with_format("%-4a%5d %8N @%S %3T.%09t");
    let text = "Q      W     1024 @9   0.000000000\nC      W     1024 @9   1.000000000\n";
    let (records, _) = import("blkparse", text.as_bytes(), &given).unwrap();
    assert_eq!(life(&records[0]), (9, 1024, [0, -1, -1, -1, 10_000_000]));
}

#[test]
fn formats_that_say_too_little_are_refused() {
    for (format, expected) in [
        ("%a %T.%t %S %n", "%d, the kind"),
        ("%d %T.%t %S %n", "%a, the action"),
        ("%a %d %T %S %n", "%T and %t"),
        ("%a %d %T.%t %n", "%S, the sector"),
        ("%a %d %T.%t %S", "%n or %N"),
        ("%a %y", "% with a width"),
        ("%a %", "% with a width"),
    ] {
        let error = import("blkparse", TEXT, &with_format(format)).unwrap_err();
        let place = format!("import some: format of lines: expected {expected}");
        assert!(error.starts_with(&place), "{format}: {error}");
    }
}

const GOOD: &str = "8,0 1 1 0.000000000 9 Q R 8 + 8 [a]";

/// Bad lines, each with its field and a part of what was expected.
const BAD: [&str; 10] = [
    "8;0 1 2 0.500000000 9 Q R 8 + 8 [a] => device => major,minor",
    "8,9999999 1 2 0.500000000 9 Q R 8 + 8 [a] => device => a minor below",
    "8,0 x 2 0.500000000 9 Q R 8 + 8 [a] => cpu => whole",
    "8,0 1 2 0.123456 9 Q R 8 + 8 [a] => nanoseconds => nine digits",
    "8,0 1 2 0.500000000 9 Y R 8 + 8 [a] => action => one of Q M F",
    "8,0 1 2 0.500000000 9 Q K 8 + 8 [a] => RWBS => letters of",
    "8,0 1 2 0.500000000 9 Q R 8 + 8 => end of the line => [process]",
    "8,0 1 2 0.500000000 9 C R 8 + 8 [a] => error => whole",
    "8,0 1 2 0.500000000 9 Q R 8 + 99999999 [a] => length => below 4 GiB",
    "oh no => device => major,minor",
];

#[test]
fn bad_lines_are_told_or_counted() {
    let mut lines = format!("{GOOD}\n");
    for case in BAD {
        let [bad, field, expected] = parts(case);
        lines += &format!("{bad}\n");
        let text = format!("{GOOD}\n\n{bad}\n");
        let error = import("blkparse", text.as_bytes(), &options()).unwrap_err();
        let place = format!("import some, line 3, {field}: expected ");
        assert!(error.starts_with(&place), "{error}");
        tells(&error, expected);
    }
    lines += "8,0 1 2 0.700000000 9 C R 8 + 8 [0]\n";
    let (records, meta) = import("blkparse", lines.as_bytes(), &skipping()).unwrap();
    assert_eq!(records.len(), 1);
    assert_eq!(records[0].complete_ns, Some(Nanos(700_000_000)));
    assert_eq!(meta.unmatched.values().sum::<u64>(), BAD.len() as u64);
}

/// blkparse and grep have many options that leave lines out, so a gap in the numbers proves no
/// loss.
#[test]
fn what_numbers_miss_is_not_told() {
    for (number, expected) in [(2, None), (5, Some("not told"))] {
        let text = format!("{GOOD}\n8,0 1 {number} 0.700000000 9 C R 8 + 8 [0]\n");
        let (_, meta) = import("blkparse", text.as_bytes(), &options()).unwrap();
        assert_eq!(meta.lost, 0);
        let fact = meta.facts.get("lost");
        let fact = fact.map(|fact| fact.split(':').next().unwrap());
        assert_eq!(fact, expected);
    }
}

#[test]
fn time_may_go_back_a_little() {
    let later = "8,0 1 1 5.000000000 9 Q R 8 + 8 [a]\n";
    let text = format!("{later}8,0 1 2 4.900000000 9 C R 8 + 8 [0]\n");
    let (records, meta) = import("blkparse", text.as_bytes(), &options()).unwrap();
    assert_eq!(records[0].complete_ns, records[0].queue_ns);
    assert!(records[0].flags.contains(OpFlags::UNTIMED));
    assert_eq!(records[0].q2c(), None);
    assert_eq!(meta.unmatched, [("time went back".to_owned(), 1)].into());
}

/// A single bad time is a bad line and shifts nothing after it. If time falls and later lines
/// continue from there, skipping bad lines does not help, so it is an error.
#[test]
fn a_time_that_stands_alone_is_bad() {
    let line = |number: u32, seconds: u32, action: &str, end: &str| {
        format!("8,0 1 {number} {seconds}.000000000 9 {action} R 8 + 8 [{end}]\n")
    };
    let [queued, ended] = [line(1, 5, "Q", "a"), line(3, 5, "C", "0")];
    for (seconds, expected) in [
        (900_000, "a time not after those on both sides"),
        (1, "a time not before those on both sides"),
    ] {
        let text = format!("{queued}{}{ended}", line(2, seconds, "G", "a"));
        let error = import("blkparse", text.as_bytes(), &options()).unwrap_err();
        tells(&error, "line 2, time");
        tells(&error, expected);
        let (records, meta) = import("blkparse", text.as_bytes(), &skipping()).unwrap();
        assert_eq!(records[0].complete_ns, Some(Nanos(0)));
        assert_eq!(meta.unmatched, [("time stands alone".to_owned(), 1)].into());
    }
    let idle = format!("{queued}{ended}{}", line(4, 900_000, "Q", "a"));
    let (records, _) = import("blkparse", idle.as_bytes(), &options()).unwrap();
    assert_eq!(records.len(), 2);
    let fell = [line(1, 1, "Q", "a"), line(2, 2, "C", "0")].concat();
    let fell = format!("{queued}{ended}{fell}");
    for given in [options(), skipping()] {
        let error = import("blkparse", fell.as_bytes(), &given).unwrap_err();
        let expected = "line 3: expected times that rise, found one 4000000000 ns before";
        tells(&error, expected);
        assert!(!error.contains("--skip-bad"), "{error}");
    }
}
