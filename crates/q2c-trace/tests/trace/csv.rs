//! CSV import: a golden file, and bad sources.

use crate::support::{self, ImportedRecords, columns, parts, stating, tells};
use q2c_model::{Bytes, DevId, IoRecord, Layer, Nanos, Op, Sectors};
use q2c_trace::import::{ColumnMap, ImportOptions, TimeUnit, sniff};

const USER_MAP: &str = "submit_ns=start,lane=tid,op=kind,offset=pos,bytes=len,latency=lat,sleep_asked_ns=asked,missed=missed";

/// Options with reads of 4 KiB if the map has no operation or no length.
fn options(map: &str, unit: TimeUnit) -> ImportOptions {
    let columns = columns(map);
    let lacks = |field: &str| columns.iter().all(|column| column.field != field);
    ImportOptions {
        unit: Some(unit),
        op: lacks("op").then_some(Op::Read),
        bytes: lacks("bytes").then_some(Bytes(4096)),
        columns,
        ..ImportOptions::default()
    }
}

pub(crate) fn import(text: &[u8], options: &ImportOptions) -> ImportedRecords {
    support::import("csv", "some.csv", text, options).map_err(|error| error.to_string())
}

/// The expected records are computed by hand. Starts: 0, 2.5 us, 4 us, 10 us. Lanes by appearance:
/// 71 is 0, 70 is 1. The third request starts while its lane's first (0 to 10 us) is in flight:
/// depth 2. The fourth starts when the first ends, and the third has ended at 5 us: depth 1.
#[test]
fn the_small_file_gives_the_records_written_by_hand() {
    let text = include_bytes!("data/small.csv");
    let (records, meta) = import(text, &options(USER_MAP, TimeUnit::Seconds)).unwrap();
    let request = |id, op, sector, bytes, submit| {
        let (sector, bytes) = (Sectors(sector), Bytes(bytes));
        let mut r = IoRecord::new(id, Layer::User, DevId::default(), op, sector, bytes);
        r.submit_ns = Some(Nanos(submit));
        r
    };
    let mut expected = [
        request(0, Op::Read, 8, 4096, 0),
        request(1, Op::Write, 0, 8192, 2_500),
        request(2, Op::Read, 1, 512, 4_000),
        request(3, Op::Discard, 2048, 4096, 10_000),
    ];
    expected[0].reap_ns = Some(Nanos(10_000));
    expected[1].reap_ns = Some(Nanos(22_500));
    expected[1].lane = 1;
    expected[2].reap_ns = Some(Nanos(5_000));
    expected[2].depth_at_submit = 2;
    expected[2].sleep_asked_ns = Some(Nanos(500));
    expected[2].missed = Some(true);
    expected[3].missed = Some(false);
    assert_eq!(records, expected);
    let fact = |name: &str| meta.facts.get(name).map(String::as_str);
    assert_eq!(fact("source_time_of_zero_ns"), Some("1700000000000001000"));
    assert_eq!(fact("imported_from"), Some("some.csv"));
    assert_eq!(fact("stated.device"), Some("0:0"));
    assert_eq!(fact("stated.op"), None);
}

#[test]
fn block_layer_times_make_block_records() {
    let text = b"dev;Q;D;C;flags;err\n8:1;10;12;40;sync|fua;-5\n";
    let map = "device=dev,queue_ns=Q,issue_ns=D,complete_ns=C,flags=flags,error=err";
    let mut options = options(map, TimeUnit::Microseconds);
    options.delimiter = Some(b';');
    let (records, _) = import(text, &options).unwrap();
    let device = DevId { major: 8, minor: 1 };
    let mut expected = IoRecord::new(0, Layer::Block, device, Op::Read, Sectors(0), Bytes(4096));
    expected.queue_ns = Some(Nanos(0));
    expected.issue_ns = Some(Nanos(2_000));
    expected.complete_ns = Some(Nanos(30_000));
    expected.flags.0 = 1 | 4;
    expected.error = Some(-5);
    assert_eq!(records, [expected]);
}

