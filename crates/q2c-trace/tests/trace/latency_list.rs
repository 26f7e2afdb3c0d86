use crate::support::{self, ImportedRecords, import_to_file, place, read, tells};
use q2c_model::{Bytes, Nanos, Op};
use q2c_trace::import::{ImportOptions, TimeUnit, sniff};
use q2c_trace::{Scan, TraceReader};
use std::fs;
use std::io::BufRead;

fn options() -> ImportOptions {
    ImportOptions {
        unit: Some(TimeUnit::Microseconds),
        op: Some(Op::Read),
        bytes: Some(Bytes(4096)),
        ..ImportOptions::default()
    }
}

fn import(input: impl BufRead, options: &ImportOptions) -> ImportedRecords {
    support::import("latency-list", "list.txt", input, options).map_err(|error| error.to_string())
}

#[test]
fn each_request_is_submitted_when_the_one_before_is_reaped() {
    let text = "\u{feff}# device X\r\n\r\n31.201\r\n 10 # slow\r\n2.5e+01";
    let (records, meta) = import(text.as_bytes(), &options()).unwrap();
    let times = records.iter().map(|r| (r.id, r.submit_ns, r.reap_ns));
    let at = |ns| Some(Nanos(ns));
    let wanted = [
        (0, at(0), at(31_201)),
        (1, at(31_201), at(41_201)),
        (2, at(41_201), at(66_201)),
    ];
    assert_eq!(times.collect::<Vec<_>>(), wanted);
    for r in &records {
        assert_eq!((r.op, r.bytes), (Op::Read, Bytes(4096)));
        assert_eq!((r.depth_at_submit, r.submit_end_ns), (1, None));
    }
    assert_eq!(meta.source, "latency-list");
    assert_eq!(meta.facts["unit"], "us");
}

#[test]
fn a_bad_line_is_told_or_skipped_and_counted() {
    for (bad, reason) in [
        ("abc", "not a number"),
        ("1,2", "not a number"),
        ("NaN", "not a number (NaN)"),
        ("inf", "infinite"),
        ("-3", "negative"),
        ("0", "zero latency"),
        ("0.0001", "zero latency"),
        ("99999999999999999999", "too large"),
        ("18446744073709551.615", "latency of a day or more"),
        ("86400000000", "latency of a day or more"),
    ] {
        let text = format!("1\n{bad}\n2\n");
        let mut options = options();
        let error = import(text.as_bytes(), &options).unwrap_err();
        let place = "import list.txt, line 2, latency: ";
        let quoted = format!("found `{bad}`");
        assert!(
            error.starts_with(place) && error.contains(&quoted),
            "{error}"
        );
        options.skip_bad = true;
        let (records, meta) = import(text.as_bytes(), &options).unwrap();
        assert_eq!(meta.unmatched, [(reason.to_owned(), 1)].into(), "{bad}");
        assert_eq!(records[1].reap_ns, Some(Nanos(3_000)), "{bad}");
    }
}

#[test]
fn a_list_of_bad_lines_alone_is_an_error() {
    let mut skipping = options();
    skipping.skip_bad = true;
    let error = import(&b"x\ny\n"[..], &skipping).unwrap_err();
    tells(&error, "none in 2 lines (2 skipped as bad)");
}

#[test]
fn unit_operation_and_size_must_be_stated() {
    for (forget, option) in [
        ((|o| o.unit = None) as fn(&mut ImportOptions), "unit"),
        (|o| o.op = None, "op"),
        (|o| o.bytes = None, "block size"),
    ] {
        let mut options = options();
        forget(&mut options);
        let error = import(&b"1\n"[..], &options).unwrap_err();
        tells(&error, &format!("expected the option {option}: "));
    }
}

#[test]
fn a_skipped_endless_line_does_not_hide_the_next() {
    let long = "1".repeat(200_000);
    let text = format!("5\n{long}\n7\n");
    let mut options = options();
    options.skip_bad = true;
    let (records, meta) = import(text.as_bytes(), &options).unwrap();
    assert_eq!(records.len(), 2);
    assert_eq!(meta.unmatched, [("line too long".to_owned(), 1)].into());
}

#[test]
fn lines_of_exactly_the_limit_are_read() {
    let fit = format!("# {}\n4\n", "x".repeat(65_534));
    assert_eq!(import(fit.as_bytes(), &options()).unwrap().0.len(), 1);
    let long = format!("# {}\n4\n", "x".repeat(65_535));
    assert!(import(long.as_bytes(), &options()).is_err());
}

#[test]
fn no_trace_appears_when_the_import_fails() {
    let (folder, trace) = place();
    let list = folder.path().join("list.txt");
    fs::write(&list, "1\n2\nx\n").unwrap();
    assert!(import_to_file("latency-list", &list, &options(), &trace).is_err());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    fs::write(&list, "1\n2\n").unwrap();
    let meta = import_to_file("latency-list", &list, &options(), &trace).unwrap();
    assert_eq!(TraceReader::open(&trace).unwrap().meta(), &meta);
}

/// Compares count, latencies and sum with a second reading as floats, which may differ by 1 ns per
/// value because of rounding.
#[test]
fn a_public_list_comes_back_whole() {
    let test = "a_public_list_comes_back_whole";
    let Some(path) = q2c_testkit::shared_data(test, "zssd-983zet-randread4k-latency-us.txt") else {
        return;
    };
    let text = fs::read_to_string(&path).unwrap();
    let us: Vec<f64> = text.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(sniff(text.as_bytes()).unwrap().name, "latency-list");

    let (_folder, trace) = place();
    import_to_file("latency-list", &path, &options(), &trace).unwrap();
    let records = read(&trace, &Scan::new()).unwrap();
    assert_eq!(records.len(), us.len());
    for (record, us) in records.iter().zip(&us) {
        let error = record.u2c().unwrap().0 as f64 - us * 1e3;
        assert!(error.abs() <= 1.0, "{us} us became {:?}", record.u2c());
    }
    let end = records.last().unwrap().reap_ns.unwrap().0 as f64;
    assert!((end - us.iter().sum::<f64>() * 1e3).abs() < us.len() as f64);
}
