//! Tests of sleeps: each lasts as long as asked and is one context switch. It is a miss exactly
//! when the completion was already there.

use crate::plan::{
    LOOK, MS, STEPS, SWITCH, Scripted, WAKE, hybrid, ios_in, job, once, plan, run, run_one,
};
use q2c_engine::measure::phase_stats;
use q2c_engine::{Activity, LaneData, Sample, Wait};
use q2c_model::{CpuId, Nanos};
use q2c_policy::Decision;

const SLEPT: u64 = Sample::HYBRID | Sample::SLEPT;

/// Checks that every I/O slept for `asked` ns, by one context switch, that it was reaped `wait` ns
/// after its submission's return, and whether it missed.
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
    assert_eq!(lane.ios, ios_in(400, STEPS + wait));
}

#[test]
fn a_sleep_far_below_the_latency_does_not_miss() {
    let lane = once("sim:10ms", hybrid("fixed:1ms"), 600);
    all_sleep(&lane, MS, 10 * MS, false);
    assert_eq!(lane.ios, ios_in(600, STEPS + 10 * MS));
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

/// The first window lasts from the first completion to the sixth, the first at least 10 ms later.
/// After that half of each I/O is slept, and looks fill the other half.
#[test]
fn hybrid_polling_with_room_measures_the_service_time_and_leaves_the_cpu() {
    let lane = once("sim:2ms", hybrid("mean:50%,10ms"), 400);
    assert!(lane.samples.iter().all(|s| u64::from(s.wait_ns) == 2 * MS));
    assert_eq!(lane.ios, ios_in(400, STEPS + 2 * MS));
    let stats = phase_stats(&lane, 0);
    assert_eq!(stats.ios - stats.sleeps.slept, 6);
    let away = stats.sleeps.slept * (MS + WAKE - SWITCH);
    assert_eq!(stats.cpu_ns, stats.wall_ns as u64 - away);
}

/// A device whose servers are never idle does as many requests as they can. Little's law:
/// throughput times latency is the depth, except for the first and last requests.
#[test]
fn servers_share_the_depth() {
    for (poll, servers) in [1, 2, 4].into_iter().flat_map(|n| [(true, n), (false, n)]) {
        let wait = if poll { Wait::Poll } else { Wait::Interrupt };
        let engine = format!("sim:1ms,servers={servers}");
        let mut job = job(&engine, vec![Activity::Start(wait)]);
        job.depth = 4;
        let stats = phase_stats(&run_one(&[150], job), 0);
        let share = stats.iops() / (f64::from(servers) * 1_000.0);
        assert!((0.99..=1.0).contains(&share), "{servers}: {share}");
        let in_flight = stats.iops() * q2c_model::stats::mean(&stats.latencies) / 1e9;
        assert!((3.9..=4.0).contains(&in_flight), "{servers}: {in_flight}");
    }
}

/// The background's 8 requests take turns of 1 ms and some microseconds, because one thread reaps
/// and submits them all.
#[test]
fn a_deep_background_runs_beside_a_hybrid_foreground() {
    let foreground = job("sim:1ms", vec![Activity::Start(hybrid("fixed:100us"))]);
    let mut background = job("sim:1ms,servers=8", vec![Activity::Start(Wait::Interrupt)]);
    (background.depth, background.cpu, background.capacity) = (8, CpuId(1), 0);
    let data = run(plan(&[300], vec![foreground, background])).unwrap();
    let [foreground, background] = &data.lanes[..] else {
        panic!("two lanes");
    };
    let slept = |s: &Sample| s.flags == Sample::HYBRID | Sample::SLEPT;
    assert!(foreground.samples.iter().all(slept));
    assert_eq!(foreground.ios, ios_in(300, STEPS + MS));
    let ios = background.ios;
    assert!((2_370..=2_408).contains(&ios), "{ios}");
    assert!(background.samples.is_empty() && background.faults == 0);
}