/// Lines after the header `s,e,n`, mapped to submit_ns, reap_ns and bytes, in us; then the expected
/// message and reason.
const BAD_ROWS: [&str; 12] = [
    "x,2,1 => line 2, submit_ns: expected a time, zero or above, found `x` => not a number",
    "nan,2,1 => line 2, submit_ns: expected a time, zero or above, found `nan` => not a number (NaN)",
    "-1,2,1 => line 2, submit_ns: expected a time, zero or above, found `-1` => negative",
    "1,2,1e3 => line 2, bytes: expected a whole number in the field's range, found `1e3` => not a value of the field",
    "1,2 => line 2, bytes: expected a value, found `` => empty cell",
    ",2,1 => line 2, submit_ns: expected a value, found `` => empty cell",
    "1,2,1,4 => line 2, line: expected as many cells as the header has, found more cells => too many cells",
    "2,1,1 => line 2, reap_ns: expected a time not before the stage before it, found `1000 ns` => time goes back",
    "2,2,1 => line 2, reap_ns: expected a latency above zero, found the time of the start => zero latency",
    "\"1,2,1 => line 2, line: expected every quote closed on its line, found => open quote",
    "1e30,2,1 => line 2, submit_ns: expected a time, zero or above, found `1e30` => too large",
    "5,6,512\n4,9,512 => line 3, submit_ns: expected a start not before the row above => time goes back",
];

#[test]
fn a_bad_row_is_told_or_skipped_and_counted() {
    let map = "submit_ns=s,reap_ns=e,bytes=n";
    for case in BAD_ROWS {
        let [rows, message, reason] = parts(case);
        let text = format!("s,e,n\n{rows}\n7,9,512\n");
        let mut options = options(map, TimeUnit::Microseconds);
        let error = import(text.as_bytes(), &options).unwrap_err();
        assert!(error.starts_with("import some.csv, "), "{error}");
        tells(&error, message);
        options.skip_bad = true;
        let (records, meta) = import(text.as_bytes(), &options).unwrap();
        assert_eq!(meta.unmatched, [(reason.to_owned(), 1)].into(), "{rows}");
        let last = records.last().unwrap();
        let length_and_latency = (last.bytes, last.u2c());
        assert_eq!(
            length_and_latency,
            (Bytes(512), Some(Nanos(2_000))),
            "{rows}"
        );
    }
}

#[test]
fn bytes_that_are_no_text_are_told_or_skipped() {
    let text = b"s,e\n1,\xff\n1,2\n";
    let mut options = options("submit_ns=s,reap_ns=e", TimeUnit::Nanoseconds);
    let error = import(text, &options).unwrap_err();
    tells(&error, "line 2, line: expected text in UTF-8");
    options.skip_bad = true;
    let (records, meta) = import(text, &options).unwrap();
    assert_eq!((records.len(), meta.unmatched["not UTF-8"]), (1, 1));
}

#[test]
fn a_map_that_makes_no_sense_is_refused() {
    for case in [
        "submit_ns=s,nosuch=e => column map: expected one of device, op,",
        "submit_ns=s,id=e => found `id`",
        "submit_ns=s,submit_ns=e => expected every field once, found `submit_ns`",
        "submit_ns=s,complete_ns=e => expected times of one layer",
        "submit_ns=s,latency=e,reap_ns=n => expected either latency or the time of the end",
        "submit_ns=s,offset=e,sector=n => expected either offset or sector",
        "latency=e => expected a time besides the durations",
        "submit_ns=start => line 1, header: expected exactly one column `start`, found `s, e, n, m, m`",
        "submit_ns=s,bytes=m => expected exactly one column `m`",
    ] {
        let [map, message] = parts(case);
        let text = b"s,e,n,m,m\n1,2,3,4,5\n";
        let error = import(text, &options(map, TimeUnit::Nanoseconds)).unwrap_err();
        tells(&error, message);
    }
}

#[test]
fn what_the_source_lacks_must_be_stated() {
    let text = b"s\n1\n";
    let whole = options("submit_ns=s", TimeUnit::Nanoseconds);
    let without = |forget: fn(&mut ImportOptions)| {
        let mut options = whole.clone();
        forget(&mut options);
        import(text, &options).unwrap_err()
    };
    assert!(without(|o| o.unit = None).contains("expected the option unit"));
    assert!(without(|o| o.op = None).contains("expected the option op"));
    assert!(without(|o| o.bytes = None).contains("expected the option block size"));
    assert!(without(|o| o.delimiter = Some(b'"')).contains("expected the option delimiter"));
}

