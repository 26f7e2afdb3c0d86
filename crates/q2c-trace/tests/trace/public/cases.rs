//! Texts that were once misread or refused. The expected values are computed by hand.

use super::{import, in_sectors, in_unit, options, skipping};
use crate::support::{columns, place, stating, tells};
use q2c_model::{Bytes, IoRecord, Nanos, Op, TraceMeta};
use q2c_trace::import::{
    FORMATS, ImportError, ImportOption, ImportOptions, Input, TimeUnit, sniff, to_trace,
};
use std::fs;
use std::io::Cursor;
use std::path::Path;
use std::sync::atomic::AtomicBool;

macro_rules! case {
    ($name:literal) => {
        include_bytes!(concat!("../cases/", $name))
    };
}

/// Imports a text by the format that recognises it. Also returns the format's name.
fn recognised(text: &[u8], options: &ImportOptions) -> (String, Vec<IoRecord>, TraceMeta) {
    let format = sniff(text).expect("a format").name;
    let (records, meta) = import(format, text, options).unwrap();
    (format.to_owned(), records, meta)
}

/// Start, issue and end of each request in ns; -1 if unknown.
fn times(records: &[IoRecord]) -> Vec<[i64; 3]> {
    let ns = |at: Option<Nanos>| at.map_or(-1, |at| at.0 as i64);
    let times = |r: &IoRecord| [r.queue_ns, r.issue_ns, r.complete_ns].map(ns);
    records.iter().map(times).collect()
}

/// Operation, first sector and bytes of each request, as in `read 8+512`.
fn places(records: &[IoRecord]) -> String {
    let place = |r: &IoRecord| format!("{} {}+{}", r.op, r.sector.0, r.bytes.0);
    records.iter().map(place).collect::<Vec<_>>().join(", ")
}

/// Device and process of a request.
fn who(r: &IoRecord) -> String {
    let (pid, comm) = (r.pid.unwrap_or(0), r.comm.as_deref().unwrap_or(""));
    format!("{} {pid} {comm}", r.device)
}

/// The first request ends at time zero, so it started earlier; LAT counts from the issue.
#[test]
fn biosnoop_of_bcc() {
    let (format, records, meta) = recognised(case!("15-dead-ends/biosnoop.txt"), &options());
    assert_eq!(format, "biosnoop");
    let expected = [
        [-1, 0, 740_000],
        [-1, 764_000, 1_294_000],
        [-1, 14_410_000, 14_510_000],
    ];
    assert_eq!(times(&records), expected);
    let expected = "write 13092560+4096, write 13092432+4096, read 0+512";
    assert_eq!(places(&records), expected);
    assert_eq!(who(&records[2]), "1:1 2211 sqld 8");
    assert_eq!(meta.facts["device.1:1"], "nvme0n1");
}

#[test]
fn biosnoop_with_queues_letters_and_losses() {
    let text = case!("15-dead-ends/biosnoop_q.txt");
    let added_lines = b"0.1 a 1 sdb FF -1 0 -1.000 0.5\nPossibly lost 3 samples\n";
    let (_, records, meta) = recognised(&[text, &added_lines[..]].concat(), &options());
    let expected = [
        [0, 10_000, 240_000],
        [349_000, 369_000, 569_000],
        [-1, 99_740_000, 100_240_000],
    ];
    assert_eq!(times(&records), expected);
    assert_eq!(places(&records), "read 0+4096, write 0+4096, flush 0+0");
    assert_eq!(meta.lost, 3);
}

/// A process whose name is empty leaves a row with one cell less than the header.
#[test]
fn biosnoop_of_a_process_without_a_name() {
    let head = "TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n";
    let text = format!("{head}1.5 dd 7 sda W 8 4096 0.5\n1.6 7 sda W 16 4096 0.5\n");
    let (_, records, _) = recognised(text.as_bytes(), &options());
    assert_eq!(places(&records), "write 8+4096, write 16+4096");
    let names: Vec<Option<&str>> = records.iter().map(|r| r.comm.as_deref()).collect();
    assert_eq!((names, records[1].pid), (vec![Some("dd"), None], Some(7)));
}

