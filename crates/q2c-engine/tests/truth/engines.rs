//! Tests on a real disk: what each interface's ways of waiting cost in context switches and CPU.

use crate::disk::{SIZE, target};
use crate::plan::{SWITCHES, alone, cpu, hybrid, job, plan, run};
use q2c_engine::engine::Waits;
use q2c_engine::measure::{PhaseStats, phase_stats};
use q2c_engine::{Activity, JobPlan, LaneData, Medium, RunError, Sample, Wait};
use q2c_model::Bytes;
use q2c_policy::method::Means;
use std::sync::Arc;

/// The results of one lane on a file in half a second, or the reason why they cannot be had here.
fn on_disk(engine: &str, depth: u16, wait: Wait) -> Result<(LaneData, PhaseStats), String> {
    let Some(file) = target() else {
        return Err("the file system of the target folder has no O_DIRECT".to_owned());
    };
    let job = JobPlan {
        medium: Medium::File(Arc::new(file)),
        span: Bytes(SIZE as u64),
        depth,
        ..job(engine, vec![Activity::Start(wait)])
    };
    let mut data = match run(plan(&[500], vec![job])) {
        Ok(data) => data,
        Err(RunError::Lane { source, .. }) => return Err(source.to_string()),
        Err(e) => panic!("{e}"),
    };
    let lane = data.lanes.remove(0);
    assert_eq!((lane.faults, lane.first_fault), (0, None), "{engine}");
    let stats = phase_stats(&lane, 0);
    Ok((lane, stats))
}

/// All interfaces that have requests in flight. One with a helper that spins needs a second CPU.
fn asynchronous() -> Vec<String> {
    let plain = ["io_uring", "libaio", "libaio:reap=kernel"].map(str::to_owned);
    let mut all = plain.to_vec();
    match cpu(0) == cpu(1) {
        true => skip("one CPU alone: no room for a helper thread"),
        false => all.push(helped()),
    }
    all
}

fn helped() -> String {
    format!("io_uring:sqpoll,cpu={}", cpu(1).0)
}

fn skip(reason: &str) {
    q2c_testkit::skip("engines_on_disk", reason);
}

/// A wait for the interrupt is one switch per I/O, except for I/Os that are complete before the
/// thread could give up the CPU.
#[test]
fn interrupts_switch_and_polling_does_not() {
    alone("interrupts_switch_and_polling_does_not", || {
        for engine in &asynchronous() {
            let slept = match on_disk(engine, 1, Wait::Interrupt) {
                Ok((_, stats)) => stats,
                Err(reason) => return skip(&reason),
            };
            assert!(slept.ios > 200, "{engine}: {}", slept.ios);
            let switches = slept.switches_per_io();
            assert!(SWITCHES.contains(&switches), "{engine}: {switches}");
            let (_, looked) = on_disk(engine, 1, Wait::Poll).expect("as before");
            assert!(looked.ios > 200, "{engine}: {}", looked.ios);
            assert!(looked.switches_per_io() < 0.05, "{engine}: {looked:?}");
        }
    });
}

/// With one call per I/O there is no time between submission and completion, and the call sleeps.
#[test]
fn a_call_is_submission_and_waiting_in_one() {
    alone("a_call_is_submission_and_waiting_in_one", || {
        let (lane, stats) = match on_disk("pvsync2", 1, Wait::Interrupt) {
            Ok(done) => done,
            Err(reason) => return skip(&reason),
        };
        assert_eq!(lane.facts.waits, Waits::Not);
        let one_call = |s: &Sample| s.is(Sample::ONE_CALL) && s.submit_len_ns == 0 && s.wait_ns > 0;
        assert!(lane.samples.iter().all(one_call));
        let switches = stats.switches_per_io();
        assert!(SWITCHES.contains(&switches), "{switches}");
        let (lane, _) = on_disk("pvsync2:hipri", 1, Wait::Poll).expect("as before");
        assert!(lane.ios > 200 && lane.samples.iter().all(one_call));
        assert_eq!(
            (lane.facts.polls_by, lane.facts.flags),
            (Means::Call, "RWF_HIPRI")
        );
    });
}

