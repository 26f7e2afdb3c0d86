use crate::support::{ImportedRecords, block_read, place, tells, write};
use q2c_model::{IoRecord, Nanos, TraceMeta};
use q2c_trace::import::{self, ImportError, ImportOptions};
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

/// Imports files with these texts as one trace.
fn merge_texts(texts: &[&str]) -> ImportedRecords {
    let folder = tempfile::tempdir().unwrap();
    let path = |at| folder.path().join(format!("part-{at}"));
    let paths: Vec<PathBuf> = (0..texts.len()).map(path).collect();
    for (path, text) in paths.iter().zip(texts) {
        fs::write(path, text).unwrap();
    }
    let mut records = Vec::new();
    let meta = import::merge_recordings(&paths, None, &ImportOptions::default(), &mut records);
    Ok((records, meta.map_err(|error| error.to_string())?))
}

/// 50 000 rows of Alibaba's format, dealt to three files in turn, so that the files have different
/// first times.
#[test]
fn parts_of_a_trace_are_the_trace() {
    let line = |n: u64| {
        let op = if n.is_multiple_of(3) { 'R' } else { 'W' };
        let us = 1_577_808_000_000_000 + n * 3;
        format!("{},{op},{},4096,{us}\n", n % 7, n * 4096)
    };
    let whole: String = (0..50_000).map(line).collect();
    let part = |index: u64| -> String {
        let numbers = (0..50_000).filter(|n| n % 3 == (index + 1) % 3);
        numbers.map(line).collect()
    };
    let parts = [0, 1, 2].map(part);
    let (mut records, meta) = merge_texts(&[&parts[0], &parts[1], &parts[2]]).unwrap();
    let (whole, whole_meta) = merge_texts(&[&whole]).unwrap();
    let ids: BTreeSet<u64> = records.iter().map(|record| record.id).collect();
    assert_eq!(ids.len(), records.len());
    let lanes: BTreeSet<u32> = records.iter().map(|record| record.lane).collect();
    assert_eq!(lanes, BTreeSet::from([0, 1, 2]));
    for (record, expected) in records.iter_mut().zip(&whole) {
        (record.id, record.lane) = (expected.id, expected.lane);
    }
    assert_eq!(records, whole);
    assert_eq!(meta.start_unix_ns, whole_meta.start_unix_ns);
    assert_eq!(meta.source, "alibaba");
    assert_eq!(meta.facts["input.2"], "part-2");
}

#[test]
fn devices_that_a_source_numbers_itself_are_kept_apart() {
    let line = |host: &str, at: u64| format!("{at},{host},0,Read,0,512,5\n");
    let first = line("usr", 128_166_372_003_061_629);
    let second = line("src", 128_166_372_003_061_630);
    let (records, meta) = merge_texts(&[&first, &second]).unwrap();
    let devices = records.iter().map(|record| record.device.to_string());
    let devices: Vec<String> = devices.collect();
    assert_eq!(devices, ["0:1", "0:2"]);
    assert_eq!(records[1].queue_ns, Some(Nanos(100)));
    assert_eq!(meta.facts["device.0:2"], "1:0 of part-1, host src");
    let csv = |disk: &str| format!("time_us,op,size,disk\n1,R,512,{disk}\n");
    let (_, meta) = merge_texts(&[&csv("sda"), &csv("sdb")]).unwrap();
    assert_eq!(meta.facts["device.0:2"], "sdb (part-1)");
}

#[test]
fn clocks_must_be_the_same() {
    let error = merge_texts(&["1,R,512,512,1577808000000000\n", "0,8,512,R,0.5\n"]).unwrap_err();
    tells(&error, "merge ");
    tells(&error, "part-1: expected times of one clock: Unix time in ");
    tells(&error, "found `");
}

/// One CSV counts from its own start, the other from 1970; both clocks have the same name.
#[test]
fn starts_ten_years_apart_are_of_two_clocks() {
    let csv = |at: &str| format!("time_ms,op,size\n{at},R,512\n");
    let error = merge_texts(&[&csv("0"), &csv("1705314645123")]).unwrap_err();
    tells(
        &error,
        "part-1: expected times within ten years of those in ",
    );
    tells(&error, "found a start 54 years away");
}

#[test]
fn the_error_of_one_is_told() {
    let line = |n: u64| format!("1,R,512,512,{}\n", 1_577_808_000_000_000 + n);
    let good: String = (0..100_000).map(line).collect();
    let bad = format!("{good}1,R,512,oops,1577808000100001\n");
    let error = merge_texts(&[&good, &bad, &good]).unwrap_err();
    tells(&error, "part-1, line 100001, length: expected");
    let folder = tempfile::tempdir().unwrap();
    let paths = ["absent", "absent too"].map(|name| folder.path().join(name));
    let error = import::merge_recordings(&paths, None, &ImportOptions::default(), &mut Vec::new());
    assert!(matches!(error, Err(ImportError::Read { .. })));
}

/// A truncated q2c trace is a bad input, not a trace that cannot be written.
#[test]
fn a_part_that_is_a_cut_trace_is_told() {
    let error = merge_texts(&["PAR1 and no more", "1,R,512,512,1577808000000000\n"]).unwrap_err();
    assert!(error.starts_with("open trace "), "{error}");
    let (_folder, cut) = place();
    fs::write(&cut, "PAR1 and no more").unwrap();
    let paths = [cut.clone(), cut];
    let error = import::merge_recordings(&paths, None, &ImportOptions::default(), &mut Vec::new());
    assert!(matches!(error, Err(ImportError::BadTrace(_))), "{error:?}");
}

/// q2c traces as parts: a merged I/O still points to its carrier, although the ids are new.
#[test]
fn traces_can_be_merged_again() {
    let parts: Vec<_> = [0u64, 1]
        .map(|part| {
            let (folder, path) = place();
            let mut records: Vec<IoRecord> = (0..1_000)
                .map(|id| block_read(id, id * 20 + part * 7))
                .collect();
            for id in (1..1_000).step_by(3) {
                records[id].merged_into = Some(id as u64 - 1);
                (records[id].device.major, records[id].device.minor) = (8, part as u32);
            }
            let facts = [("source_time_of_zero_ns".to_owned(), (part * 5).to_string())];
            let meta = TraceMeta {
                clock: "some".to_owned(),
                source: "q2c".to_owned(),
                lost: 3,
                facts: facts.into(),
                ..TraceMeta::default()
            };
            write(&path, &meta, &records, 100);
            (folder, path)
        })
        .into();
    let paths: Vec<PathBuf> = parts.iter().map(|(_, path)| path.clone()).collect();
    let mut records: Vec<IoRecord> = Vec::new();
    let meta =
        import::merge_recordings(&paths, None, &ImportOptions::default(), &mut records).unwrap();
    assert_eq!((records.len(), meta.lost), (2_000, 6));
    // The second part begins 12 ns (7 + 5) after the first.
    let starts = records.iter().map(|record| record.queue_ns.unwrap().0);
    let starts: Vec<u64> = starts.collect();
    let wanted: Vec<u64> = (0..2_000).map(|n| n / 2 * 20 + n % 2 * 12).collect();
    assert_eq!(starts, wanted);
    for (at, record) in records.iter().enumerate() {
        let index_of = |id| records.iter().position(|r| r.id == id).unwrap();
        let merged = record.merged_into.map(index_of);
        let wanted = (at / 2 % 3 == 1).then(|| at - 2);
        assert_eq!(merged, wanted, "{at}");
    }
}