#[test]
fn biosnoop_of_bpftrace_needs_what_it_does_not_print() {
    let text = case!("15-dead-ends/biosnoop_bt.txt");
    let error = import("biosnoop", text, &options()).unwrap_err();
    tells(&error, "expected the option op");
    let (_, records, _) = recognised(text, &needed("biosnoop"));
    assert_eq!(times(&records), [[0, -1, 100_000], [57_000, -1, 100_000]]);
    assert_eq!(places(&records), "read 0+4096, read 0+4096");
}

/// A later biosnoop.bt prints a disk as major and minor number.
#[test]
fn biosnoop_of_bpftrace_with_numbers_of_disks() {
    let text = b"Attached 4 probes\nTIME(ms)     DISK ID        COMM             PID    LAT(ms)\n             MAJOR MINOR\n\
        611          259   0        bash             4179        10\n627          259   1        my job           4180         0\n";
    let (_, records, meta) = recognised(text, &needed("biosnoop"));
    let expected = [[0, -1, 10_000_000], [26_000_000, -1, 26_000_000]];
    assert_eq!(times(&records), expected);
    assert_eq!(who(&records[1]), "1:1 4180 my job");
    assert_eq!(meta.facts["device.1:1"], "259:1");
}

/// `biosnoop -t` of libbpf-tools prints the time of day.
#[test]
fn biosnoop_with_times_of_day() {
    let text = b"TIMESTAMP    COMM           PID     DISK    T    SECTOR     BYTES   LAT(ms)\n\
        14:23:45.120 mysqld         8912    sdb     WS   8          4096      0.500\n\
        14:23:45.123 mysqld         8912    sdb     R    16         8192      1.000\n";
    let (_, records, meta) = recognised(text, &options());
    let expected = [[-1, 0, 500_000], [-1, 2_500_000, 3_500_000]];
    assert_eq!(times(&records), expected);
    assert!(meta.clock.contains("read the event"), "{}", meta.clock);
    // The ends are 50 ms before midnight and 150 ms after it.
    let text = String::from_utf8_lossy(text);
    let text = text
        .replace("14:23:45.120", "23:59:59.950")
        .replace("14:23:45.123", "00:00:00.150");
    let (_, records, meta) = recognised(text.as_bytes(), &options());
    assert_eq!(times(&records)[1], [-1, 199_500_000, 200_500_000]);
    assert!(meta.facts["midnights"].starts_with("1 ("));
}

#[test]
fn block_events_of_three_tools() {
    for (text, expected) in [
        (&case!("15-dead-ends/ftrace.txt")[..], [0, 10_000, 100_000]),
        (case!("15-dead-ends/trace_cmd.txt"), [-1, 0, 90_000]),
        (case!("12-csv-recognition/perf_script.txt"), [-1, 0, 90_000]),
    ] {
        let (format, records, meta) = recognised(text, &options());
        assert_eq!((format.as_str(), meta.lost), ("ftrace", 0));
        assert_eq!(times(&records), [expected]);
        assert_eq!(places(&records), "read 2048+4096");
        assert_eq!(who(&records[0]), "8:0 1234 fio");
    }
}

/// Covers a name with blanks, the thread's process, nine decimals, a passthrough command without
/// sectors, an error, other events, and losses: 5 overwritten, 34 and 7.
#[test]
fn block_events_of_all_kinds() {
    let text = "\
# entries-in-buffer/entries-written: 4/9   #P:2
CPU:1 [LOST 34 EVENTS]
CPU:0 [7 EVENTS DROPPED]
 my job-7   (  5) [000] ..... 5.000000001: block_rq_issue: 259,3 N 4096 () 18446744073709551615 + 0 none,0,0 [my job]
 my job-7   (  5) [000] ..... 5.000000002: sched_switch: prev_comm=my job
 <idle>-0   (---) [000] d.h.. 5.000000009: block_rq_complete: 259,3 N () 18446744073709551615 + 8 none,0,0 [-5]
something else
";
    let error = import("ftrace", text.as_bytes(), &options()).unwrap_err();
    tells(&error, "line 7, line: expected task, pid");
    let (records, meta) = import("ftrace", text.as_bytes(), &skipping()).unwrap();
    assert_eq!((times(&records), meta.lost), (vec![[-1, 0, 8]], 46));
    assert_eq!(places(&records), "other 0+4096");
    assert_eq!(records[0].error, Some(-5));
    assert_eq!(who(&records[0]), "259:3 7 my job");
    assert_eq!(meta.facts["events_of_other_kinds"], "1");
    assert_eq!(meta.facts["skipped.not a value of the field.lines"], "7");
}

