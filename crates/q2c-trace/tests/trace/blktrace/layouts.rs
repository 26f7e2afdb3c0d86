//! The four layouts decode to the same events.

use super::encode::{E, FLUSH, WRITE, e, file, ordered, record};
use super::{read_files, times};
use q2c_model::{Op, OpFlags};

fn events() -> Vec<E> {
    let mut write = e(3, "Q", 1 << 40, 24)
        .cat(WRITE | FLUSH | 8 | 0x8000)
        .cgroup(77);
    write.pid = 200;
    let mut failed = e(9, "C", 8, 8);
    failed.error = 5;
    vec![
        E::note(0, 1, 0, &[]),
        E::note(0, 0, 100, b"fio\0junk"),
        e(1, "Q", 8, 8),
        e(2, "G", 8, 8).pay(b"some payload that is not known"),
        write,
        e(4, "D", 8, 8).cpu(70_000),
        failed.cpu(3),
    ]
}

/// The kernel truncates `-EIO` to 16 bits.
#[test]
fn a_negative_error_is_the_same() {
    let mut failed = e(9, "C", 8, 8);
    failed.error = 65_531;
    let (spans, _) = super::lives(&[e(1, "Q", 8, 8), failed]);
    assert_eq!(spans[0].error, -5);
}

#[test]
fn versions_and_byte_orders_tell_the_same() {
    for form in [(false, false), (false, true), (true, false), (true, true)] {
        let (spans, read) = read_files(&[file(form, &events())], false).unwrap();
        assert_eq!(spans.len(), 2, "{form:?}");
        let (one, two) = (spans[0], spans[1]);
        assert_eq!(times(&one), [1, 2, -1, 4, 9], "{form:?}");
        assert_eq!((one.sector, one.bytes, one.pid), (8, 4096, 100));
        assert_eq!((one.cpu_submit, one.cpu_complete, one.error), (0, 3, -5));
        assert_eq!((one.device.major, one.device.minor), (259, 0));
        assert_eq!((one.op, two.op), (Op::Read, Op::Write));
        assert_eq!((two.sector, two.cgroup, two.pid), (1 << 40, 77, 200));
        assert!(two.flags.contains(OpFlags::SYNC) && two.flags.contains(OpFlags::FUA));
        assert_eq!(read.notes.name(100, 0).map(|name| &**name), Some("fio"));
        assert_eq!(read.losses.lost, 0, "{form:?}: {:?}", read.losses);
        // The write, of 24 sectors, never completes.
        assert_eq!(read.counts.unmatched["never completed"], 1);
    }
}

#[test]
fn the_start_is_read_in_the_files_byte_order() {
    for big in [false, true] {
        let u32 = |v: u32| ordered(big, v.to_le_bytes());
        let payload = [u32(1_700_000_000), u32(123)].concat();
        let mut events = vec![E::note(7, 1, 0, &payload)];
        events.extend([e(8, "Q", 8, 8), e(9, "C", 8, 8)]);
        let (_, read) = read_files(&[file((false, big), &events)], false).unwrap();
        assert_eq!(read.notes.start_unix_ns, Some(1_700_000_000_000_000_123));
        assert_eq!(read.notes.start_ns, Some(7_000));
    }
}

#[test]
fn records_are_as_long_as_the_format_says() {
    assert_eq!(record((false, false), &e(0, "Q", 0, 8), 1).len(), 48);
    assert_eq!(record((true, true), &e(0, "Q", 0, 8), 1).len(), 64);
}

#[test]
fn files_of_cpus_are_merged_by_time() {
    let on = |cpu: u32, events: Vec<E>| {
        let events: Vec<E> = events.into_iter().map(|e| e.cpu(cpu)).collect();
        file((false, false), &events)
    };
    let first = vec![e(1, "Q", 8, 8), e(6, "Q", 64, 8), e(20, "C", 64, 8)];
    let files = [
        on(0, first),
        on(1, vec![e(2, "G", 8, 8), e(10, "D", 64, 8)]),
        // Of events at one instant, a request's issue is before its completion.
        on(2, vec![e(5, "C", 8, 8), e(7, "G", 64, 8)]),
        on(3, vec![e(5, "D", 8, 8)]),
    ];
    let (spans, read) = read_files(&files, false).unwrap();
    let wanted = [[1, 2, -1, 5, 5], [6, 7, -1, 10, 20]];
    assert_eq!(spans.iter().map(times).collect::<Vec<_>>(), wanted);
    assert_eq!(spans[0].end_ns, spans[0].issue_ns);
    assert!(read.counts.unmatched.is_empty());
    assert_eq!((spans[1].cpu_submit, spans[1].cpu_complete), (0, 0));
    assert_eq!(spans[0].op, Op::Read);
}
