//! Lives of requests, each with its expected times beside it.

use super::encode::{DISCARD, FLUSH, WRITE, e, file, split};
use super::{lives, read_limited, times, unmatched};
use q2c_model::Op;

#[test]
fn all_stages_of_one_read() {
    let (spans, read) = lives(&[
        e(1, "Q", 8, 8),
        e(3, "G", 8, 8),
        e(4, "P", 0, 0),
        e(6, "I", 8, 8),
        e(7, "U", 0, 0),
        e(10, "D", 8, 8),
        e(90, "C", 8, 8).cpu(1),
    ]);
    assert_eq!(times(&spans[0]), [1, 3, 6, 10, 90]);
    assert_eq!((spans[0].lane, spans[0].depth_at_submit), (0, 1));
    assert_eq!((read.counts.issued, read.counts.completed), (1, 1));
    assert_eq!((read.counts.plugs, read.counts.unplugs), (1, 1));
    assert!(read.counts.unmatched.is_empty());
}

/// A request of which only D is known stays an I/O when the driver gives it back.
#[test]
fn a_requeue_takes_no_request_away() {
    let (spans, read) = lives(&[e(1, "D", 8, 8), e(2, "R", 8, 8)]);
    assert_eq!(times(&spans[0]), [-1, -1, -1, 1, -1]);
    assert_eq!((read.counts.ios, read.counts.requeues), (1, 1));
    let (spans, _) = lives(&[
        e(1, "D", 8, 8),
        e(2, "R", 8, 8),
        e(5, "D", 8, 8),
        e(9, "C", 8, 8),
    ]);
    assert_eq!(spans.len(), 1);
    assert_eq!(times(&spans[0]), [-1, -1, -1, 5, 9]);
}

/// The request also stays an I/O when it is then merged into a request of which the trace tells no
/// end.
#[test]
fn a_requeue_and_a_merge_take_no_request_away() {
    let events = [
        e(1, "D", 16, 8),
        e(2, "R", 16, 8),
        e(3, "G", 8, 8),
        e(4, "I", 8, 16),
    ];
    let (spans, read) = lives(&events);
    let times: Vec<_> = spans.iter().map(times).collect();
    assert_eq!(times, [[-1, -1, -1, 1, -1], [-1, 3, 4, -1, -1]]);
    assert_eq!((read.counts.ios, read.counts.merged), (2, 1));
}

#[test]
fn merges_behind_and_before_share_the_carriers_issue_and_completion() {
    let (spans, read) = lives(&[
        e(1, "Q", 16, 8),
        e(2, "G", 16, 8),
        e(3, "Q", 24, 8),
        e(4, "M", 24, 8),
        e(5, "Q", 8, 8),
        e(6, "F", 8, 8),
        e(7, "Q", 32, 8),
        e(8, "M", 32, 8),
        e(10, "I", 8, 32),
        e(20, "D", 8, 32),
        e(50, "C", 8, 32),
    ]);
    let wanted = [
        [1, 2, 10, 20, 50],
        [3, 4, -1, 20, 50],
        [5, 6, -1, 20, 50],
        [7, 8, -1, 20, 50],
    ];
    assert_eq!(spans.iter().map(times).collect::<Vec<_>>(), wanted);
    let into: Vec<u64> = spans.iter().map(|span| span.merged_into).collect();
    assert_eq!(into, [u64::MAX, 0, 0, 0]);
    assert_eq!(
        spans.iter().map(|span| span.sector).collect::<Vec<_>>(),
        [16, 24, 8, 32]
    );
    assert!(spans.iter().all(|span| span.bytes == 4096));
    assert_eq!(
        (
            read.counts.merged,
            read.counts.issued,
            read.counts.completed
        ),
        (3, 1, 4)
    );
    assert!(read.counts.unmatched.is_empty());
}

#[test]
fn a_request_merged_into_another_brings_what_it_carries() {
    let (spans, read) = lives(&[
        e(1, "Q", 0, 8),
        e(1, "G", 0, 8),
        e(2, "Q", 16, 8),
        e(2, "G", 16, 8),
        e(3, "Q", 24, 8),
        e(3, "M", 24, 8),
        e(4, "Q", 8, 8),
        e(4, "M", 8, 8),
        // The request 16+16 is merged behind 0+16.
        e(5, "M", 16, 16),
        e(9, "D", 0, 32),
        e(30, "C", 0, 32),
    ]);
    assert!(
        spans.iter().all(|span| times(span)[3..] == [9, 30]),
        "{spans:?}"
    );
    let into: Vec<u64> = spans.iter().map(|span| span.merged_into).collect();
    assert_eq!(into, [u64::MAX, 0, 0, 0]);
    assert!(unmatched(&read).is_empty());
}