/// One request of the second dump started before the recording.
#[test]
fn etw_by_its_header() {
    let (_, records, _) = recognised(case!("16-etw/etw_cpu.csv"), &options());
    let expected = [
        [0, -1, 283_000],
        [1_083_000, -1, 1_283_000],
        [1_551_000, -1, 1_671_000],
    ];
    assert_eq!(times(&records), expected);
    let expected = "read 13075904+4096, read 13075912+4096, flush 0+0";
    assert_eq!(places(&records), expected);
    let text = String::from_utf8_lossy(case!("16-etw/etw_os.csv"));
    let text = text.replace("Events Lost: 0", "Events Lost: 7");
    let (format, records, meta) = recognised(text.as_bytes(), &options());
    assert_eq!((format.as_str(), meta.lost), ("ms-etw", 7));
    assert_eq!(times(&records)[1], [8_512_000, -1, 8_795_000]);
    assert_eq!(meta.facts["events_of_other_kinds"], "1");
}

#[test]
fn edges_of_iologs() {
    let summary = |text: &[u8]| {
        let (format, records, meta) = recognised(text, &options());
        assert_eq!(format, "fio-iolog");
        let rounded = meta.facts.get("offsets_rounded_down").map_or("0", |n| n);
        let (file, places) = (&meta.facts["device.1:0"], places(&records));
        let recognised = meta.facts.get("recognised").map_or("", |how| how);
        format!("{file}: {places}; {rounded}; {recognised}")
    };
    let aligned = "/dev/nvme0n1: read 8+4096; 0; ";
    assert_eq!(summary(case!("18-iolog-edges/io3bom.log")), aligned);
    let unaligned = "/dev/nvme0n1: read 1+4096; 1; ";
    assert_eq!(summary(case!("18-iolog-edges/io3a.log")), unaligned);
    let buffered = "f: read 0+4096, read 0+100; 1; ";
    assert_eq!(summary(case!("18-iolog-edges/io_unal.log")), buffered);
    let blank = "/mnt/my file: read 0+4096; 0; ";
    assert_eq!(summary(case!("18-iolog-edges/io_space.log")), blank);
    let headless = "/dev/sdhu: read 252972+2048, read 3105000+10240; 0; version 2 by the shape of its lines; its header is missing";
    assert_eq!(summary(case!("18-iolog-edges/io_nohead.log")), headless);
    let third = "a b: read 1+512; 0; version 3 by the shape of its lines; its header is missing";
    assert_eq!(summary(b"7 a b read 512 512\n"), third);
}

#[test]
fn numbers_that_no_recording_has_are_not_recognised() {
    let tencent = case!("01-fio-averaged-log-as-tencent/fio_bw_avg_write.1.log");
    assert_eq!(sniff(tencent).map(|format| format.name), Some("fio-log"));
    for text in [&b"0,8,1000,R,0.5\n"[..], b"5 0 8 3000000 1\n"] {
        assert!(sniff(text).is_none(), "{}", text.escape_ascii());
    }
}

#[test]
fn bytes_are_not_taken_as_blocks() {
    let text = case!("20-bytes-as-blocks/replayer.txt");
    let mut stated = in_unit(TimeUnit::Milliseconds);
    let error = import("disksim", text, &stated).unwrap_err();
    tells(&error, "--offset-unit 1 for bytes");
    stated.offset_unit = Some(Bytes(1));
    let (_, records, _) = recognised(text, &stated);
    assert_eq!(places(&records), "read 8000+4096, write 16000+8192");
    // One copy of Tencent's set has offsets in bytes.
    let text = b"1538323200,4096,8,0,7\n1538323201,8192,8,0,7\n";
    let error = import("tencent", text, &options()).unwrap_err();
    tells(&error, "--offset-unit 1 for bytes");
}

