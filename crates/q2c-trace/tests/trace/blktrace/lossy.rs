//! Records lost in the middle: the remaining times are right, and the loss is counted.

use super::encode::{E, e};
use super::expect::{events, expect};
use super::{lives, times, unmatched};

/// Index of the lost event, the I/O's remaining times, and the reasons counted as unmatched.
type LossyCase = (usize, [i64; 5], &'static [(&'static str, u64)]);

#[test]
fn any_one_record_of_a_life_may_be_lost() {
    let wanted: [LossyCase; 5] = [
        (0, [-1, 2, 3, 4, 5], &[("request without queue", 1)]),
        (1, [1, -1, 3, 4, 5], &[]),
        (2, [1, 2, -1, 4, 5], &[]),
        (3, [1, 2, 3, -1, 5], &[]),
        (4, [1, 2, 3, 4, -1], &[("never completed", 1)]),
    ];
    for (lost, times_wanted, reasons) in wanted {
        // An earlier I/O shows that the trace has Q for this device.
        let mut events: Vec<E> = events(&["800+8 0Q 0C", "8+8 1Q 2G 3I 4D 5C"]);
        for (at, event) in events.iter_mut().enumerate() {
            event.sequence = Some(at as u32 + 1);
        }
        events.remove(2 + lost);
        let (spans, read) = lives(&events);
        assert_eq!(times(&spans[1]), times_wanted, "{lost}");
        assert_eq!(unmatched(&read), reasons, "{lost}");
        assert_eq!(read.losses.lost, u64::from(lost != 4), "{lost}");
    }
}

#[test]
fn nothing_known_of_a_completion() {
    expect(
        &["8+8 1Q 3C 4R", "800+8 2C"],
        "1 - - - 3",
        "completion without queue 1, requeue without issue 1",
    );
}

/// If the completion of a read is lost, later reads of the same block keep their times.
#[test]
fn a_lost_completion_does_not_shift_later_ones() {
    let mut events = vec![e(0, "Q", 8, 8).seq(1), e(0, "D", 8, 8).seq(2)];
    for n in 1..50 {
        let at = n * 100;
        let number = |k: u64| (4 + (n - 1) * 3 + k) as u32;
        events.extend([
            e(at, "Q", 8, 8).seq(number(0)),
            e(at + 1, "D", 8, 8).seq(number(1)),
            e(at + 30, "C", 8, 8).seq(number(2)),
        ]);
    }
    let (spans, read) = lives(&events);
    assert_eq!(read.losses.lost, 1);
    assert_eq!(times(&spans[0]), [0, -1, -1, 0, -1]);
    for (n, span) in (1..50).zip(&spans[1..]) {
        assert_eq!(times(span), [n * 100, -1, -1, n * 100 + 1, n * 100 + 30]);
    }
    assert_eq!(unmatched(&read), [("never completed", 1)]);
}

#[test]
fn lost_merges_and_splits_are_seen_by_the_lengths() {
    let (spans, _) = expect(
        &["0+8 1Q 2G", "8+8 3Q", "0+16 9D 20C"],
        "1 2 - 9 20; 3 - - 9 20",
        "merge lost 1",
    );
    assert_eq!(spans[1].merged_into, 0);
    expect(
        &["0+16 1Q", "0+8 2G 3D 4C", "8+8 5G 6D 7C"],
        "1 2 - 3 4; 1 5 - 6 7",
        "split lost 1",
    );
    expect(
        &["0+8 1X>8 3Q 4M", "8+8 2M"],
        "3 - - - -",
        "merge without queue 1, merge without request 1, never completed 1, split without queue 1",
    );
}

/// A request that is issued again without a requeue is still one request.
#[test]
fn an_issue_twice_is_one_request() {
    expect(&["8+8 1Q 2D 5D 9C"], "1 - - 5 9", "issue repeated 1");
}
