//! Lives of requests, each with its expected times.

use super::encode::{e, file};
use super::expect::{events, expect};
use super::{lives, read_limited, times, unmatched};
use q2c_model::{Op, OpFlags};
use q2c_trace::recording::RecordedIo;
use q2c_trace::{Span, SplitJoiner};

/// The carrier id of an I/O with its own request.
const NONE: u64 = u64::MAX;

fn carriers(spans: &[Span]) -> Vec<u64> {
    spans.iter().map(|span| span.merged_into).collect()
}

fn ops(spans: &[Span]) -> Vec<Op> {
    spans.iter().map(|span| span.op).collect()
}

#[test]
fn all_stages_of_one_read() {
    let events = ["8+8 1Q 3G 6I 10D 90C@1", "0+0 4P 7U"];
    let (spans, read) = expect(&events, "1 3 6 10 90", "");
    assert_eq!((spans[0].lane, spans[0].depth_at_submit), (0, 1));
    assert_eq!((read.counts.issued, read.counts.completed), (1, 1));
    assert_eq!((read.counts.plugs, read.counts.unplugs), (1, 1));
}

/// A request with only a D is still an I/O after the driver gave it back.
#[test]
fn a_requeue_takes_no_request_away() {
    let (_, read) = expect(&["8+8 1D 2R"], "- - - 1 -", "never completed 1");
    assert_eq!((read.counts.ios, read.counts.requeues), (1, 1));
    expect(&["8+8 1D 2R 5D 9C"], "- - - 5 9", "");
}

/// It is still an I/O if it is then merged into a request without a known end.
#[test]
fn a_requeue_and_a_merge_take_no_request_away() {
    let (_, read) = expect(
        &["16+8 1D 2R", "8+8 3G", "8+16 4I"],
        "- - - 1 -; - 3 4 - -",
        "merge lost 1, never completed 2",
    );
    assert_eq!((read.counts.ios, read.counts.merged), (2, 1));
}

#[test]
fn merges_behind_and_before_share_the_carriers_issue_and_completion() {
    let (spans, read) = expect(
        &[
            "16+8 1Q 2G",
            "24+8 3Q 4M",
            "8+8 5Q 6F",
            "32+8 7Q 8M",
            "8+32 10I 20D 50C",
        ],
        "1 2 10 20 50; 3 4 - 20 50; 5 6 - 20 50; 7 8 - 20 50",
        "",
    );
    assert_eq!(carriers(&spans), [NONE, 0, 0, 0]);
    let sectors: Vec<u64> = spans.iter().map(|span| span.sector).collect();
    assert_eq!(sectors, [16, 24, 8, 32]);
    assert!(spans.iter().all(|span| span.bytes == 4096));
    let counts = &read.counts;
    assert_eq!((counts.merged, counts.issued, counts.completed), (3, 1, 4));
}

#[test]
fn a_request_merged_into_another_brings_what_it_carries() {
    let (spans, _) = expect(
        &[
            "0+8 1Q 1G",
            "16+8 2Q 2G",
            "24+8 3Q 3M",
            "8+8 4Q 4M",
            // The request 16+16 is merged to the end of 0+16.
            "16+16 5M",
            "0+32 9D 30C",
        ],
        "1 1 - 9 30; 2 5 - 9 30; 3 3 - 9 30; 4 4 - 9 30",
        "",
    );
    assert_eq!(carriers(&spans), [NONE, 0, 0, 0]);
}

#[test]
fn a_split_makes_two_that_were_queued_together() {
    // Older kernels queue the rest of a split again.
    for second_part in ["1024+1024 6G 7D 20C", "1024+1024 4Q 6G 7D 20C"] {
        let (spans, read) = expect(
            &["0+2048 1Q", "0+1024 2X>1024 3G 5D 30C", second_part],
            "1 3 - 5 30; 1 6 - 7 20",
            "",
        );
        assert!(spans.iter().all(|span| span.bytes == 512 * 1024));
        assert!(spans.iter().all(|span| span.flags.contains(OpFlags::SPLIT)));
        assert_eq!(read.counts.splits, 1);
    }
}

