//! Failed and short I/O is data. It stops a run only where that was asked for.

use crate::plan::{BLOCK, alone, cpu, hybrid, job, median_of, plan, run};
use q2c_engine::{Activity, Fault, LaneData, Wait};
use std::time::{Duration, Instant};

/// errno 5, include/uapi/asm-generic/errno-base.h.
const EIO: i32 = 5;

fn methods() -> [Wait; 3] {
    [Wait::Poll, Wait::Interrupt, hybrid("fixed:20us")]
}

fn spoilt(fault: &str, wait: Wait) -> LaneData {
    let engine = format!("fault:{fault}:sim:100us");
    let mut data =
        run(plan(&[60], vec![job(&engine, vec![Activity::Start(wait)])])).expect("a run");
    data.lanes.remove(0)
}

/// The seventh I/O has number 6.
#[test]
fn a_fault_is_kept_with_its_number_and_offset_and_the_run_goes_on() {
    alone(
        "a_fault_is_kept_with_its_number_and_offset_and_the_run_goes_on",
        || {
            for (kind, result) in [("eio", -EIO), ("short", BLOCK as i32 / 2)] {
                for wait in methods() {
                    let lane = spoilt(&format!("{kind}@7"), wait);
                    assert!(lane.ios > 7 && lane.faults == 1, "{kind}: {lane:?}");
                    let offset = lane.samples[6].offset;
                    let fault = Fault {
                        nth: 6,
                        offset,
                        asked: BLOCK,
                        result,
                    };
                    assert_eq!(lane.first_fault, Some(fault), "{kind}");
                    for (i, sample) in lane.samples.iter().enumerate() {
                        assert_eq!(
                            sample.result,
                            if i == 6 { result } else { BLOCK as i32 },
                            "{kind}"
                        );
                    }
                }
            }
        },
    );
}

#[test]
fn a_late_completion_is_no_fault_and_takes_its_time() {
    alone("a_late_completion_is_no_fault_and_takes_its_time", || {
        for wait in methods() {
            let lane = spoilt("late=10ms@7", wait);
            assert!(lane.ios > 7 && lane.faults == 0, "{lane:?}");
            // At least 10 ms and the service time, less 500 ppm of slew between the clocks.
            assert!(
                lane.samples[6].u2c().0 >= 10_094_000,
                "{:?}",
                lane.samples[6]
            );
            let median = median_of(lane.samples.iter().map(|s| s.u2c().0));
            assert!(median < 5_000_000.0, "the others are not late: {median} ns");
        }
    });
}

#[test]
fn stop_on_fault_ends_the_run_of_all_lanes() {
    alone("stop_on_fault_ends_the_run_of_all_lanes", || {
        for wait in methods() {
            let work = || Activity::Start(Wait::Interrupt);
            let mut failing = job(
                "fault:eio@50:sim:100us",
                vec![Activity::Start(wait), work()],
            );
            failing.stop_on_fault = true;
            let mut busy = job("sim:100us", vec![work(), work()]);
            busy.cpu = cpu(1);
            let resting = job("null", vec![Activity::Idle, work()]);
            let start = Instant::now();
            let data = run(plan(&[10_000, 10_000], vec![failing, busy, resting])).unwrap();
            assert!(
                start.elapsed() < Duration::from_secs(2),
                "{:?}",
                start.elapsed()
            );
            assert!(data.stopped && data.lanes.iter().all(|l| l.phases.len() == 1));
            let lane = &data.lanes[0];
            assert_eq!(
                (lane.ios, lane.faults),
                (50, 1),
                "the faulty one is its last"
            );
            assert_eq!(
                lane.first_fault.map(|f| (f.nth, f.result)),
                Some((49, -EIO))
            );
            assert_eq!((data.lanes[1].faults, data.lanes[2].ios), (0, 0));
        }
    });
}

#[test]
fn deep_lanes_keep_faults_too() {
    alone("deep_lanes_keep_faults_too", || {
        let mut job = job(
            "fault:short@9:sim:200us,servers=4",
            vec![Activity::Start(Wait::Poll)],
        );
        (job.depth, job.stop_on_fault) = (4, true);
        let data = run(plan(&[10_000], vec![job])).unwrap();
        let lane = &data.lanes[0];
        assert!(data.stopped && lane.faults == 1);
        assert_eq!(lane.first_fault.map(|f| f.nth), Some(8));
        assert_eq!(lane.samples[8].result, BLOCK as i32 / 2);
        // The requests in flight came back: at most three more.
        assert!((9..=12).contains(&lane.ios), "{}", lane.ios);
    });
}
