//! Tests that the sum of Q2C is the integral of the number in flight.

use crate::{analyze, span};
use proptest::prelude::*;
use q2c_trace::Span;

/// Sum of Q2C, integral, most in flight and busy time, computed by a walk over all instants.
fn walked(ios: &[(u64, u64)]) -> (u128, u128, u64, u64) {
    let end = ios.iter().map(|io| io.1).max().unwrap_or(0);
    let depth = |t: u64| {
        let there = ios.iter().filter(|(from, to)| *from <= t && t < *to);
        there.count() as u64
    };
    let depths: Vec<u64> = (0..end).map(depth).collect();
    (
        ios.iter().map(|(from, to)| u128::from(to - from)).sum(),
        depths.iter().map(|d| u128::from(*d)).sum(),
        depths.iter().copied().max().unwrap_or(0),
        depths.iter().filter(|d| **d > 0).count() as u64,
    )
}

fn spans(ios: &[(u64, u64)]) -> Vec<Span> {
    let one = |(id, (from, to)): (usize, &(u64, u64))| {
        span(id as u64, [*from as i64, -1, -1, -1, *to as i64])
    };
    ios.iter().enumerate().map(one).collect()
}

proptest! {
    #[test]
    fn sum_is_integral(
        mut ios in prop::collection::vec((0..400u64, 1..120u64), 1..60),
        late in any::<bool>(),
    ) {
        ios.iter_mut().for_each(|io| io.1 += io.0);
        if !late {
            ios.sort_unstable();
        }
        let result = analyze(&spans(&ios));
        let (sum, integral, most, busy) = walked(&ios);
        prop_assert_eq!(sum, integral);
        prop_assert_eq!(result.in_flight.sum_q2c_ns, sum);
        prop_assert_eq!(result.in_flight.integral_ns, integral);
        if !late {
            prop_assert_eq!(result.in_flight.most, Some(most));
            let activity = result.activity.unwrap();
            prop_assert_eq!(activity.active_ns, busy);
            prop_assert_eq!(activity.active_ns + activity.idle_ns, result.span_ns);
        }
    }
}

#[test]
fn pauses_by_hand() {
    let s = 1_000_000_000;
    let ios = [(0, 5), (s, s + 5), (s + 100, s + 200), (3 * s, 3 * s + 1)];
    let result = analyze(&spans(&ios));
    let activity = result.activity.unwrap();
    assert_eq!(activity.pauses, 2);
    assert_eq!(activity.longest_idle_ns, 2 * s - 200);
    assert_eq!(activity.active_ns, 5 + 5 + 100 + 1);
}

#[test]
fn an_io_without_end_is_not_in_flight() {
    let result = analyze(&[span(0, [0, 1, -1, -1, -1]), span(1, [10, 11, -1, 12, 20])]);
    let in_flight = result.in_flight;
    assert_eq!((in_flight.sum_q2c_ns, in_flight.most), (10, Some(1)));
}

fn any_time() -> impl Strategy<Value = u64> {
    prop_oneof![0..1000u64, any::<u64>(), Just(u64::MAX)]
}

proptest! {
    /// The sum of Q2C is the integral of the number in flight, for any I/Os.
    #[test]
    fn nothing_is_assumed(
        raw in prop::collection::vec((prop::array::uniform5(any_time()), any::<u64>(), any::<u64>(), any::<bool>()), 1..40),
    ) {
        let one = |(id, (times, sector, bytes, merged))| {
            let [begin_ns, getrq_ns, insert_ns, issue_ns, end_ns]: [u64; 5] = times;
            let merged_into = if merged { 0 } else { u64::MAX };
            Span { begin_ns, getrq_ns, insert_ns, issue_ns, end_ns, sector, bytes, merged_into, ..span(id, [0; 5]) }
        };
        let spans: Vec<Span> = (0..).zip(raw).map(one).collect();
        let result = analyze(&spans);
        prop_assert_eq!(result.in_flight.sum_q2c_ns, result.in_flight.integral_ns);
        prop_assert_eq!(result.requests, spans.len() as u64);
    }
}