/// 4096 is 8 sectors in bytes, or 2 MiB in sectors. A size of 8 is 4096 bytes, even if offsets are
/// in bytes.
#[test]
fn sizes_may_be_bytes_where_offsets_are() {
    let tencent = |size: &str| format!("1538323200,1048576,{size},0,7\n");
    let fiu = |size: &str| format!("1000 42 cp 1048576 {size} R 6 0\n");
    for (format, row) in [
        ("tencent", &tencent as &dyn Fn(&str) -> String),
        ("fiu", &fiu),
    ] {
        let read = |text: &str, unit: Option<u64>| {
            let offset_unit = unit.map(Bytes);
            let stated = stating(|o| o.offset_unit = offset_unit);
            let imported = import(format, text.as_bytes(), &stated)?;
            Ok::<_, String>(places(&imported.0[..1]))
        };
        let text = row("4096").repeat(8);
        let error = read(&text, None).unwrap_err();
        tells(&error, "offsets and sizes");
        assert_eq!(read(&text, Some(1)), Ok("read 2048+4096".to_owned()));
        let sectors = Ok("read 1048576+2097152".to_owned());
        assert_eq!(read(&text, Some(512)), sectors);
        let mixed = format!("{text}{}", row("8"));
        assert_eq!(read(&mixed, Some(1)), Ok("read 2048+2097152".to_owned()));
        // Later rows that contradict the start of the file are an error.
        let late = format!("{}{}", row("4096").repeat(40_000), row("8"));
        let error = read(&late, Some(1)).unwrap_err();
        tells(&error, "line 40001");
    }
}

#[test]
fn units_count_and_must_be_stated_where_years_are_wrong() {
    let apart_ns = |text: &[u8], unit| {
        let mut stated = options();
        stated.unit = Some(unit);
        let (format, records, _) = recognised(text, &stated);
        let unstated = import(&format, text, &options());
        let asked = unstated.is_err_and(|error| error.contains("expected the option unit"));
        (times(&records)[1][0], asked)
    };
    let (seconds, ms) = (TimeUnit::Seconds, TimeUnit::Milliseconds);
    let text = case!("02-options-ignored/alibaba_s.csv");
    assert_eq!(apart_ns(text, seconds), (1_000_000_000, true));
    let text = case!("02-options-ignored/alibaba_ms.csv");
    assert_eq!(apart_ns(text, ms), (2_000_000, true));
    let text = case!("02-options-ignored/spc_ms.spc");
    assert_eq!(apart_ns(text, ms), (750_000_000, false));
}

#[test]
fn what_the_shape_alone_tells_is_said() {
    let (folder, trace) = place();
    let path = folder.path().join("rows");
    fs::write(&path, include_bytes!("../data/public/alibaba.csv")).unwrap();
    let (paths, stop) = ([path], AtomicBool::new(false));
    let (meta, _) = to_trace(&paths, None, &options(), &trace, &stop).unwrap();
    let note = "alibaba by the shape of its rows; other readings: none";
    assert_eq!(meta.facts["recognised"], note);
}

/// A recording of each format that has options, with the options that it needs.
const SAMPLES: [(&str, &[u8]); 16] = [
    ("latency-list", b"5\n6\n"),
    ("csv", b"start,took,sector\n1,2,8\n3,4,16\n"),
    ("fio-log", case!("15-dead-ends/raw_clat.1.log")),
    ("fio-iolog", include_bytes!("../data/public/fio-3.log")),
    ("blkparse", b"8,0 1 1 0.000000000 7 Q XX 8 + 8 [a]\n"),
    ("disksim", include_bytes!("../data/public/disksim.txt")),
    ("spc", include_bytes!("../data/public/spc.csv")),
    ("msr", include_bytes!("../data/public/msr.csv")),
    ("systor17", include_bytes!("../data/public/systor17.csv")),
    ("alibaba", include_bytes!("../data/public/alibaba.csv")),
    ("tencent", include_bytes!("../data/public/tencent.csv")),
    ("fiu", include_bytes!("../data/public/fiu.txt")),
    ("ms-etw", include_bytes!("../data/public/ms-etw.csv")),
    ("nexus5", include_bytes!("../data/public/nexus5.txt")),
    ("biosnoop", case!("15-dead-ends/biosnoop_bt.txt")),
    ("ftrace", case!("15-dead-ends/ftrace.txt")),
];