/// A bio that may not wait ends without a request, and is queued again.
#[test]
fn a_bio_that_ends_without_a_request_is_not_the_one_queued_again() {
    let refused = "8+8 1Q 2C";
    let again = "8+8 3Q 4G 5D 9C";
    let (_, read) = expect(&[refused, again], "1 - - - 2; 3 4 - 5 9", "");
    assert_eq!(read.counts.without_issue, 1);
}

/// Sum of Q2C in us and number of I/Os: first of the parts, then of the I/Os joined again.
fn sums(lines: &[&str]) -> [(u64, u64); 2] {
    let (spans, _) = lives(&events(lines));
    let (mut parts, mut whole) = ((0, 0), (0, 0));
    let add = |sum: &mut (u64, u64), ns| *sum = (sum.0 + ns / 1000, sum.1 + 1);
    let mut joiner = SplitJoiner::default();
    for span in spans {
        add(&mut parts, span.end_ns - span.begin_ns);
        let io = RecordedIo {
            span,
            key: span.id + 1,
            lead: 0,
            carries: false,
            tid: span.pid,
            comm: [0; 16],
        };
        joiner.push(&io, &mut |io| add(&mut whole, io.q2c_ns));
    }
    joiner.finish(&mut |io| add(&mut whole, io.q2c_ns));
    [parts, whole]
}

/// Two devices do the same reads, from 1 to 41 us and from 60 to 70 us. One takes up to 2048
/// sectors, the other 512. The latter has four parts, of which the last two come from splitting the
/// rest of a split.
#[test]
fn parts_are_put_together_to_what_was_queued() {
    let coarse = ["0+2048 1Q 2G 3D 41C", "4096+8 60Q 61G 62D 70C"];
    let fine = [
        "0+2048 1Q",
        "0+512 2X>512 3G 4D 11C",
        "512+1536 3X>1024",
        "512+512 4G 5D 31C",
        "1024+1024 5X>1536",
        "1024+512 6G 7D 41C",
        "1536+512 7G 8D 21C",
        "4096+8 60Q 61G 62D 70C",
    ];
    // 40 + 10 us; by parts 10 + 30 + 40 + 20 + 10 us.
    assert_eq!(sums(&coarse), [(50, 2), (50, 2)]);
    assert_eq!(sums(&fine), [(110, 5), (50, 2)]);
}

#[test]
fn the_last_issue_counts_after_a_requeue() {
    let events = ["8+8 1Q 2G 3I 4D 6R 7I 9D@2 20C"];
    let (_, read) = expect(&events, "1 2 3 9 20", "");
    assert_eq!((read.counts.requeues, read.counts.issued), (1, 2));
}

#[test]
fn overlapping_reads_and_writes_of_one_sector_are_told_apart() {
    let (spans, _) = expect(
        &[
            "8+8 1Q 7G 10D 22C",
            "8+8 2Q 8G 12D 23C",
            "8+8 write 3Q 5G 11D 21C",
            "8+16 4Q 6G 9D 20C",
        ],
        "1 7 - 10 22; 2 8 - 12 23; 3 5 - 11 21; 4 6 - 9 20",
        "",
    );
    let depths: Vec<u32> = spans.iter().map(|span| span.depth_at_submit).collect();
    assert_eq!(depths, [1, 2, 3, 4]);
}

#[test]
fn flushes_without_sectors_share_the_kernels_own() {
    let (spans, read) = expect(
        &[
            "0+0 write,flush,sync 1Q 2G 31C",
            // A write of sector 0 at the same time is not part of the flush.
            "0+8 write 3Q 3G 4D 40C",
            "0+0 write,flush,sync 5Q 6G 32C",
            "0+0 flush 8D 30C",
        ],
        "1 2 - 8 31; 3 3 - 4 40; 5 6 - 8 32",
        "",
    );
    assert_eq!(ops(&spans), [Op::Flush, Op::Write, Op::Flush]);
    assert_eq!(read.counts.internal_flushes, 1);
}