#[test]
fn no_rows_is_an_error() {
    let options = options("submit_ns=s", TimeUnit::Nanoseconds);
    for (text, lines) in [(&b""[..], 0), (b"s\n", 1), (b"s\n\n\n", 3)] {
        let error = import(text, &options).unwrap_err();
        let message = format!("expected at least one request, found none in {lines} lines");
        assert!(error.contains(&message), "{error}");
    }
}

#[test]
fn a_header_row_is_recognised() {
    assert_eq!(sniff(b"time,lat\n1,2\n").unwrap().name, "csv");
    assert!(sniff(b"1,2\n3,4\n").is_none());
    assert!(sniff(b"PAR1\x15\x04,\x15").is_none());
    for text in [
        "TIME(s)  NAME  T LAT(ms)\n0.1 fio R 0.2\n",
        "a;\"b,c,d\";e\n1;2;3\n",
    ] {
        assert_eq!(sniff(text.as_bytes()).unwrap().name, "csv", "{text}");
    }
    for text in [
        "a,,b\n1,2,3\n",
        "[\"a\",\"b\"]",
        "job: (g=0): rw=read, bs=(R) 4096B-4096B",
        "At times it was of no size.\nIt was one of those.\n",
    ] {
        assert!(sniff(text.as_bytes()).is_none(), "{text}");
    }
}

/// Imports a text with this map (none if empty) and unit, as the command line does. Returns `start
/// op bytes sector latency` of each request, and the description.
pub(crate) fn rows(
    text: impl AsRef<[u8]>,
    map: &str,
    unit: Option<TimeUnit>,
) -> Result<(Vec<String>, q2c_model::TraceMeta), String> {
    let columns = ColumnMap::parse_list(map).unwrap_or_default();
    let options = stating(|o| (o.unit, o.columns) = (unit, columns));
    let (records, meta) = import(text.as_ref(), &options)?;
    let row = |r: &IoRecord| {
        let (start, latency) = (r.submit_ns.unwrap().0, r.u2c().unwrap_or_default().0);
        let (op, bytes, sector) = (r.op, r.bytes.0, r.sector.0);
        format!("{start} {op} {bytes} {sector} {latency}")
    };
    Ok((records.iter().map(row).collect(), meta))
}

fn case(name: &str) -> String {
    let cases = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/trace/cases");
    std::fs::read_to_string(format!("{cases}/{name}")).unwrap()
}

/// The map that an error message suggests.
pub(crate) fn suggested(error: &str) -> &str {
    error
        .split('\'')
        .nth(1)
        .unwrap_or_else(|| panic!("{error}"))
}

/// The ends are 0 and 554 us, and the latencies 740 and 530 us: the starts are -740 and 24 us.
#[test]
fn a_start_is_the_end_less_the_latency() {
    let text = case("10-end-stamped-csv/biosnoop.csv");
    let map = "reap_ns=TIME(s),comm=COMM,pid=PID,device=DISK,op=T,sector=SECTOR,bytes=BYTES,latency=LAT(ms)";
    let (read, meta) = rows(&text, map, None).unwrap();
    let second = "764000 read 4096 13092432 530000";
    assert_eq!(read, ["0 write 4096 13092560 740000", second]);
    assert_eq!(meta.facts["device.1:0"], "nvme0c0n1");
    assert_eq!(meta.facts["device.1:1"], "nvme0n1");
    assert!(meta.clock.ends_with("from 740000 ns before its zero"));
    // Without a map, the first row shows which column holds the operation. The suggested map gives
    // the same starts.
    let error = rows(&text, "", None).unwrap_err();
    assert_eq!(suggested(&error), map.replace("reap_ns", "complete_ns"));
    let advised = stating(|o| o.columns = columns(suggested(&error)));
    let (advised, _) = import(text.as_bytes(), &advised).unwrap();
    let starts: Vec<_> = advised.iter().map(|record| record.queue_ns).collect();
    assert_eq!(starts, [Some(Nanos(0)), Some(Nanos(764_000))]);
    // Requests come out sorted by start.
    let head = "end_s,latency_us,op,size\n";
    let (read, _) = rows(format!("{head}1,2,R,512\n1.000001,9,W,512\n"), "", None).unwrap();
    assert_eq!(read, ["0 write 512 0 9000", "6000 read 512 0 2000"]);
    let row = |n: u64| format!("{},{},R,512\n", n + 9, n * 7 % 9 * 1_000_000 + 1);
    let many: String = (0..140_000).map(row).collect();
    let text = format!("{head}{many}");
    let (records, _) = import(text.as_bytes(), &ImportOptions::default()).unwrap();
    assert!(records.len() == 140_000 && records.is_sorted_by_key(|r| r.submit_ns));
    let error = rows(format!("{head}3,2,R,512\n1,2,R,512\n"), "", None).unwrap_err();
    assert!(error.contains("line 3, reap_ns: expected an end at most a second"));
}

