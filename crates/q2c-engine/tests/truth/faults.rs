//! Failed and short I/O is data. It stops a run only if the job asks for that.

use crate::plan::{BLOCK, INTERRUPT, MS, STEPS, SUBMISSION, hybrid, job, plan, run, run_one};
use q2c_engine::engine::EngineError;
use q2c_engine::engines::SimDevices;
use q2c_engine::{Activity, EngineSpec, FailedIo, JobPlan, LaneData, RunError, Wait};
use q2c_model::CpuId;

/// errno 5, include/uapi/asm-generic/errno-base.h.
const EIO: i32 = 5;

fn methods() -> [Wait; 3] {
    [Wait::Poll, Wait::Interrupt, hybrid("fixed:20us")]
}

fn spoilt(fault: &str, wait: Wait) -> LaneData {
    let engine = format!("fault:{fault}:sim:100us");
    run_one(&[60], job(&engine, vec![Activity::Start(wait)]))
}

/// The seventh I/O has number 6, because numbers count from 0.
#[test]
fn a_fault_is_kept_with_its_number_and_offset_and_the_run_goes_on() {
    for (kind, result) in [("eio", -EIO), ("short", BLOCK as i32 / 2)] {
        for wait in methods() {
            let lane = spoilt(&format!("{kind}@7"), wait);
            assert!(lane.ios > 500 && lane.faults == 1, "{kind}: {lane:?}");
            let fault = FailedIo {
                nth: 6,
                offset: lane.samples[6].offset,
                asked: BLOCK,
                result,
            };
            assert_eq!(lane.first_fault, Some(fault), "{kind}");
            for (i, sample) in lane.samples.iter().enumerate() {
                let wanted = if i == 6 { result } else { BLOCK as i32 };
                assert_eq!(sample.result, wanted, "{kind}");
            }
        }
    }
}

/// The completion is held back from the time at which it would have been seen. An interrupt wakes
/// the sleeping lane for the completion, and another one for its release.
#[test]
fn a_late_completion_is_no_fault_and_takes_its_time() {
    for (wait, interrupts) in methods().into_iter().zip([0, INTERRUPT, 0]) {
        let lane = spoilt("late=10ms@7", wait);
        assert!(lane.ios > 7 && lane.faults == 0, "{lane:?}");
        let in_time = SUBMISSION + 100_000 + interrupts;
        for (i, sample) in lane.samples.iter().enumerate() {
            let late = if i == 6 { 10 * MS + interrupts } else { 0 };
            assert_eq!(sample.u2c().0, in_time + late, "{i}");
        }
    }
}

/// The lane fails about 5 ms after the start. The others finish their I/O or their rest, within 50
/// ms.
#[test]
fn stop_on_fault_ends_the_run_of_all_lanes() {
    for wait in methods() {
        let work = || Activity::Start(Wait::Interrupt);
        let activities = vec![Activity::Start(wait), work()];
        let mut failing = job("fault:eio@50:sim:100us", activities);
        failing.stop_on_fault = true;
        let mut busy = job("sim:100us", vec![work(), work()]);
        busy.cpu = CpuId(1);
        let mut resting = job("null", vec![Activity::Idle, work()]);
        resting.cpu = CpuId(2);
        let data = run(plan(&[10_000, 10_000], vec![failing, busy, resting])).unwrap();
        assert!(data.stopped && data.lanes.iter().all(|l| l.phases.len() == 1));
        let ends = data.lanes.iter().map(|l| l.phases[0].end.t_ns);
        assert!(ends.max().unwrap() < data.start_ns + 51 * MS);
        let lane = &data.lanes[0];
        // The faulty I/O is the lane's last.
        assert_eq!((lane.ios, lane.faults), (50, 1));
        let first = lane.first_fault.map(|f| (f.nth, f.result));
        assert_eq!(first, Some((49, -EIO)));
        assert_eq!((data.lanes[1].faults, data.lanes[2].ios), (0, 0));
    }
}

