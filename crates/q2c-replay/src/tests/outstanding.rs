//! Outstanding mode.

use super::trace::{TestRequest, drawn, few_cases, in_folder, on_trace, queued, requests};
use super::{facts, plan, replayed};
use proptest::prelude::*;
use q2c_model::replay::{Count, Idle, Mode};
use q2c_model::{Bytes, IoRecord, Nanos, Op, Sectors};
use std::sync::atomic::{AtomicBool, AtomicU64};

const SQUEEZE: Mode = Mode::Outstanding {
    count: Count::Requests,
    idle: Idle::Squeeze,
};

/// Number of requests in flight just before each request, found by comparing all pairs.
fn profile(requests: &[TestRequest]) -> Vec<usize> {
    let outlasts = |i: usize, j: usize| requests[j].end_ns() > requests[i].start_ns;
    let before = |i| (0..i).filter(|&j| outlasts(i, j)).count();
    (0..requests.len()).map(before).collect()
}

proptest! {
    #![proptest_config(few_cases())]

    #[test]
    fn outstanding_never_exceeds_the_rule(
        drawn in drawn(),
        service in prop::collection::vec(1u64..5000, 1..20),
        servers in 1usize..8,
        keep: bool,
    ) {
        let requests = requests(&drawn);
        let allowed = profile(&requests);
        let idle = if keep { Idle::Keep } else { Idle::Squeeze };
        let mode = Mode::Outstanding { count: Count::Requests, idle };
        let done = in_folder(&requests, |trace| replayed(trace, mode, service, servers));
        prop_assert_eq!(done.log.len(), requests.len());
        for (nth, (request, (_, offset, before))) in requests.iter().zip(&done.log).enumerate() {
            prop_assert_eq!(*offset, request.block * 4096, "in the order of the trace");
            // The requests of a batch are submitted at once, and earlier requests of the batch
            // count as in flight.
            prop_assert!(*before <= allowed[nth], "{} in flight at {}", before, nth);
        }
    }
}

/// Counted by hand: requests of 10 ns that overlap, on a device that takes 100 ns for each.
#[test]
fn outstanding_counted_by_hand() {
    let at = |start_ns, block| TestRequest::new(start_ns, 10, block);
    let requests = [at(0, 0), at(5, 1), at(12, 2), at(1000, 3)];
    let [squeezed, kept] = [Idle::Squeeze, Idle::Keep].map(|idle| {
        let count = Count::Requests;
        let mode = Mode::Outstanding { count, idle };
        in_folder(&requests, |trace| replayed(trace, mode, vec![100], 8))
    });
    // The third request may go when one of the first two is complete, the fourth when nothing is in
    // flight. If idle time is kept, the fourth waits another 978 ns.
    assert_eq!(squeezed.times(), [0, 0, 100, 200]);
    assert_eq!(kept.times(), [0, 0, 100, 200 + 978]);
    assert_eq!(squeezed.counts.sum_u2c_ns, 400);
    // In the trace 0, 1, 1 and 0 requests are in flight before each. Here the first two end
    // together, so none is in flight before the third.
    let counts = &squeezed.counts;
    assert_eq!((counts.in_flight_diff, counts.in_flight_recorded), (1, 2));
}

/// On a similar device the same number of requests is in flight before each as in the trace.
#[test]
fn outstanding_follows_the_profile_of_a_like_device() {
    let mut rng = q2c_model::stats::Rng::new(3);
    let mut start = 0;
    let one = |_| {
        start += rng.below(40_000);
        TestRequest::new(start, 60_000 + rng.below(40_000), rng.below(1 << 20))
    };
    let requests: Vec<TestRequest> = (0..20_000).map(one).collect();
    let service: Vec<u64> = (0..997).map(|n| 60_000 + n * 7919 % 40_000).collect();
    let done = in_folder(&requests, |trace| replayed(trace, SQUEEZE, service, 64));
    let allowed = profile(&requests);
    let pairs = done.log.iter().zip(&allowed);
    let differences = pairs.map(|((.., before), allowed)| before.abs_diff(*allowed));
    let error = differences.sum::<usize>() as f64 / allowed.iter().sum::<usize>() as f64;
    assert!(error < 0.05, "{error}");
    let counted = done.counts.in_flight_diff as f64 / done.counts.in_flight_recorded as f64;
    assert!((counted - error).abs() < 1e-12, "as the thread counts it");
}

/// By hand: in the trace the first request, of eight blocks, ends before the third begins, and the
/// second, of one block, does not. Here the second completes first. One request is then in flight,
/// as in the trace, but eight blocks; so counting blocks waits for the first, too.
#[test]
fn blocks_are_counted_unless_requests_are_asked_for() {
    let record = |(id, (start_ns, end_ns, blocks)): (u64, (u64, u64, u64))| {
        let (sector, bytes) = (Sectors(id * 64), Bytes(blocks * 4096));
        IoRecord {
            complete_ns: Some(Nanos(end_ns)),
            ..queued(id, start_ns, Op::Read, sector, bytes)
        }
    };
    let rows = [(0, 10, 8), (1, 101, 1), (50, 60, 1)];
    let records: Vec<IoRecord> = (0..).zip(rows).map(record).collect();
    let times = |count| {
        let idle = Idle::Squeeze;
        let mode = Mode::Outstanding { count, idle };
        on_trace(&records, |path| replayed(path, mode, vec![300, 100, 50], 8)).times()
    };
    assert_eq!(times(Count::Requests), [0, 0, 100]);
    assert_eq!(times(Count::default()), [0, 0, 300]);
}

/// The thread looks for a millisecond, 20 us per look, then sleeps. All this counts as waiting.
#[test]
fn looking_ends_and_is_no_work() {
    let at = |n: u64| TestRequest::new(n * 1000, 900, n);
    let requests: Vec<TestRequest> = (0..10).map(at).collect();
    in_folder(&requests, |trace| {
        let slow = replayed(trace, SQUEEZE, vec![5_000_000], 1);
        assert_eq!((slow.polls, slow.counts.end_ns), (500, 50_000_000));
        let fast = replayed(trace, SQUEEZE, vec![100_000], 1);
        assert_eq!((fast.polls, fast.counts.end_ns), (50, 1_000_000));
        assert_eq!(fast.counts.waited_ns, fast.counts.end_ns);
    });
}

#[test]
fn a_trace_without_completions_says_how_to_get_them() {
    let facts = on_trace(&[queued(0, 1, Op::Read, Sectors(0), Bytes(512))], facts);
    let (stop, clock) = (AtomicBool::new(false), q2c_sys::Clock::new().into());
    let read = AtomicU64::new(0);
    let refused = crate::replay(&plan(SQUEEZE), &facts, &clock, None, &read, &stop);
    let message = refused.unwrap_err().to_string();
    assert!(message.contains("found 0 of 1") && message.contains("--record"));
}