/// Starts in the case: the second and third are 110,445 - (-0.667) us and 222,222 - 1.111 us later.
#[test]
fn dates_and_times_of_day_need_no_unit() {
    let map = "reap_ns=timestamp,latency=latency_ms,op=operation,sector=sector,bytes=size";
    let (read, meta) = rows(case("10-end-stamped-csv/iotracer.csv"), map, None).unwrap();
    let expected = [
        "0 write 8192 2048000 1234000",
        "111778000 read 4096 2048016 567000",
        "221111000 flush 0 0 2345000",
    ];
    assert_eq!(read, expected);
    let unit = "reap_ns date and time without a zone, taken as UTC, latency ms";
    assert_eq!(meta.facts["unit"], unit);
    let import_two = |first: &str, second: &str| {
        let head = "Time;LUN;Op;LBA;Length(KB);Response(ms)";
        let text = format!("{head}\n{first};3;R;8;4;1,5\n{second};3;W;16;0.5;2\n");
        rows(text, "", None)
    };
    let (read, meta) = import_two("2024-01-15T12:30:45+02:00", "2024-01-15 10:30:45.5Z").unwrap();
    let second = "500000000 write 512 16 2000000";
    assert_eq!(read, ["0 read 4096 8 1500000", second]);
    assert_eq!(meta.start_unix_ns, Some(1_705_314_645_000_000_000));
    assert_eq!(meta.facts["delimiter"], "';' (detected)");
    assert_eq!(meta.facts["unit.bytes"], "1024 B (by the header)");
    assert_eq!(meta.facts["unit.sector"], "512 B (not told, the usual one)");
    let (read, meta) = import_two("12:34:56.789", "12:34:57").unwrap();
    assert_eq!(read[1], "211000000 write 512 16 2000000");
    assert_eq!((&*meta.clock, meta.start_unix_ns), ("time of day", None));
    for second in ["12:00:00", "2024-01-15 00:00:00", "1"] {
        let error = import_two("23:59:59.9", second).unwrap_err();
        assert!(error.contains("line 3, submit_ns"), "{error}");
    }
}

/// 2024-03-01 12:00:00 UTC is 1709294400 s after 1970.
#[test]
fn dates_with_a_zones_name_are_read_and_others_name_the_forms() {
    let read = |date: &str, unit| rows(format!("time,op,size\n{date},R,512\n"), "", unit);
    for date in [
        "2024-03-01 12:00:00 UTC",
        "2024-03-01T12:00:00 GMT",
        "2024-03-01 13:00:00+01:00",
    ] {
        let unix = read(date, None).unwrap().1.start_unix_ns;
        assert_eq!(unix, Some(1_709_294_400_000_000_000), "{date}");
    }
    for date in [
        "03/01/2024 12:00:00.002",
        "01:00:00 PM",
        "2024-03-01 12:00:00 CET",
    ] {
        for unit in [None, Some(TimeUnit::Seconds)] {
            tells(&read(date, unit).unwrap_err(), "23:59:59.9");
        }
    }
}

/// A time of day that falls by more than 12 hours is on the next day, also within a row.
#[test]
fn times_of_day_pass_midnight() {
    let day_ns = 86_400_000_000_000_u64;
    let noted = |meta: &q2c_model::TraceMeta| meta.facts["midnights"].starts_with("2 (");
    let text = "start,end,op,size\n23:59:59.5,00:00:00.5,R,512\n00:00:01,00:00:02,R,512\n\
        13:00:00,13:00:01,R,512\n00:00:00,00:00:01,R,512\n";
    let (read, meta) = rows(text, "", None).unwrap();
    let last = format!("{} read 512 0 1000000000", day_ns + 500_000_000);
    assert_eq!(read[0], "0 read 512 0 1000000000");
    assert_eq!(read[1], "1500000000 read 512 0 1000000000");
    assert_eq!((&read[3], noted(&meta)), (&last, true));
    // In rows sorted by end, an end before midnight may follow one after midnight.
    let head = "end,latency_us,op,size";
    let text = format!("{head}\n23:59:59.9,2,R,512\n00:00:00.1,2,R,512\n23:59:59.9,1,W,512\n");
    let (read, meta) = rows(text, "", None).unwrap();
    let later_rows = ["1000 write 512 0 1000", "200000000 read 512 0 2000"];
    assert_eq!(read[1..], later_rows);
    assert!(meta.facts["midnights"].starts_with("1 ("));
    let sorting = stating(|o| o.sort = Some(std::env::temp_dir()));
    let text = "time,op,size\n23:59:59,R,512\n00:00:01,R,512\n00:00:00,R,512\n";
    let (records, _) = import(text.as_bytes(), &sorting).unwrap();
    assert_eq!(records[2].submit_ns, Some(Nanos(2_000_000_000)));
}

