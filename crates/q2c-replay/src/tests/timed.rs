//! Timed and closed mode.

use super::trace::{TestRequest, drawn, few_cases, in_folder, on_trace, requests};
use super::{facts, replayed};
use proptest::prelude::*;
use q2c_model::replay::{LaneBy, Mode};
use q2c_model::{IoRecord, Nanos};
use std::collections::BTreeSet;
use std::path::Path;

proptest! {
    #![proptest_config(few_cases())]

    #[test]
    fn timed_keeps_every_time_and_speed_divides_it(drawn in drawn(), service in 1u64..3000) {
        let requests = requests(&drawn);
        let due = |r: &TestRequest| (r.start_ns - requests[0].start_ns, r.block * 4096);
        let due: Vec<(u64, u64)> = requests.iter().map(due).collect();
        in_folder(&requests, |trace| {
            // There are as many servers as requests, so nothing waits.
            let once = replayed(trace, Mode::Timed { speed: 1.0 }, vec![service], 256);
            if once.counts.capped == 0 {
                let submitted = once.log.iter().map(|(at, offset, _)| (*at, *offset));
                let submitted: Vec<(u64, u64)> = submitted.collect();
                prop_assert_eq!(&submitted, &due);
                prop_assert_eq!(once.counts.lateness_ns.greatest(), 0);
            }
            let twice = replayed(trace, Mode::Timed { speed: 2.0 }, vec![1], 256);
            let half: Vec<u64> = due.iter().map(|(at, _)| at.div_ceil(2)).collect();
            prop_assert_eq!(twice.times(), half);
            Ok(())
        })?;
    }

    #[test]
    fn a_replay_of_a_replays_record_has_the_same_schedule(drawn in drawn(), service in 1u64..300) {
        let requests = requests(&drawn);
        let timed = |trace: &Path| replayed(trace, Mode::Timed { speed: 1.0 }, vec![service], 256);
        let first = in_folder(&requests, timed);
        let second = on_trace(&first.records, timed);
        prop_assert_eq!(first.log, second.log);
    }
}

/// A time that goes back is replaced by that of the previous request; the order stays.
#[test]
fn time_never_goes_back() {
    let times = (0..).zip([1000, 1100, 1050, 1100, 1200]);
    let requests: Vec<TestRequest> = times.map(|(n, ns)| TestRequest::new(ns, 1, n)).collect();
    in_folder(&requests, |trace| {
        let facts = facts(trace);
        assert_eq!((facts.back_in_time, facts.length()), (1, Nanos(200)));
        let done = replayed(trace, Mode::Timed { speed: 1.0 }, vec![1], 8);
        let submitted = done.log.iter().map(|(at, offset, _)| (*at, offset / 4096));
        let submitted: Vec<(u64, u64)> = submitted.collect();
        assert_eq!(submitted, [(0, 0), (100, 1), (100, 2), (100, 3), (200, 4)]);
    });
}

proptest! {
    #![proptest_config(few_cases())]

    #[test]
    fn a_lane_has_one_in_flight_and_thinks_as_recorded(drawn in drawn(), service in 1u64..3000) {
        let requests = requests(&drawn);
        let mode = Mode::Closed { lane: LaneBy::Lane };
        let done = in_folder(&requests, |trace| replayed(trace, mode, vec![service], 256));
        prop_assert_eq!(done.log.len(), requests.len());
        for lane in 0..4 {
            let recorded: Vec<&TestRequest> = requests.iter().filter(|r| r.lane == lane).collect();
            let number = done_lane(&requests, lane);
            let records = done.records.iter().filter(|r| r.lane == number);
            let mut records: Vec<&IoRecord> = records.collect();
            records.sort_by_key(|r| r.submit_ns);
            for (pair, recorded) in records.windows(2).zip(recorded.windows(2)) {
                let think = recorded[1].start_ns.saturating_sub(recorded[0].end_ns());
                let gap = pair[1].submit_ns.unwrap().0 - pair[0].reap_ns.unwrap().0;
                prop_assert_eq!(gap, think);
            }
        }
    }
}

/// The number of a lane of the trace: lanes are numbered in the order in which they appear.
fn done_lane(requests: &[TestRequest], lane: u32) -> u32 {
    let before = requests.iter().take_while(|request| request.lane != lane);
    let before: BTreeSet<u32> = before.map(|request| request.lane).collect();
    before.len() as u32
}