/// The options that a sample needs; [`variants`] changes their values.
pub(super) fn needed(format: &str) -> ImportOptions {
    let listed = stating(|o| (o.op, o.bytes) = (Some(Op::Read), Some(Bytes(4096))));
    match format {
        "disksim" => in_unit(TimeUnit::Milliseconds),
        "nexus5" => in_sectors(),
        "biosnoop" => listed,
        "fio-log" => in_unit(TimeUnit::Nanoseconds),
        // The default format has the operation, so the sample needs a format without it.
        "blkparse" => ImportOptions {
            blkparse_format: Some("%D %c %s %T.%t %p %a XX %S + %n [%C]".to_owned()),
            op: Some(Op::Read),
            ..options()
        },
        "latency-list" => ImportOptions {
            unit: Some(TimeUnit::Microseconds),
            ..listed
        },
        "csv" => ImportOptions {
            unit: Some(TimeUnit::Microseconds),
            columns: columns("submit_ns=start,latency=took,sector=sector"),
            ..listed
        },
        _ => options(),
    }
}

/// Returns the options nine times, each time with another value of one option.
fn variants(of: &ImportOptions) -> [(ImportOption, ImportOptions); 9] {
    let with = |option, change: fn(&mut ImportOptions)| {
        let mut options = of.clone();
        change(&mut options);
        (option, options)
    };
    use ImportOption as O;
    [
        // No format has milliseconds as its own unit.
        with(O::Unit, |o| {
            let is_ms = o.unit == Some(TimeUnit::Milliseconds);
            let other = is_ms.then_some(TimeUnit::Microseconds);
            o.unit = other.or(Some(TimeUnit::Milliseconds));
        }),
        with(O::OffsetUnit, |o| o.offset_unit = Some(Bytes(4096))),
        with(O::Op, |o| o.op = Some(Op::Discard)),
        with(O::Bytes, |o| o.bytes = Some(Bytes(512))),
        with(O::ReadFlag, |o| o.read_flag = Some(0)),
        with(O::Columns, |o| {
            o.columns = columns("queue_ns=start");
        }),
        with(O::Delimiter, |o| o.delimiter = Some(b';')),
        with(O::BlkparseFormat, |o| {
            o.blkparse_format = Some("%a %T.%t %d %S %n".to_owned());
        }),
        with(O::Sort, |o| o.sort = Some(std::env::temp_dir())),
    ]
}

/// For each format and option: the option changes the result, or is refused. `--sort` changes only
/// input that is far out of order, and `--read-flag` of `csv` only numeric operations; both have
/// separate tests.
#[test]
fn every_option_counts_or_is_refused() {
    for format in FORMATS {
        let sample = SAMPLES.iter().find(|(name, _)| *name == format.name);
        let base = needed(format.name);
        for (option, options) in variants(&base) {
            let input = Input::Foreign {
                format,
                source: Box::new(Cursor::new(b"")),
                recognised: None,
            };
            let used = format.uses.contains(&option);
            match input.check(Path::new("some"), &options) {
                Ok(()) => assert!(used, "{} {option:?}", format.name),
                Err(ImportError::Unused { .. }) => assert!(!used, "{} {option:?}", format.name),
                Err(other) => panic!("{other}"),
            }
            let has_own_test = option == ImportOption::Sort
                || option == ImportOption::ReadFlag && format.name == "csv";
            let Some((name, text)) = sample.filter(|_| used && !has_own_test) else {
                continue;
            };
            let before = import(name, text, &base).unwrap();
            let after = import(name, text, &options);
            assert_ne!(after, Ok(before), "{name} {option:?}");
        }
    }
}