#[test]
fn a_split_makes_two_that_were_queued_together() {
    for queued_again in [false, true] {
        let mut events = vec![
            e(1, "Q", 0, 2048),
            split(2, 0, 1024, 1024),
            e(3, "G", 0, 1024),
        ];
        if queued_again {
            events.push(e(4, "Q", 1024, 1024));
        }
        events.extend([
            e(5, "D", 0, 1024),
            e(6, "G", 1024, 1024),
            e(7, "D", 1024, 1024),
            e(20, "C", 1024, 1024),
            e(30, "C", 0, 1024),
        ]);
        let (spans, read) = lives(&events);
        assert_eq!(
            spans.iter().map(times).collect::<Vec<_>>(),
            [[1, 3, -1, 5, 30], [1, 6, -1, 7, 20]]
        );
        assert!(spans.iter().all(|span| span.bytes == 512 * 1024));
        assert_eq!(read.counts.splits, 1);
        assert!(unmatched(&read).is_empty());
    }
}

#[test]
fn the_last_issue_counts_after_a_requeue() {
    let (spans, read) = lives(&[
        e(1, "Q", 8, 8),
        e(2, "G", 8, 8),
        e(3, "I", 8, 8),
        e(4, "D", 8, 8),
        e(6, "R", 8, 8),
        e(7, "I", 8, 8),
        e(9, "D", 8, 8).cpu(2),
        e(20, "C", 8, 8),
    ]);
    assert_eq!(times(&spans[0]), [1, 2, 3, 9, 20]);
    assert_eq!((read.counts.requeues, read.counts.issued), (1, 2));
    assert!(unmatched(&read).is_empty());
}

#[test]
fn overlapping_reads_and_writes_of_one_sector_are_told_apart() {
    let (spans, read) = lives(&[
        e(1, "Q", 8, 8),
        e(2, "Q", 8, 8),
        e(3, "Q", 8, 8).cat(WRITE),
        e(4, "Q", 8, 16),
        e(5, "G", 8, 8).cat(WRITE),
        e(6, "G", 8, 16),
        e(7, "G", 8, 8),
        e(8, "G", 8, 8),
        e(9, "D", 8, 16),
        e(10, "D", 8, 8),
        e(11, "D", 8, 8).cat(WRITE),
        e(12, "D", 8, 8),
        e(20, "C", 8, 16),
        e(21, "C", 8, 8).cat(WRITE),
        e(22, "C", 8, 8),
        e(23, "C", 8, 8),
    ]);
    let wanted = [
        [1, 7, -1, 10, 22],
        [2, 8, -1, 12, 23],
        [3, 5, -1, 11, 21],
        [4, 6, -1, 9, 20],
    ];
    assert_eq!(spans.iter().map(times).collect::<Vec<_>>(), wanted);
    assert_eq!(
        spans
            .iter()
            .map(|span| span.depth_at_submit)
            .collect::<Vec<_>>(),
        [1, 2, 3, 4]
    );
    assert!(unmatched(&read).is_empty());
}

#[test]
fn flushes_without_sectors_share_the_kernels_own() {
    let (asked, own) = (WRITE | FLUSH | 8, FLUSH);
    let (spans, read) = lives(&[
        e(1, "Q", 0, 0).cat(asked),
        e(2, "G", 0, 0).cat(asked),
        // A write of sector 0 at the same time is not part of the flush.
        e(3, "Q", 0, 8).cat(WRITE),
        e(3, "G", 0, 8).cat(WRITE),
        e(4, "D", 0, 8).cat(WRITE),
        e(5, "Q", 0, 0).cat(asked),
        e(6, "G", 0, 0).cat(asked),
        e(8, "D", 0, 0).cat(own),
        e(30, "C", 0, 0).cat(own),
        e(31, "C", 0, 0).cat(asked),
        e(32, "C", 0, 0).cat(asked),
        e(40, "C", 0, 8).cat(WRITE),
    ]);
    let wanted = [[1, 2, -1, 8, 31], [3, 3, -1, 4, 40], [5, 6, -1, 8, 32]];
    assert_eq!(spans.iter().map(times).collect::<Vec<_>>(), wanted);
    let ops: Vec<Op> = spans.iter().map(|span| span.op).collect();
    assert_eq!(ops, [Op::Flush, Op::Write, Op::Flush]);
    assert_eq!(read.counts.internal_flushes, 1);
    assert!(unmatched(&read).is_empty(), "{:?}", unmatched(&read));
}

