//! Conditions under which figures become inexact, on hand-made I/Os.

use super::stored::read;
use super::{feed, finished, same_but_for_the_inexact};
use crate::Analyzer;
use q2c_model::Layer;
use q2c_result::analyze::{AnalyzeResult, InexactFigure, InexactMark, InexactReason};
use q2c_trace::Span;

fn first(spans: &[Span]) -> Analyzer {
    feed(Analyzer::new(Layer::Block), spans, 50)
}

fn later_part(spans: &[Span], head: usize) -> Analyzer {
    feed(Analyzer::part_with_head(Layer::Block, head), spans, 50)
}

fn joined(one: Analyzer, next: Analyzer) -> AnalyzeResult {
    finished(one.append(next).expect("one layer"))
}

fn mark(figure: InexactFigure, reason: InexactReason, joins: u64) -> InexactMark {
    InexactMark {
        figure,
        reason,
        joins,
    }
}

/// One I/O lasts from 0 to 1,000. From 100 on, others come every 10 ns and take 5 ns. Four of them
/// are in the head, at whose end it is unknown that the long one is still in flight.
#[test]
fn an_io_that_lasts_beyond_the_head_is_told() {
    let mut long = read(0, 0, 1_000);
    long.hctx = 1;
    let short: Vec<Span> = (1..40).map(|n| read(n, 90 + 10 * n, 95 + 10 * n)).collect();
    let with_long = |head| joined(first(&[long]), later_part(&short, head));
    let result = with_long(4);
    let both = [InexactFigure::Activity, InexactFigure::OverLoad];
    let expected = both.map(|figure| mark(figure, InexactReason::LongIo, 1));
    assert_eq!(result.inexact, expected);
    assert_eq!(result.in_flight.most, Some(2));
    assert_eq!(result.in_flight.integral_ns, 1_000 + 39 * 5);
    // If all of them are in the head, all figures are exact.
    let result = with_long(40);
    assert_eq!(result.inexact, []);
    assert_eq!(result.activity.expect("it is known").idle_ns, 0);
    // Above, the long I/O had its own queue. On the queue of the others, the tags are inexact too.
    let same_queue = Span { hctx: 0, ..long };
    let result = joined(first(&[same_queue]), later_part(&short, 4));
    let tags = mark(InexactFigure::Tags, InexactReason::LongIo, 1);
    assert!(result.inexact.contains(&tags), "{:?}", result.inexact);
}

fn of_processes(pids: std::ops::Range<u32>) -> Vec<Span> {
    let one = |pid: u32| Span {
        pid,
        ..read(u64::from(pid), 10 * u64::from(pid), 10 * u64::from(pid) + 5)
    };
    pids.map(one).collect()
}

/// There are groups for 512 processes. A later part with fewer is exact, even if both together have
/// more, because the first 512 are known. A later part with `others` of its own is not exact.
#[test]
fn groups_are_exact_until_a_later_part_has_too_many() {
    let ios = of_processes(0..1_500);
    let (one, two) = ios.split_at(400);
    let whole = |spans: &[Span]| finished(first(spans));
    let merged = joined(first(one), later_part(&two[..500], 9));
    let processes = &merged.groups["process"];
    assert_eq!(processes.len(), 513);
    assert_eq!(processes[512].requests, 900 - 512);
    assert_eq!(same_but_for_the_inexact(merged, whole(&ios[..900])), []);
    let result = joined(first(one), later_part(two, 9));
    let overflow = mark(InexactFigure::Groups, InexactReason::Overflow, 1);
    assert_eq!(result.inexact, [overflow]);
    let count = |groups: &[q2c_result::analyze::Group]| -> u64 {
        groups.iter().map(|group| group.requests).sum()
    };
    assert_eq!(count(&result.groups["process"]), 1_500);
}

/// The tables hold 4,096 hardware queues. The I/Os of one more are left out, in one pass too.
#[test]
fn too_many_queues_are_told() {
    let of_queue = |hctx: u32| Span {
        hctx,
        getrq_ns: 10 * u64::from(hctx),
        ..read(
            u64::from(hctx),
            10 * u64::from(hctx),
            10 * u64::from(hctx) + 5,
        )
    };
    let ios: Vec<Span> = (0..4_097).map(of_queue).collect();
    assert_eq!(finished(first(&ios[..4_096])).inexact, []);
    let both = [InexactFigure::Tags, InexactFigure::Queues];
    let expected = both.map(|figure| mark(figure, InexactReason::Overflow, 1));
    assert_eq!(finished(first(&ios)).inexact, expected);
    let (one, two) = ios.split_at(4_000);
    assert_eq!(joined(first(one), later_part(two, 9)).inexact, expected);
}