#[test]
fn lengths_and_latencies_are_possible_and_in_a_unit_that_is_told() {
    for case in [
        "08-wrapped-latency/wrap.csv => line 3, latency: expected a latency above zero and below a day",
        "11-csv-lengths/size0.csv => line 2, bytes: expected a length above zero",
    ] {
        let [name, expected] = parts(case);
        tells(&rows(self::case(name), "", None).unwrap_err(), expected);
    }
    let text = case("11-csv-lengths/units3.csv");
    let error = rows(&text, "", None).unwrap_err();
    let map = "submit_ns=time_us,latency=lat_us,op=op,bytes=length:512B,sector=sector";
    assert_eq!(suggested(&error), map);
    let (read, meta) = rows(&text, map, None).unwrap();
    assert_eq!(read, ["0 read 4096 8 31000", "10000 write 8192 16 30000"]);
    assert_eq!(meta.facts["unit.bytes"], "512 B (by the map)");
    for (header, unit, first) in [
        ("length", ":KB", "0 read 8192 0 0"),
        ("length", ":B", "0 read 8 0 0"),
        ("nrSectors", "", "0 read 4096 0 0"),
        ("size [MiB]", "", "0 read 8388608 0 0"),
        ("length:512B", "", "0 read 4096 0 0"),
        // A length that is not whole sectors is not read as bytes unless a unit says so.
        ("length", "", "such as bytes=length:512B in --columns"),
        ("Size(KB)", ":MB", "the map or --unit as the headers"),
    ] {
        let map = format!("submit_ns=time_us,op=op,bytes={header}{unit}");
        let read = rows(format!("time_us,op,{header}\n1,R,8\n"), &map, None);
        let read = read.map_or_else(|error| error, |(read, _)| read[0].clone());
        assert!(read.contains(first), "{map}: {read}");
    }
}

#[test]
fn files_of_the_kind_are_recognised_and_others_are_not() {
    let case = |name: &str| case(&format!("12-csv-recognition/{name}"));
    for name in ["pandas.csv", "trail.csv", "tab.csv", "devname.csv"] {
        let text = case(name);
        assert_eq!(sniff(text.as_bytes()).unwrap().name, "csv", "{name}");
        let (read, _) = rows(&text, "", None).unwrap();
        assert_eq!(read[0], "0 read 4096 0 31000", "{name}");
    }
    for name in ["fio.json", "perf_script.txt"] {
        let format = sniff(case(name).as_bytes());
        assert!(format.is_none_or(|format| format.name != "csv"), "{name}");
    }
    let (read, meta) = rows(case("semi.csv"), "", Some(TimeUnit::Milliseconds)).unwrap();
    let second = "100000 write 4096 0 30000000";
    assert_eq!(read, ["0 read 4096 0 31200000", second]);
    assert_eq!(meta.facts["decimals"], "point or comma");
    let (_, meta) = rows(case("tab.csv").replace('\t', "  "), "", None).unwrap();
    assert_eq!(meta.facts["delimiter"], "' ' (detected)");
    let numbers = case("rwnum.csv");
    let error = rows(&numbers, "", None).unwrap_err();
    assert!(error.contains("give it with --read-flag"), "{error}");
    for (read_flag, first) in [(0, Op::Write), (1, Op::Read)] {
        let options = stating(|o| o.read_flag = Some(read_flag));
        let (records, _) = import(numbers.as_bytes(), &options).unwrap();
        assert_eq!(records[0].op, first);
    }
}