/// Sequences of block/blk-flush.c: a flush before the data, after it (FUA that the device lacks),
/// or both. The last completion has no length; newer kernels name the sector after the data.
#[test]
fn a_flush_sequence_ends_with_its_last_completion() {
    for last in ["64+0", "72+0", "64+8"] {
        let (spans, read) = expect(
            &[
                "64+8 write,flush 1Q 2G",
                "0+0 flush 3D 9C",
                "64+8 write 10D 20C",
                &format!("{last} write 21C"),
                "128+8 write,fua 30Q 31G",
                "128+8 write 32D 40C",
                "0+0 flush 41D 42R 43D 50C",
                "128+0 write 51C",
            ],
            "1 2 - 10 21; 30 31 - 32 51",
            "",
        );
        assert_eq!(ops(&spans), [Op::Write, Op::Write]);
        let counts = &read.counts;
        assert_eq!((counts.completed, counts.requeues), (2, 1));
        assert_eq!(counts.internal_flushes, 3);
    }
}

/// A device with FUA gets it with the data, and completes once.
#[test]
fn fua_of_the_device_is_no_sequence() {
    expect(&["64+8 write,fua 1Q 2G 3D 20C"], "1 2 - 3 20", "");
    // A stacked device has only bios, and removes PREFLUSH when the flush is done.
    let events = ["253:0/64+8 write,flush 1Q", "253:0/64+8 write 20C"];
    expect(&events, "1 - - - 20", "");
}

/// Two sequences on the same sectors end in their order. A flush without data that waits for the
/// kernel's second flush ends with it.
#[test]
fn sequences_side_by_side_end_with_their_own() {
    expect(
        &[
            "64+8 write,flush 1Q 2G",
            "0+0 write,flush 3Q 3G",
            "64+8 write,flush 4Q 5G",
            "0+0 flush 6D 8C",
            "0+0 write 9C",
            "64+8 write 10D 12C",
            "0+0 write,flush 11Q 11G",
            "64+8 write 13D 16C",
            "64+0 write 14C",
            "64+0 write 18C",
            "0+0 flush 19D 22C",
            "0+0 write 23C",
        ],
        "1 2 - 10 14; 3 3 - 6 9; 4 5 - 13 18; 11 11 - 19 23",
        "",
    );
}

#[test]
fn discards_passthrough_and_bios_of_stacked_devices() {
    let (spans, read) = expect(
        &[
            "0+8000000 write,discard 1Q 2G 3D 9C",
            "0+1 read,passthrough 4I 5D 6C",
            "253:0/500+8 7A 7Q 8C",
        ],
        "1 2 - 3 9; - - 4 5 6; 7 - - - 8",
        "",
    );
    assert_eq!(ops(&spans), [Op::Discard, Op::Other, Op::Read]);
    assert_eq!((read.counts.remaps, read.counts.without_issue), (1, 1));
}

#[test]
fn a_request_may_complete_in_parts() {
    let events = ["0+16 1Q 2G 3D", "0+8 10C", "8+8 20C"];
    let (spans, read) = expect(&events, "1 2 - 3 20", "");
    assert_eq!((read.counts.partial_completions, spans[0].bytes), (1, 8192));
}

#[test]
fn only_issue_and_completion_recorded() {
    expect(&["8+8 3D 9C"], "- - - 3 9", "");
}

/// With a limit of 4, the unfinished first read is handed out when the fifth I/O comes, so its
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
    let later_spans = &mut spans[1..].iter();
    assert!(later_spans.all(|span| span.end_ns - span.begin_ns == 4000));
    let reasons = [("completion without queue", 1), ("never completed", 1)];
    assert_eq!(unmatched(&read), reasons);
    let (unlimited, _) = read_limited(&[file(super::LITTLE_7, &events)], false, 1000).unwrap();
    assert_eq!(times(&unlimited[0]), [0, -1, -1, 0, 2000]);
}
