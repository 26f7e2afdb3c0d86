//! Tests of the machine's clock and timers: simulated devices in real time are never faster than
//! their service times, and no sleep is too short.

use super::{clock, cpu, job, run_one};
use crate::plan::hybrid;
use q2c_engine::measure::phase_stats;
use q2c_engine::{Activity, LaneData, Sample, Wait, floor};
use q2c_model::CpuId;

fn once(engine: &str, wait: Wait) -> LaneData {
    run_one(&[60], job(engine, vec![Activity::Start(wait)])).expect("a run")
}

#[test]
fn no_request_is_faster_than_its_device() {
    for (wait, flags) in [
        (Wait::Poll, 0),
        (Wait::Interrupt, Sample::ONE_CALL),
        (hybrid("fixed:20us"), Sample::HYBRID | Sample::SLEPT),
    ] {
        let lane = once("sim:200us", wait);
        assert!(!lane.samples.is_empty() && lane.faults == 0);
        for sample in &lane.samples {
            assert!(sample.u2c().0 >= 200_000 && sample.is(flags), "{sample:?}");
        }
    }
}

/// A sleep is timed by CLOCK_MONOTONIC, and the samples by the run's clock. The bound allows 500
/// ppm of slew, and one reading of each clock. The completion is due 450 us before the earliest
/// wake-up, so every I/O misses.
#[test]
fn no_sleep_is_short_and_each_gives_up_the_cpu() {
    let lane = once("sim:50us", hybrid("fixed:500us"));
    for s in &lane.samples {
        assert!(s.is(Sample::SLEPT | Sample::MISSED), "{s:?}");
        assert!(s.woke_ns >= 499_650, "{s:?}");
        // The call begins after the submission's return, and the reaping comes after the wake-up.
        assert!(s.slept_ns <= s.woke_ns && s.woke_ns <= s.wait_ns, "{s:?}");
    }
    // There are fewer switches if the timer expired before the CPU was left.
    let switches = phase_stats(&lane, 0).switches_per_io();
    assert!((0.5..1.5).contains(&switches), "{switches}");
}

/// Optimised code stays below 60 ns. A lane that hardly gets its CPU does only one I/O in a run, in
/// some microseconds.
#[test]
fn the_floor_is_a_cost_of_the_loop() {
    let time = clock().into();
    for floor in [floor::measure, floor::measure_counting] {
        let ns = floor(&time, cpu(0)).expect("a CPU of this process");
        assert!((2.0..1e6).contains(&ns), "{ns} ns");
        assert!(floor(&time, CpuId(1023)).is_err());
    }
}
