//! blkparse's text, read back by the importer and compared with blkparse itself.

use super::{block, export, export_all, three, window};
use crate::blktrace::encode::{DISCARD, E, LITTLE_7, WRITE, e, file, split};
use crate::blktrace::expect::events;
use crate::support::{self, stating, tells};
use q2c_model::{IoRecord, Layer, Op, TraceMeta};
use q2c_trace::import::ImportOptions;
use std::process::Command;

fn import(format: &str, input: &[u8]) -> (Vec<IoRecord>, TraceMeta) {
    import_with(format, input, &ImportOptions::default())
}

fn import_with(format: &str, input: &[u8], options: &ImportOptions) -> (Vec<IoRecord>, TraceMeta) {
    support::import(format, "some", input, options).unwrap()
}

fn text(records: &[IoRecord]) -> String {
    export_all("blkparse", records).0
}

#[test]
fn lines_by_hand() {
    let wanted = "\
259,3    1        1     0.000000000    71  Q   R 8 + 8 [a, \"b\"]
259,3    1        2     0.000001000    71  G   R 8 + 8 [a, \"b\"]
259,3    1        3     0.000001500     0  Q WFS 8589934592 + 1 [(null)]
259,3    1        4     0.000002000    71  I   R 8 + 8 [a, \"b\"]
259,3    1        5     0.000002500     0  G WFS 8589934592 + 1 [(null)]
259,3    1        6     0.000003000    71  D   R 8 + 8 [a, \"b\"]
259,3    1        7     0.000004000     0  D WFS 8589934592 + 1 [(null)]
259,3    1        8     0.000050000     0  C WFS 8589934592 + 1 [5]
259,3    0        1     0.000070000     0  Q  FW [(null)]
259,3    0        2     0.000071000     0  G  FW [(null)]
259,3    0        3     0.000072000     0  I  FW [(null)]
259,3    3        1     0.000080500     0  C   R 8 + 8 [0]
";
    assert_eq!(text(&three()), wanted);
}

#[test]
fn a_window_keeps_the_times() {
    let meta = TraceMeta::default();
    let (text, _) = export("blkparse", &meta, &three(), &window(1_500, 2_000)).unwrap();
    assert_eq!(text.lines().count(), 4);
    let first = "259,3    1        1     0.000001500 ";
    assert!(text.starts_with(first), "{text}");
}

#[test]
fn the_user_layer_has_no_such_events() {
    let mut record = block(0, Op::Read, 8, 512, [-1; 5]);
    (record.layer, record.submit_ns) = (Layer::User, Some(q2c_model::Nanos(0)));
    let meta = TraceMeta::default();
    let error = export("blkparse", &meta, &[record], &Default::default()).unwrap_err();
    let expected = "as blkparse: expected records of the block layer, found the user";
    tells(&error.to_string(), expected);
}

/// Binary records with merges at both ends, a flush, a requeue, and two I/Os at the same sectors.
fn recorded_events() -> Vec<E> {
    events(&[
        "800+8 0Q 8G 9D 60C",
        "100+8 write 1Q 2G",
        "108+16 write 3Q 4M",
        "92+8 write 5Q 6F",
        "92+32 write 7I 10D 11R 14D 40C",
        "0+0 write,flush 12Q 13G 15I 16D 50C",
        "800+8 17Q 18G 61D 90C",
    ])
}

fn recorded() -> Vec<u8> {
    file(LITTLE_7, &recorded_events())
}

#[test]
fn what_binary_records_tell_comes_back_through_the_text() {
    let (records, meta) = import("blktrace", &recorded());
    assert!(meta.unmatched.is_empty(), "{:?}", meta.unmatched);
    assert_eq!(records.len(), 6);
    let text = text(&records);
    assert!(text.contains(" F   W 92 + 8 "), "{text}");
    let (back, meta) = import("blkparse", text.as_bytes());
    assert_eq!(back, records);
    assert!(meta.unmatched.is_empty() && meta.lost == 0);
}

#[test]
fn events_come_in_the_order_of_time_however_long_requests_last() {
    let one = |id: u64| {
        let at = i64::try_from(id * 10).unwrap();
        let lasts = i64::try_from(id * 7_919 % 50_000).unwrap();
        let times = [at, at + 1, at + 2, at + 3, at + 4 + lasts];
        block(id, Op::Read, id * 8, 4096, times)
    };
    let records: Vec<IoRecord> = (0..20_000).map(one).collect();
    let text = text(&records);
    let time = |line: &str| -> u64 {
        let time = line.split_whitespace().nth(3).unwrap();
        time.replace('.', "").parse().unwrap()
    };
    let times: Vec<u64> = text.lines().map(time).collect();
    assert_eq!(times.len(), 100_000);
    assert!(times.is_sorted());
    let (back, _) = import("blkparse", text.as_bytes());
    let lives = |records: &[IoRecord]| -> Vec<_> {
        let times = |r: &IoRecord| (r.queue_ns, r.getrq_ns, r.insert_ns, r.issue_ns);
        let life = |r: &IoRecord| (r.sector, times(r), r.complete_ns);
        records.iter().map(life).collect()
    };
    assert_eq!(lives(&back), lives(&records));
}

/// The output of blkparse for these records; `None` if blkparse is not installed, which is reported
/// and counted as a skip.
fn printed_by_blkparse(test: &str, binary: &[u8], options: &[&str]) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("t.blktrace.0"), binary).unwrap();
    let mut blkparse = Command::new("blkparse");
    let blkparse = blkparse.args(["-i", "t"]).args(options);
    let Ok(output) = blkparse.current_dir(folder.path()).output() else {
        q2c_testkit::skip(test, "blkparse is not installed");
        return None;
    };
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    Some(String::from_utf8(output.stdout).unwrap())
}

/// The binary records and blkparse's text of them give the same I/Os, with process names from
/// notes.
#[test]
fn blkparse_itself_tells_the_same() {
    let test = "export::blkparse::blkparse_itself_tells_the_same";
    let mut events = recorded_events();
    events.insert(0, E::note(0, 0, 100, b"some [name]\0\0\0\0\0"));
    let mut failed = e(99, "C", 5000, 8).cat(WRITE | 8);
    failed.error = 65_531;
    events.extend([
        e(91, "Q", 4096, 16),
        split(92, 4096, 16, 4104),
        e(93, "G", 4096, 8),
        e(93, "D", 4096, 8),
        e(94, "G", 4104, 8),
        e(94, "D", 4104, 8),
        e(95, "C", 4096, 8),
        e(96, "C", 4104, 8),
        e(97, "Q", 5000, 8).cat(WRITE | 8),
        e(98, "D", 5000, 8).cat(WRITE | 8),
        failed,
        e(100, "Q", 6000, 2048).cat(DISCARD | WRITE),
    ]);
    let binary = file(LITTLE_7, &events);
    let (records, meta) = import("blktrace", &binary);
    assert_eq!(records.len(), 10);
    let Some(text) = printed_by_blkparse(test, &binary, &[]) else {
        return;
    };
    let (back, text_meta) = import("blkparse", text.as_bytes());
    assert_eq!(back, records, "{text}");
    assert_eq!(text_meta.unmatched, meta.unmatched);
    assert_eq!(text_meta.lost, meta.lost);
    // The same with a format of the user, and with the times from Q and D to C (-t).
    let format = "%T.%t %D %c %a %d %S+%n %p %s %e %C\\n";
    let Some(text) = printed_by_blkparse(test, &binary, &["-f", format]) else {
        return;
    };
    let options = stating(|o| o.blkparse_format = Some(format.to_owned()));
    let without_splits = |records: &[IoRecord]| -> Vec<_> {
        let is_unsplit = |r: &&IoRecord| !(4096..4112).contains(&r.sector.0);
        let times = |r: &IoRecord| [r.queue_ns, r.getrq_ns, r.issue_ns, r.complete_ns];
        let life = |r: &IoRecord| (r.sector, r.bytes, times(r), r.error, r.comm.clone());
        records.iter().filter(is_unsplit).map(life).collect()
    };
    let (back, _) = import_with("blkparse", text.as_bytes(), &options);
    assert_eq!(without_splits(&back), without_splits(&records), "{text}");
    let Some(text) = printed_by_blkparse(test, &binary, &["-t", "-q"]) else {
        return;
    };
    let (back, _) = import("blkparse", text.as_bytes());
    assert_eq!(back, records, "{text}");
}

/// The export equals blkparse's text line by line, except for plugging, splits and the numbers of
/// lines.
#[test]
fn blkparse_itself_prints_the_same() {
    let test = "export::blkparse::blkparse_itself_prints_the_same";
    let mut events = recorded_events();
    events.retain(|e| e.action != 6 && e.us != 10);
    events.insert(0, E::note(0, 0, 100, b"fio\0\0\0\0\0\0\0\0\0\0\0\0\0"));
    let binary = file(LITTLE_7, &events);
    let Some(theirs) = printed_by_blkparse(test, &binary, &["-q"]) else {
        return;
    };
    // The summary around the events is removed.
    let events = theirs
        .lines()
        .filter(|line| line.starts_with(|c: char| c == ' ' || c.is_ascii_digit()));
    let theirs: String = events.map(|line| format!("{line}\n")).collect();
    let ours = text(&import("blktrace", &binary).0);
    // A trace lacks the process that a completion interrupted.
    let columns = |text: &str| -> Vec<String> {
        let line = |line: &str| {
            let cells: Vec<&str> = line.split_whitespace().collect();
            let pid = if cells[5] == "C" { "" } else { cells[4] };
            let event = cells[5..].join(" ");
            format!("{} {} {} {pid} {event}", cells[0], cells[1], cells[3])
        };
        text.lines().map(line).collect()
    };
    assert_eq!(columns(&ours), columns(&theirs));
    let width = |line: &str| line.find(" + ").unwrap_or(0);
    let widths = |text: &str| text.lines().map(width).collect::<Vec<_>>();
    assert_eq!(widths(&ours), widths(&theirs));
}
