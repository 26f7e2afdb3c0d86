//! Tests of sleeps: each lasts as long as asked and is one context switch, and it is a miss exactly
//! when the completion was there.

use crate::plan::{Scripted, alone, hybrid, median_of, once};
use q2c_engine::measure::phase_stats;
use q2c_engine::{LaneData, Sample};
use q2c_model::Nanos;
use q2c_policy::Decision;

/// The shortest time that a sleep may show. It is timed by CLOCK_MONOTONIC, and the samples by the
/// run's clock: 500 ppm of slew, and one reading of each clock.
fn least(asked_ns: u32) -> f64 {
    f64::from(asked_ns) * (1.0 - 500e-6) - 100.0
}

fn no_sleep_is_short(lane: &LaneData) {
    for s in &lane.samples {
        assert!(s.is(Sample::HYBRID | Sample::SLEPT), "{s:?}");
        assert!(f64::from(s.woke_ns) >= least(s.asked_ns), "{s:?}");
        // The call begins after the submission's return, and the reaping comes after the wake-up.
        assert!(s.slept_ns <= s.woke_ns && s.woke_ns <= s.wait_ns, "{s:?}");
    }
    // Between the submission's return and the call lie a reading of the clock and the rule.
    let before = median_of(
        lane.samples
            .iter()
            .map(|s| u64::from(s.woke_ns - s.slept_ns)),
    );
    assert!(before < 10_000.0, "{before} ns");
}

#[test]
fn a_sleep_of_ten_times_the_latency_always_misses() {
    alone("a_sleep_of_ten_times_the_latency_always_misses", || {
        let lane = once("sim:50us", hybrid("fixed:500us"), 400);
        no_sleep_is_short(&lane);
        let stats = phase_stats(&lane, 0);
        // The counts are exact: the completion is due 450 us before the earliest wake-up.
        assert_eq!(
            (
                stats.sleeps.handled,
                stats.sleeps.slept,
                stats.sleeps.misses
            ),
            (stats.ios, stats.ios, stats.ios)
        );
        assert_eq!(
            (stats.miss_rate(), stats.effective_sleep_ns()),
            (1.0, 500_000.0)
        );
        assert!(
            stats.mean_slept_ns() > 490_000.0,
            "{}",
            stats.mean_slept_ns()
        );
        assert!(stats.ios > 100, "{}", stats.ios);
    });
}

/// There are 9 ms of room, so an I/O that misses lost its CPU to other tasks for several time
/// slices. One in ten may.
#[test]
fn a_sleep_far_below_the_latency_does_not_miss() {
    alone("a_sleep_far_below_the_latency_does_not_miss", || {
        let lane = once("sim:10ms", hybrid("fixed:1ms"), 600);
        no_sleep_is_short(&lane);
        let stats = phase_stats(&lane, 0);
        assert!(stats.ios > 30, "{}", stats.ios);
        assert!(stats.miss_rate() <= 0.1, "{}", stats.miss_rate());
        assert_eq!(stats.effective_sleep_ns(), 1e6);
        let found = lane.samples.iter().filter(|s| !s.is(Sample::MISSED));
        let observed = median_of(found.map(|s| u64::from(s.wait_ns)));
        assert!(
            (9_990_000.0..10_050_000.0).contains(&observed),
            "{observed}"
        );
    });
}

/// A sleep gives up the CPU once, whether the completion comes during it or after it, and spinning
/// never does. There are fewer switches where the timer had run out before the CPU was given up,
/// and more, rarely, by page faults and locks of the kernel.
#[test]
fn a_sleep_is_one_voluntary_switch() {
    alone("a_sleep_is_one_voluntary_switch", || {
        for engine in ["sim:50us", "sim:400us"] {
            let stats = phase_stats(&once(engine, hybrid("fixed:200us"), 400), 0);
            let switches = stats.switches_per_io();
            assert!(stats.sleeps.slept > 100, "{engine}: {}", stats.sleeps.slept);
            assert!((0.95..1.05).contains(&switches), "{engine}: {switches}");
        }
    });
}

#[test]
fn only_what_slept_counts_as_sleep() {
    alone("only_what_slept_counts_as_sleep", || {
        let every_other = |n| match n % 4 {
            1 => Decision::Sleep(Nanos(300_000)),
            2 => Decision::Sleep(Nanos::ZERO),
            3 => Decision::Interrupt,
            _ => Decision::Poll,
        };
        let lane = once("sim:100us", Scripted::wait(every_other), 300);
        for (i, s) in lane.samples.iter().enumerate() {
            let slept = i % 4 == 0;
            assert!(s.is(Sample::HYBRID), "{s:?}");
            assert_eq!(s.is(Sample::INTERRUPT), i % 4 == 2, "{i}");
            assert_eq!(
                (s.is(Sample::SLEPT), s.is(Sample::MISSED)),
                (slept, slept),
                "{i}"
            );
            assert_eq!(
                (s.asked_ns, s.slept_ns > 0),
                (if slept { 300_000 } else { 0 }, slept),
                "{i}"
            );
        }
        let stats = phase_stats(&lane, 0);
        let sleeps = stats.ios.div_ceil(4);
        assert_eq!(
            (
                stats.sleeps.handled,
                stats.sleeps.slept,
                stats.sleeps.misses
            ),
            (stats.ios, sleeps, sleeps)
        );
        assert_eq!(
            stats.effective_sleep_ns(),
            (sleeps * 300_000) as f64 / stats.ios as f64
        );
    });
}
