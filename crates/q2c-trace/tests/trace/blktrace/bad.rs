use super::encode::{E, LITTLE_7, e, file};
use super::expect::events;
use super::{read_files, times};
use crate::support::{import, tells};
use q2c_trace::blktrace::FileSet;
use q2c_trace::import::{ImportOptions, Input};
use std::fs;

fn reads() -> Vec<E> {
    events(&["8+8 1Q 2C 3Q 4C"])
}

#[test]
fn a_record_cut_off_is_counted_wherever_the_cut_is() {
    let whole = file(LITTLE_7, &reads());
    for cut in 145..192 {
        let (spans, read) = read_files(&[whole[..cut].to_vec()], false).unwrap();
        assert_eq!(spans.len(), 2, "{cut}");
        let cut_off = read.losses.reasons["record cut off by the file's end"];
        assert_eq!(cut_off, 1, "{cut}");
        assert_eq!(read.counts.unmatched["never completed"], 1, "{cut}");
    }
}

#[test]
fn something_else_is_told_with_its_offset_or_skipped() {
    let mut bytes = file(LITTLE_7, &reads());
    bytes.splice(96..96, [1, 2, 3, 4, 5]);
    let message = read_files(&[bytes.clone()], false).unwrap_err().to_string();
    let wanted = "read t.blktrace.0, offset 96: expected a record of version 7, little-endian as before, found bytes 01 02 03 04";
    assert!(message.starts_with(wanted), "{message}");
    let (spans, read) = read_files(&[bytes], true).unwrap();
    let wanted = [[1, -1, -1, -1, 2], [3, -1, -1, -1, 4]];
    assert_eq!(spans.iter().map(times).collect::<Vec<_>>(), wanted);
    assert_eq!(read.losses.reasons["no record"], 1);
}

#[test]
fn other_magic_numbers_are_refused() {
    for head in [&b"PAR1"[..], b"\x09tae", b"\x06tae", b"x"] {
        let message = read_files(&[head.to_vec()], false).unwrap_err().to_string();
        let expected = "offset 0: expected a blktrace record (magic 0x656174, version 7 or 8)";
        tells(&message, expected);
    }
}

#[test]
fn versions_do_not_mix() {
    let (seven, eight) = (file(LITTLE_7, &reads()), file((true, false), &reads()));
    let inside = [seven.clone(), eight.clone()].concat();
    let message = read_files(&[inside], false).unwrap_err().to_string();
    assert!(message.contains("offset 192: expected a record of version 7, little-endian as before, found version 8, little-endian"), "{message}");
    let message = read_files(&[seven, eight], false).unwrap_err().to_string();
    assert!(message.contains("read t.blktrace.1: expected version 7, little-endian as in t.blktrace.0, found version 8"), "{message}");
}

#[test]
fn time_does_not_go_back() {
    let events = [e(5, "Q", 8, 8), e(4, "G", 8, 8), e(9, "C", 8, 8)];
    let (spans, read) = read_files(&[file(LITTLE_7, &events)], false).unwrap();
    assert_eq!(times(&spans[0]), [5, 5, -1, -1, 9]);
    assert_eq!(read.losses.reasons["time went back"], 1);
}

#[test]
fn gaps_and_duplicates_are_counted_by_device_and_cpu() {
    let events = [
        e(1, "Q", 8, 8).seq(1),
        e(1, "Q", 8, 8).seq(1),
        e(2, "C", 8, 8).seq(5),
        e(3, "Q", 8, 8).dev(8, 0).seq(1),
        e(3, "Q", 8, 8).cpu(1).seq(3),
        e(4, "C", 8, 8).cpu(1).seq(4),
        e(5, "C", 8, 8).dev(8, 0).seq(2),
    ];
    let (spans, read) = read_files(&[file(LITTLE_7, &events)], false).unwrap();
    // CPU 0 lacks the numbers 2, 3 and 4; CPU 1 lacks 1 and 2.
    assert_eq!((read.losses.lost, read.losses.gaps), (5, 2));
    assert_eq!(read.losses.reasons["duplicate record"], 1);
    assert_eq!(spans.len(), 3);
    assert!(spans.iter().all(|span| span.end_ns != u64::MAX));
}

#[test]
fn an_empty_trace_and_empty_files() {
    let (spans, read) = read_files(&[Vec::new(), Vec::new()], false).unwrap();
    assert!(spans.is_empty() && read.counts.events == 0);
    let (spans, _) = read_files(&[Vec::new(), file(LITTLE_7, &reads())], false).unwrap();
    assert_eq!(spans.len(), 2);
}

#[test]
fn files_are_found_by_their_base_and_missing_ones_named() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().join("sda");
    assert_eq!(FileSet::find(&base).unwrap(), None);
    let message = Input::recognise(&base, Some("blktrace"))
        .err()
        .unwrap()
        .to_string();
    tells(&message, "sda.blktrace.N");
    tells(&message, "found none");
    let path = |cpu| folder.path().join(format!("sda.blktrace.{cpu}"));
    for cpu in ["0", "10", "2", "x"] {
        fs::write(path(cpu), file(LITTLE_7, &reads())).unwrap();
    }
    let set = FileSet::find(&base).unwrap().unwrap();
    assert_eq!(set.paths, ["0", "2", "10"].map(path));
    assert_eq!(set.missing, [1, 3, 4, 5, 6, 7, 8, 9]);
    // One CPU's file stands for the files of all CPUs; alone, it is the whole recording.
    let part = FileSet::find(&set.paths[1]).unwrap().unwrap();
    assert_eq!((&part.paths, &part.base), (&set.paths, &set.base));
    assert_eq!(part.named.as_ref(), Some(&set.paths[1]));
    let other = folder.path().join("sdb.blktrace.0");
    fs::write(&other, file(LITTLE_7, &reads())).unwrap();
    let single = FileSet::find(&other).unwrap().unwrap();
    assert_eq!((single.paths, single.named), (vec![other], None));
}

/// A process name may hold any bytes; at most sixteen are kept.
#[test]
fn a_name_that_is_no_text_is_kept_readable() {
    let unknown = "\u{fffd}".repeat(16);
    let names: [(&[u8], &str); 3] = [
        (b"\xff\xfewriter\0\0\0\0\0\0\0\0", "\u{fffd}\u{fffd}writer"),
        (&[0xff; 16], &unknown),
        (b"", ""),
    ];
    for (bytes, wanted) in names {
        let mut events = reads();
        events.insert(0, E::note(0, 0, 100, bytes));
        let bytes = file(LITTLE_7, &events);
        let options = ImportOptions::default();
        let (records, _) = import("blktrace", "t.blktrace.0", &bytes[..], &options).unwrap();
        assert_eq!(records.len(), 2);
        assert_eq!(records[0].comm.as_deref(), Some(wanted));
    }
}