#[test]
fn an_option_of_one_format_names_it() {
    let (folder, _) = place();
    let path = folder.path().join("text");
    fs::write(&path, "time_us|op|size\n1|R|512\n").unwrap();
    let with = |change: fn(&mut ImportOptions), format| {
        let mut stated = options();
        change(&mut stated);
        Input::with_options(&path, format, &stated).map(|input| input.format())
    };
    let delimiter = |o: &mut ImportOptions| o.delimiter = Some(b'|');
    let pattern = |o: &mut ImportOptions| o.blkparse_format = Some("%a".to_owned());
    assert!(with(|_| (), None).is_err());
    assert_eq!(with(delimiter, None).unwrap(), Some("csv"));
    assert_eq!(with(pattern, None).unwrap(), Some("blkparse"));
    assert!(with(delimiter, Some("msr")).is_err());
}

/// An option is refused if this source has the value in its rows, even if the format uses the
/// option for other sources.
#[test]
fn what_is_told_is_not_stated() {
    let mut listed = needed("csv");
    listed.columns = columns("submit_ns=start,latency=took,op=kind,bytes=size");
    let table = b"start,took,kind,size\n1,2,read,512\n3,4,read,512\n";
    let default = b"8,0 1 1 0.000000000 7 Q R 8 + 8 [a]\n";
    let biosnoop = &case!("15-dead-ends/biosnoop.txt")[..];
    for (format, text, base) in [
        ("biosnoop", biosnoop, options()),
        ("blkparse", default, options()),
        ("csv", table, listed),
    ] {
        let import_with = |op, bytes| {
            let options = ImportOptions {
                op,
                bytes,
                ..base.clone()
            };
            import(format, text, &options).map(|(records, _)| records)
        };
        assert!(import_with(None, None).is_ok(), "{format}");
        let refused = import_with(Some(Op::Read), None).unwrap_err();
        tells(&refused, "found --op, which is for rows");
        if format != "blkparse" {
            let refused = import_with(None, Some(Bytes(512))).unwrap_err();
            tells(&refused, "found --bs, which is for rows");
        }
    }
}

#[test]
fn options_of_a_table_have_columns_that_they_count_for() {
    let dates =
        b"start,took_us,op,size\n2024-01-15T10:30:45Z,5,R,512\n2024-01-15T10:30:46Z,5,R,512\n";
    let map = |map: &str| stating(|o| o.columns = columns(map));
    let row_count = |options| import("csv", dates, &options).map(|(records, _)| records.len());
    let full_map = "submit_ns=start,latency=took_us,op=op,bytes=size";
    assert_eq!(row_count(map(full_map)), Ok(2));
    let with_read_flag = row_count(ImportOptions {
        read_flag: Some(1),
        ..map(full_map)
    });
    assert!(with_read_flag.unwrap_err().contains("found --read-flag"));
    let ends = "submit_ns=start,op=op,bytes=size";
    let unit = Some(TimeUnit::Microseconds);
    let clocks = row_count(ImportOptions { unit, ..map(ends) });
    assert!(clocks.unwrap_err().contains("for --unit"));
}

/// One time far ahead does not shift the reference for later events.
#[test]
fn one_bad_time_among_block_events() {
    let line = |time: &str, event: &str| format!(" fio-1 [001] d..1. {time}: {event}\n");
    let queued = |time, sector| line(time, &format!("block_bio_queue: 8,0 R {sector} + 8 [fio]"));
    let text = [
        queued("100.000100", 8),
        queued("100.000200", 16),
        queued("900.000000", 24),
        queued("100.000300", 32),
        line("100.000400", "block_rq_complete: 8,0 R () 32 + 8 [0]"),
    ]
    .concat();
    let at = "line 3, time: expected a time not after those on both sides";
    let refused = import("ftrace", text.as_bytes(), &options()).unwrap_err();
    tells(&refused, at);
    let (records, meta) = import("ftrace", text.as_bytes(), &skipping()).unwrap();
    assert_eq!(meta.facts["skipped.time stands alone.lines"], "3");
    assert_eq!(times(&records).last(), Some(&[200_000, -1, 300_000]));
    let two_recordings = [queued("100.0", 8), queued("5.0", 8), queued("5.1", 16)].concat();
    let refused = import("ftrace", two_recordings.as_bytes(), &skipping()).unwrap_err();
    let expected = "import the recordings in it as files of their own";
    tells(&refused, expected);
}
