//! Closed mode.

use super::replayed;
use super::trace::{Traced, drawn, few_cases, in_folder, requests};
use proptest::prelude::*;
use q2c_model::IoRecord;
use q2c_model::replay::{LaneBy, Mode};
use std::collections::BTreeSet;

proptest! {
    #![proptest_config(few_cases())]

    #[test]
    fn a_lane_has_one_in_flight_and_thinks_as_recorded(drawn in drawn(), service in 1u64..3000) {
        let requests = requests(&drawn);
        let mode = Mode::Closed { lane: LaneBy::Lane };
        let done = in_folder(&requests, |trace| replayed(trace, mode, vec![service], 256));
        prop_assert_eq!(done.log.len(), requests.len());
        for lane in 0..4 {
            let recorded: Vec<&Traced> = requests.iter().filter(|r| r.lane == lane).collect();
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

/// The number that a lane of the trace got: lanes are numbered in the order in which they appear.
fn done_lane(requests: &[Traced], lane: u32) -> u32 {
    let before = requests.iter().take_while(|request| request.lane != lane);
    let before: BTreeSet<u32> = before.map(|request| request.lane).collect();
    before.len() as u32
}