#[test]
fn a_write_with_a_flush_before_it_is_a_write() {
    let flush = WRITE | FLUSH;
    let (spans, read) = lives(&[
        e(1, "Q", 64, 8).cat(flush),
        e(2, "G", 64, 8).cat(flush),
        e(3, "D", 0, 0).cat(FLUSH),
        e(9, "C", 0, 0).cat(FLUSH),
        e(10, "D", 64, 8).cat(WRITE),
        e(20, "C", 64, 8).cat(WRITE),
    ]);
    assert_eq!(times(&spans[0]), [1, 2, -1, 10, 20]);
    assert_eq!((spans[0].op, spans.len()), (Op::Write, 1));
    assert!(unmatched(&read).is_empty());
}

#[test]
fn discards_passthrough_and_bios_of_stacked_devices() {
    let (discard, command) = (WRITE | DISCARD, 1 | 1 << 9);
    let (spans, read) = lives(&[
        e(1, "Q", 0, 8_000_000).cat(discard),
        e(2, "G", 0, 8_000_000).cat(discard),
        e(3, "D", 0, 8_000_000).cat(discard),
        e(4, "I", 0, 1).cat(command),
        e(5, "D", 0, 1).cat(command),
        e(6, "C", 0, 1).cat(command),
        e(7, "A", 500, 8).dev(253, 0),
        e(7, "Q", 500, 8).dev(253, 0),
        e(8, "C", 500, 8).dev(253, 0),
        e(9, "C", 0, 8_000_000).cat(discard),
    ]);
    let wanted = [[1, 2, -1, 3, 9], [-1, -1, 4, 5, 6], [7, -1, -1, -1, 8]];
    assert_eq!(spans.iter().map(times).collect::<Vec<_>>(), wanted);
    let ops: Vec<Op> = spans.iter().map(|span| span.op).collect();
    assert_eq!(ops, [Op::Discard, Op::Other, Op::Read]);
    assert_eq!((read.counts.remaps, read.counts.without_issue), (1, 1));
    assert!(unmatched(&read).is_empty());
}

#[test]
fn a_request_may_complete_in_parts() {
    let (spans, read) = lives(&[
        e(1, "Q", 0, 16),
        e(2, "G", 0, 16),
        e(3, "D", 0, 16),
        e(10, "C", 0, 8),
        e(20, "C", 8, 8),
    ]);
    assert_eq!(
        spans.iter().map(times).collect::<Vec<_>>(),
        [[1, 2, -1, 3, 20]]
    );
    assert_eq!((read.counts.partial_completions, spans[0].bytes), (1, 8192));
    assert!(unmatched(&read).is_empty());
}

#[test]
fn only_issue_and_completion_recorded() {
    let (spans, read) = lives(&[e(3, "D", 8, 8), e(9, "C", 8, 8)]);
    assert_eq!(
        spans.iter().map(times).collect::<Vec<_>>(),
        [[-1, -1, -1, 3, 9]]
    );
    assert!(unmatched(&read).is_empty());
}

/// With a limit of 4, the unfinished first read is handed out when the fifth I/O comes, and its
/// completion fits no I/O.
#[test]
fn what_never_completes_is_given_up_at_the_limit() {
    let mut events = vec![e(0, "Q", 1_000_000, 8), e(0, "D", 1_000_000, 8)];
    for n in 0..100 {
        events.extend([e(n * 10 + 1, "Q", n * 8, 8), e(n * 10 + 5, "C", n * 8, 8)]);
    }
    events.push(e(2000, "C", 1_000_000, 8));
    let (spans, read) = read_limited(&[file(super::LITTLE_7, &events)], false, 4).unwrap();
    assert_eq!(spans.len(), 101);
    assert_eq!(times(&spans[0]), [0, -1, -1, 0, -1]);
    assert!(
        spans[1..]
            .iter()
            .all(|span| span.end_ns - span.begin_ns == 4000)
    );
    assert_eq!(
        unmatched(&read),
        [("completion without queue", 1), ("never completed", 1)]
    );
    let (all, _) = read_limited(&[file(super::LITTLE_7, &events)], false, 1000).unwrap();
    assert_eq!(times(&all[0]), [0, -1, -1, 0, 2000]);
}