/// The other three requests in flight still come back.
#[test]
fn deep_lanes_keep_faults_too() {
    let engine = "fault:short@9:sim:200us,servers=4";
    let mut job = job(engine, vec![Activity::Start(Wait::Poll)]);
    (job.depth, job.stop_on_fault) = (4, true);
    let data = run(plan(&[10_000], vec![job])).unwrap();
    let lane = &data.lanes[0];
    assert!(data.stopped && lane.faults == 1);
    assert_eq!(lane.first_fault.map(|f| f.nth), Some(8));
    assert_eq!(lane.samples[8].result, BLOCK as i32 / 2);
    assert_eq!(lane.ios, 12);
}

/// The error that ends the run of a lane of this depth, for each way of waiting.
fn lane_errors(engine: &str, depth: u16) -> [EngineError; 3] {
    methods().map(|wait| {
        let job = JobPlan {
            depth,
            ..job(engine, vec![Activity::Start(wait)])
        };
        match run(plan(&[10], vec![job])) {
            Err(RunError::Lane { source, .. }) => source,
            other => panic!("{engine}: {other:?}"),
        }
    })
}

/// The run ends when nothing else is in flight: at depth 1 at once, else at its end. Without
/// faults, the same seed gives the same offsets.
#[test]
fn a_request_that_never_completes_ends_the_run_and_is_named() {
    for depth in [1, 4] {
        let engine = format!("sim:100us,servers={depth}");
        let sound = JobPlan {
            depth,
            ..job(&engine, vec![Activity::Start(Wait::Poll)])
        };
        let seventh = run_one(&[10], sound).samples[6].offset;
        for error in lane_errors(&format!("fault:hang@7:{engine}"), depth) {
            let EngineError::NeverCompletes(request) = error else {
                panic!("{error}");
            };
            assert_eq!((request.offset, request.length), (seventh, BLOCK));
        }
    }
}

#[test]
fn a_completion_that_comes_twice_ends_the_run() {
    for depth in [1, 4] {
        let engine = format!("fault:twice@7:sim:100us,servers={depth}");
        for error in lane_errors(&engine, depth) {
            assert!(matches!(error, EngineError::CompletedTwice(_)), "{error}");
        }
    }
}

/// Of two requests on two servers the one that was submitted second is seen first, and so without
/// the submission that comes before it otherwise. The first is seen behind one more submission.
#[test]
fn a_swapped_completion_comes_behind_the_next() {
    let two = |engine: &str| {
        let job = JobPlan {
            depth: 2,
            ..job(engine, vec![Activity::Start(Wait::Interrupt)])
        };
        run_one(&[1], job)
    };
    let (sound, swapped) = (
        two("sim:100us,servers=2"),
        two("fault:swap@1:sim:100us,servers=2"),
    );
    let offsets = |lane: &LaneData| [lane.samples[0].offset, lane.samples[1].offset];
    let [first, second] = offsets(&sound);
    assert_eq!(offsets(&swapped), [second, first]);
    let u2c = |lane: &LaneData, i: usize| lane.samples[i].u2c().0;
    assert_eq!(u2c(&swapped, 0) + STEPS, u2c(&sound, 1));
    assert_eq!(u2c(&swapped, 1), u2c(&swapped, 0) + 2 * STEPS);
    // Nothing else is in flight at depth 1.
    let alone = |engine: &str| run_one(&[1], job(engine, vec![Activity::Start(Wait::Poll)]));
    let swapped = alone("fault:swap@1:sim:100us");
    assert_eq!(swapped.samples, alone("sim:100us").samples);
}

/// In real time nothing would end the wait.
#[test]
fn what_never_completes_is_refused_in_real_time() {
    let spec: EngineSpec = "fault:hang@7:sim:100us".parse().unwrap();
    let medium = SimDevices::default().medium(&spec).unwrap();
    let refused = spec.open(&medium, 1, BLOCK as usize, 1).err();
    assert!(matches!(refused, Some(EngineError::OnlySimulated(_))));
}