/// The excerpt has 96 I/Os before and 96 after the slowest, wherever the trace is cut.
#[test]
fn the_slowest_stands_among_its_neighbours() {
    let cuts = [500, 530, 600, 601, 650, 697].map(|cut| (600, cut));
    for (slowest, cut) in cuts.into_iter().chain([(880, 200), (880, 899)]) {
        let took = |n: u64| if n == slowest { 7 } else { 3 + n % 3 };
        let ios = (0..900).map(|n| read(n, 10 * n, 10 * n + took(n)));
        let ios: Vec<Span> = ios.collect();
        let (one, two) = ios.split_at(cut);
        // A third part cuts the I/Os after the slowest once more.
        let (two, three) = two.split_at(two.len() / 20);
        for head in [0, 20, 500] {
            let both = first(one).append(later_part(two, head)).expect("one layer");
            let result = joined(both, later_part(three, head));
            let excerpt = result.excerpts.iter().find(|part| part.what == "slowest");
            let ids: Vec<u64> = excerpt.expect("it").ios.iter().map(|io| io.id).collect();
            let wanted: Vec<u64> = (slowest - 96..(slowest + 97).min(900)).collect();
            assert_eq!(ids, wanted, "slowest {slowest}, cut {cut}, head {head}");
            let start = result.excerpts.iter().find(|part| part.what == "start");
            assert_eq!(start.expect("it").ios.len(), 384);
        }
    }
}

/// Eight jobs on a queue of four requests of 100 ns: nearly always, all four are in use.
fn full_queue() -> Vec<Span> {
    let (mut free_at, mut ready_at) = ([0u64; 4], [0u64; 8]);
    let mut spans = Vec::new();
    for round in 0..12 {
        for (job, at) in (0..).zip(&mut ready_at) {
            let request_free = free_at.iter_mut().min().expect("four of them");
            let getrq = (*at + 5).max(*request_free);
            spans.push(Span {
                getrq_ns: getrq,
                issue_ns: getrq + 10,
                ..read(8 * round + job, *at, getrq + 100)
            });
            *request_free = getrq + 100;
            // Every other round begins with a pause in which requests become free.
            *at = getrq + 120 + round % 2 * (30 * job);
        }
    }
    spans.sort_by_key(|span| span.begin_ns);
    spans
}

#[test]
fn waits_for_requests_go_on_over_a_cut() {
    let spans = full_queue();
    let whole = finished(first(&spans));
    assert_eq!(whole.tags[0].most, 4);
    assert!(whole.tags[0].q2g_at_most_ns > 0);
    for (cut, head) in (0..spans.len()).flat_map(|cut| [3, 16, 24].map(|head| (cut, head))) {
        let (one, two) = spans.split_at(cut);
        let result = joined(first(one), later_part(two, head));
        let inexact = same_but_for_the_inexact(result, whole.clone());
        let as_expected = inexact.is_empty() || head < 16;
        assert!(as_expected, "cut {cut}, head {head}: {inexact:?}");
    }
}

/// The second part begins at 50, before the first part's last I/O at 60.
#[test]
fn parts_out_of_order_are_told() {
    let one = [read(0, 0, 10), read(1, 60, 70)];
    let two: Vec<Span> = (2..9).map(|n| read(n, 30 + 10 * n, 35 + 10 * n)).collect();
    let result = joined(first(&one), later_part(&two, 0));
    let figures: Vec<InexactFigure> = result.inexact.iter().map(|mark| mark.figure).collect();
    let order = [
        InexactFigure::MostInFlight,
        InexactFigure::Activity,
        InexactFigure::OverLoad,
        InexactFigure::Tags,
        InexactFigure::Seeks,
    ];
    assert_eq!(figures, order);
    let mut marks = result.inexact.iter();
    assert!(marks.all(|mark| mark.reason == InexactReason::Order));
    // The head holds all I/Os of the second part, so the first part continues as one pass does.
    assert_eq!(joined(first(&one), later_part(&two, 3)).inexact, []);
}

/// Only the first part knows when the trace begins.
#[test]
fn the_excerpt_of_a_window_is_that_of_the_first_part() {
    let mut one = Analyzer::new(Layer::Block);
    one.set_excerpt_window(0..1_000);
    one.update(&[read(0, 0, 10)]);
    let result = joined(one, later_part(&[read(1, 20, 30), read(2, 40, 50)], 1));
    let window = mark(InexactFigure::Excerpts, InexactReason::Window, 1);
    assert_eq!(result.inexact, [window]);
}