/// These are the letters of blk_fill_rwbs; bits: sync 1, meta 2, fua 4, read-ahead 8.
#[test]
fn letters_of_trace_points_are_operations() {
    let ops = "RS,512 WFS,512 FWFS,512 FWS,0 FF,0 RAM,512 DS,512";
    let text = format!("time_us,op,size\n1,{}\n", ops.replace(' ', "\n1,"));
    let (records, _) = import(text.as_bytes(), &ImportOptions::default()).unwrap();
    let kinds = records.iter().map(|r| format!("{} {}", r.op, r.flags.0));
    let expected = "read 1, write 5, write 5, flush 1, flush 0, read 10, discard 1";
    assert_eq!(kinds.collect::<Vec<_>>().join(", "), expected);
}

#[test]
fn the_suggested_map_reads_the_file() {
    let text = case("13-missing-column-advice/thesios.csv");
    let map = "offset=file_offset,op=op_type,bytes=request_io_size_bytes,submit_ns=start_time,latency=simulated_latency";
    for unit in [None, Some(TimeUnit::Seconds)] {
        let error = rows(&text, "", unit).unwrap_err();
        assert_eq!(suggested(&error), map);
        assert!(error.contains("' --unit s (") && !error.contains("--bs"));
    }
    let (read, _) = rows(&text, map, Some(TimeUnit::Seconds)).unwrap();
    let second = "100000000 write 4096 8192 22500000";
    assert_eq!(read, ["0 read 8192 4096 12500000", second]);
}

/// A unit at the end of a header is used even if a map names the field, and each column may have
/// another unit.
#[test]
fn each_header_may_end_with_its_own_unit() {
    let map = "submit_ns=when_us,op=kind,offset=where_bytes,bytes=how_long_bytes,latency=took_us";
    let mapped = |text: &str| {
        let given = stating(|o| o.columns = columns(map));
        import(text.as_bytes(), &given)
    };
    let head = "when_us,kind,where_bytes,how_long_bytes,took_us";
    let rows = "10,R,4096,4096,5.5\n12,W,0,8192,7\n";
    let (records, meta) = mapped(&format!("{head}\n{rows}")).unwrap();
    assert_eq!(records[1].submit_ns, Some(Nanos(2_000)));
    assert_eq!(records[0].u2c(), Some(Nanos(5_500)));
    assert_eq!(meta.facts["unit"], "us");

    let mixed = b"time_s,lat_us,op,size\n1,2,R,4096\n1.5,3,R,4096\n";
    let (records, meta) = import(mixed, &ImportOptions::default()).unwrap();
    assert_eq!(records[1].submit_ns, Some(Nanos(500_000_000)));
    assert_eq!(records[1].u2c(), Some(Nanos(3_000)));
    assert_eq!(meta.facts["unit"], "submit_ns s, latency us");
}

/// The user's unit and the header's unit must be equal. A header that is a field's own name has no
/// unit.
#[test]
fn a_unit_against_that_of_a_header_is_refused() {
    let read = |header: &str| {
        let options = ImportOptions {
            columns: Vec::new(),
            ..options("submit_ns=start", TimeUnit::Microseconds)
        };
        import(format!("{header}\n1,2\n").as_bytes(), &options)
    };
    let error = read("start_ms,latency_us").unwrap_err();
    tells(&error, "--unit as the headers of times say");
    tells(&error, "start_ms");
    for fits in ["start_us,latency_us", "start,latency", "submit_ns,reap_ns"] {
        read(fits).unwrap();
    }
}

/// Two columns with one name are ambiguous, with or without a map.
#[test]
fn a_header_that_is_there_twice_is_refused() {
    let rows = "start_us,latency_us,latency_us\n1,2,3\n";
    let read = |map: &str| {
        let options = ImportOptions {
            columns: columns(map),
            op: Some(Op::Read),
            bytes: Some(Bytes(4096)),
            ..ImportOptions::default()
        };
        import(rows.as_bytes(), &options)
    };
    let by_names = ImportOptions {
        columns: Vec::new(),
        ..options(USER_MAP, TimeUnit::Microseconds)
    };
    let error = import(rows.as_bytes(), &by_names).unwrap_err();
    assert!(error.contains("`latency_us` twice"), "{error}");
    assert!(read("submit_ns=start_us,latency=latency_us").is_err());
    // A column that is not read may occur any number of times.
    read("submit_ns=start_us").unwrap();
}
