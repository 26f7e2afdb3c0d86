use crate::plan::{BEFORE, MS, SWITCH, WAKE, hybrid, ios_in, job, once, plan, run, run_one};
use q2c_engine::measure::phase_stats;
use q2c_engine::{Activity, Sample, Wait};
use q2c_model::CpuId;

/// The first window lasts from the first completion to the sixth, which is the first at least 10 ms
/// behind it. After that half of each I/O is slept, and looks fill the rest of it.
#[test]
fn hybrid_polling_with_room_measures_the_service_time_and_leaves_the_cpu() {
    let lane = once("sim:2ms", hybrid("mean:50%,10ms"), 400);
    assert!(lane.samples.iter().all(|s| u64::from(s.wait_ns) == 2 * MS));
    assert_eq!(lane.ios, ios_in(400, BEFORE + 2 * MS));
    let stats = phase_stats(&lane, 0);
    assert_eq!(stats.ios - stats.sleeps.slept, 6);
    let away = stats.sleeps.slept * (MS + WAKE - SWITCH);
    assert_eq!(stats.cpu_ns, stats.wall_ns as u64 - away);
}

/// A device whose servers are never idle does as many requests as they can. Little's law:
/// throughput times latency is the depth, except for the first and the last requests.
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

/// The background's 8 requests take turns of 1 ms and some microseconds, since one thread reaps and
/// submits them all.
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
    assert_eq!(foreground.ios, ios_in(300, BEFORE + MS));
    let ios = background.ios;
    assert!((2_370..=2_408).contains(&ios), "{ios}");
    assert!(background.samples.is_empty() && background.faults == 0);
}
