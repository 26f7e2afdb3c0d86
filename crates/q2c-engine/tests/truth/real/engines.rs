//! Tests on a real disk: context switches and CPU time of each interface's ways of waiting.

use super::cpu;
use super::disk::{all_sleep_once, assert_switched, on_disk};
use crate::plan::hybrid;
use q2c_engine::engine::Waits;
use q2c_engine::{Sample, Wait};
use q2c_policy::method::Means;

/// All asynchronous interfaces. The one with a helper that spins needs a second CPU.
fn asynchronous() -> Vec<String> {
    let mut engines = ["io_uring", "libaio", "libaio:reap=kernel"]
        .map(str::to_owned)
        .to_vec();
    if cpu(0) == cpu(1) {
        skip("one CPU alone: no room for a helper thread");
    } else {
        engines.push(engine_with_helper());
    }
    engines
}

fn engine_with_helper() -> String {
    format!("io_uring:sqpoll,cpu={}", cpu(1).0)
}

fn skip(reason: &str) {
    q2c_testkit::skip("engines_on_disk", reason);
}

/// A wait for the interrupt is one switch per I/O, except if an I/O completes before the thread
/// could leave the CPU.
#[test]
fn interrupts_switch_and_polling_does_not() {
    for engine in &asynchronous() {
        let slept = match on_disk(engine, 1, Wait::Interrupt) {
            Ok((_, stats)) => stats,
            Err(reason) => return skip(&reason),
        };
        assert!(slept.ios > 0, "{engine}");
        assert_switched(&slept);
        let (_, looked) = on_disk(engine, 1, Wait::Poll).expect("as before");
        assert!(looked.ios > 0, "{engine}");
        let most = looked.ios / 10 + 3;
        assert!(looked.voluntary <= most, "{engine}: {looked:?}");
    }
}

/// With one call per I/O there is no time between submission and completion, and the call sleeps.
#[test]
fn a_call_is_submission_and_waiting_in_one() {
    let (lane, stats) = match on_disk("pvsync2", 1, Wait::Interrupt) {
        Ok(done) => done,
        Err(reason) => return skip(&reason),
    };
    assert_eq!(lane.facts.waits, Waits::Never);
    let one_call = |s: &Sample| s.is(Sample::ONE_CALL) && s.submit_len_ns == 0 && s.wait_ns > 0;
    assert!(lane.samples.iter().all(one_call));
    assert_switched(&stats);
    let (lane, _) = on_disk("pvsync2:hipri", 1, Wait::Poll).expect("as before");
    assert!(lane.ios > 0 && lane.samples.iter().all(one_call));
    let how = (lane.facts.polls_by, lane.facts.flags);
    assert_eq!(how, (Means::Call, "RWF_HIPRI"));
}

/// A timed sleep lasts to its end, whether the completion comes by a ring of the kernel or of the
/// library: one switch per I/O that slept.
#[test]
fn a_sleep_lasts_whatever_completes_meanwhile() {
    for engine in &asynchronous()[1..] {
        match on_disk(engine, 1, hybrid("fixed:150us")) {
            Ok((lane, stats)) => all_sleep_once(&lane, &stats),
            Err(reason) => return skip(&reason),
        }
    }
}

/// Little's law, except for the first and last requests.
#[test]
fn depth_is_kept_by_every_interface() {
    for engine in &asynchronous() {
        for wait in [Wait::Interrupt, Wait::Poll, hybrid("fixed:20us")] {
            let (lane, stats) = match on_disk(engine, 16, wait) {
                Ok(done) => done,
                Err(reason) => return skip(&reason),
            };
            assert_eq!((lane.faults, lane.first_fault), (0, None), "{engine}");
            let in_flight = stats.iops() * q2c_model::stats::mean(&stats.latencies) / 1e9;
            assert!((13.0..16.2).contains(&in_flight), "{engine}: {in_flight}");
        }
    }
}

/// The kernel's helper thread takes each request from the ring. Its CPU time is counted separately
/// from the lane's.
#[test]
fn a_helpers_cpu_is_charged() {
    let (lane, stats) = match on_disk(&engine_with_helper(), 1, Wait::Interrupt) {
        Ok(done) => done,
        Err(reason) => return skip(&reason),
    };
    assert!(lane.facts.helper.is_some() && lane.facts.flags == "SQPOLL|SQ_AFF");
    assert!(stats.helper_cpu_ns > 0, "{stats:?}");
    let (lane, stats) = on_disk("io_uring", 1, Wait::Interrupt).expect("as before");
    assert_eq!((lane.facts.helper, stats.helper_cpu_ns), (None, 0));
}

/// Without poll queues every request fails and the error is explained; an old kernel uses the
/// interrupt instead.
#[test]
fn polling_without_poll_queues_names_them() {
    let lane = match on_disk("io_uring:iopoll", 1, Wait::Poll) {
        Ok((lane, _)) => lane,
        Err(reason) => return skip(&reason),
    };
    let how = (lane.facts.polls_by, lane.facts.waits);
    assert_eq!(how, (Means::IoPoll, Waits::Polling));
    match lane.first_fault {
        None => assert!(lane.ios > 0),
        Some(fault) => {
            let cause = lane.facts.cause(fault.result);
            let names = cause.is_some_and(|cause| cause.contains("nvme.poll_queues"));
            assert!(names, "{fault:?}");
        }
    }
}