/// A timed sleep lasts to its end, whether the completion comes by a ring of the kernel or of the
/// library: one switch per I/O that slept.
#[test]
fn a_sleep_lasts_whatever_completes_meanwhile() {
    alone("a_sleep_lasts_whatever_completes_meanwhile", || {
        for engine in &asynchronous()[1..] {
            let (lane, stats) = match on_disk(engine, 1, hybrid("fixed:150us")) {
                Ok(done) => done,
                Err(reason) => return skip(&reason),
            };
            assert!(lane.facts.sleeps_undisturbed);
            assert!(
                stats.sleeps.slept == stats.ios && stats.ios > 200,
                "{engine}: {stats:?}"
            );
            assert!(
                stats.switches_per_io() <= 1.05,
                "{engine}: {}",
                stats.switches_per_io()
            );
            assert_eq!(lane.samples.iter().find(|s| s.woke_ns < 149_800), None);
        }
    });
}

#[test]
fn depth_is_kept_by_every_interface() {
    alone("depth_is_kept_by_every_interface", || {
        for engine in &asynchronous() {
            for how in ["interrupt", "poll", "hybrid"] {
                let wait = match how {
                    "interrupt" => Wait::Interrupt,
                    "poll" => Wait::Poll,
                    _ => hybrid("fixed:20us"),
                };
                let (_, stats) = match on_disk(engine, 16, wait) {
                    Ok(done) => done,
                    Err(reason) => return skip(&reason),
                };
                // Little's law, except for the first and the last requests.
                let in_flight = stats.iops() * q2c_stats::mean(&stats.latencies) / 1e9;
                assert!(
                    (14.0..16.2).contains(&in_flight),
                    "{engine}, {how}: {in_flight}"
                );
            }
        }
    });
}

/// The kernel's helper thread looks at the ring all the time. It takes a whole CPU, which is
/// counted apart from the lane's.
#[test]
fn a_helpers_cpu_is_charged() {
    alone("a_helpers_cpu_is_charged", || {
        let (lane, stats) = match on_disk(&helped(), 1, Wait::Interrupt) {
            Ok(done) => done,
            Err(reason) => return skip(&reason),
        };
        assert!(lane.facts.helper.is_some() && lane.facts.flags == "SQPOLL|SQ_AFF");
        let share = stats.helper_cpu_ns as f64 / stats.wall_ns;
        assert!((0.3..1.01).contains(&share), "{share} of a CPU");
        let own = stats.cpu_ns as f64 / stats.wall_ns;
        assert!(
            own < share,
            "the lane sleeps: {own}, its helper does not: {share}"
        );
        let (lane, stats) = on_disk("io_uring", 1, Wait::Interrupt).expect("as before");
        assert_eq!((lane.facts.helper, stats.helper_cpu_ns), (None, 0));
    });
}

/// Without poll queues every request fails and the error is explained; an old kernel uses the
/// interrupt instead.
#[test]
fn polling_without_poll_queues_names_them() {
    alone("polling_without_poll_queues_names_them", || {
        let Some(file) = target() else {
            return skip("the file system of the target folder has no O_DIRECT");
        };
        let job = JobPlan {
            medium: Medium::File(Arc::new(file)),
            span: Bytes(SIZE as u64),
            ..job("io_uring:iopoll", vec![Activity::Start(Wait::Poll)])
        };
        let lane = match run(plan(&[50], vec![job])) {
            Ok(mut data) => data.lanes.remove(0),
            Err(RunError::Lane { source, .. }) => return skip(&source.to_string()),
            Err(e) => panic!("{e}"),
        };
        assert_eq!(
            (lane.facts.polls_by, lane.facts.waits),
            (Means::IoPoll, Waits::Polling)
        );
        match lane.first_fault {
            None => assert!(lane.ios > 0),
            Some(fault) => {
                let cause = lane.facts.cause(fault.result);
                assert!(
                    cause.is_some_and(|c| c.contains("nvme.poll_queues")),
                    "{fault:?}"
                );
            }
        }
    });
}
