//! Tests of sleeps: each lasts as long as asked and is one context switch, and it is a miss exactly
//! when the completion was there.

use crate::plan::{BEFORE, LOOK, MS, Scripted, WAKE, hybrid, ios_in, once};
use q2c_engine::measure::phase_stats;
use q2c_engine::{LaneData, Sample};
use q2c_model::Nanos;
use q2c_policy::Decision;

const SLEPT: u64 = Sample::HYBRID | Sample::SLEPT;

/// Checks that every I/O slept for `asked`, by one context switch, that it was reaped `wait` behind
/// its submission, and whether it missed.
fn all_sleep(lane: &LaneData, asked: u64, wait: u64, missed: bool) {
    let flags = SLEPT | if missed { Sample::MISSED } else { 0 };
    for s in &lane.samples {
        let times = [s.asked_ns, s.slept_ns, s.woke_ns, s.wait_ns].map(u64::from);
        assert_eq!(times, [asked, asked + WAKE, asked + WAKE, wait]);
        assert_eq!(s.flags, flags);
    }
    let stats = phase_stats(lane, 0);
    let sleeps = stats.sleeps;
    assert_eq!((sleeps.handled, sleeps.slept), (stats.ios, stats.ios));
    assert_eq!(sleeps.misses, if missed { stats.ios } else { 0 });
    assert_eq!(stats.effective_sleep_ns(), asked as f64);
    assert_eq!(stats.mean_slept_ns(), (asked + WAKE) as f64);
    assert_eq!(stats.voluntary, stats.ios);
    assert_eq!(stats.involuntary, 0);
}

#[test]
fn a_sleep_of_ten_times_the_latency_always_misses() {
    let lane = once("sim:50us", hybrid("fixed:500us"), 400);
    let wait = 500_000 + WAKE + LOOK;
    all_sleep(&lane, 500_000, wait, true);
    assert_eq!(lane.ios, ios_in(400, BEFORE + wait));
}

#[test]
fn a_sleep_far_below_the_latency_does_not_miss() {
    let lane = once("sim:10ms", hybrid("fixed:1ms"), 600);
    all_sleep(&lane, MS, 10 * MS, false);
    assert_eq!(lane.ios, ios_in(600, BEFORE + 10 * MS));
}

#[test]
fn only_what_slept_counts_as_sleep() {
    let every_fourth = |n| match n % 4 {
        1 => Decision::Sleep(Nanos(300_000)),
        2 => Decision::Sleep(Nanos::ZERO),
        3 => Decision::Interrupt,
        _ => Decision::Poll,
    };
    let lane = once("sim:100us", Scripted::wait(every_fourth), 300);
    for (i, s) in lane.samples.iter().enumerate() {
        let (flags, asked) = match i % 4 {
            0 => (SLEPT | Sample::MISSED, 300_000),
            2 => (Sample::HYBRID | Sample::INTERRUPT, 0),
            _ => (Sample::HYBRID, 0),
        };
        let slept = s.slept_ns > 0;
        assert_eq!((s.flags, s.asked_ns, slept), (flags, asked, asked > 0));
    }
    let stats = phase_stats(&lane, 0);
    let sleeps = stats.ios.div_ceil(4);
    assert_eq!(stats.sleeps.handled, stats.ios);
    assert_eq!([stats.sleeps.slept, stats.sleeps.misses], [sleeps; 2]);
    let asked = (sleeps * 300_000) as f64;
    assert_eq!(stats.effective_sleep_ns(), asked / stats.ios as f64);
}
