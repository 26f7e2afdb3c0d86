//! Tests of latency and rate by method, depth and number of servers.

use crate::plan::{alone, cpu, hybrid, job, median_of, once, plan, run};
use q2c_engine::measure::phase_stats;
use q2c_engine::{Activity, LaneData, Sample, Wait};

/// The run's clock and CLOCK_MONOTONIC, by which the device completes, may differ by the slew that
/// NTP applies, 500 ppm at most.
const SLEW: f64 = 500e-6;

/// The median latency in microseconds. Checks first that no I/O was faster than the device.
fn median_us(lane: &LaneData, service_us: f64) -> f64 {
    let fastest = lane.samples.iter().map(|s| s.u2c().0).min();
    let fastest_us = fastest.expect("samples") as f64 / 1e3;
    assert!(fastest_us >= service_us * (1.0 - SLEW), "{fastest_us} us");
    median_of(lane.samples.iter().map(|s| s.u2c().0)) / 1e3
}

/// Spinning sees a completion within one look, tens of nanoseconds; the bound is for unoptimised
/// code.
#[test]
fn polling_measures_the_service_time() {
    alone("polling_measures_the_service_time", || {
        let lane = once("sim:200us", Wait::Poll, 400);
        let median = median_us(&lane, 200.0);
        assert!(median < 205.0, "{median} us");
        assert!(lane.samples.iter().all(|s| s.flags == 0));
    });
}

#[test]
fn an_interrupt_comes_after_the_service_time() {
    alone("an_interrupt_comes_after_the_service_time", || {
        let lane = once("sim:200us", Wait::Interrupt, 400);
        let median = median_us(&lane, 200.0);
        // Waking up takes from a few to some hundred microseconds, depending on the machine's idle
        // states.
        assert!(median < 1_000.0, "{median} us");
        assert!(
            lane.samples
                .iter()
                .all(|s| s.is(Sample::ONE_CALL) && s.submit_len_ns == 0)
        );
    });
}

#[test]
fn hybrid_polling_with_room_measures_the_service_time_and_leaves_the_cpu() {
    alone(
        "hybrid_polling_with_room_measures_the_service_time_and_leaves_the_cpu",
        || {
            let lane = once("sim:2ms", hybrid("mean:50%,10ms"), 400);
            let median = median_us(&lane, 2_000.0);
            assert!(median < 2_010.0, "{median} us");
            // After the first window half of each I/O is slept. CPU is charged outside the sleeps,
            // and for going to sleep.
            let stats = phase_stats(&lane, 0);
            let slept = stats.sleeps.slept_ns as f64 / stats.wall_ns;
            assert!((0.3..0.8).contains(&slept), "{slept} of the time slept");
            let most = stats.wall_ns - stats.sleeps.slept_ns as f64
                + stats.sleeps.slept as f64 * 100_000.0;
            assert!(
                (stats.cpu_ns as f64) < most,
                "{} ns of {most}",
                stats.cpu_ns
            );
        },
    );
}

/// Throughput and mean latency (us) with four requests in flight on `servers` of 1 ms.
fn four_deep(servers: u32, wait: Wait) -> (f64, f64) {
    let engine = format!("sim:1ms,servers={servers}");
    let mut job = job(&engine, vec![Activity::Start(wait)]);
    job.depth = 4;
    let data = run(plan(&[150], vec![job])).expect("a run");
    let stats = phase_stats(&data.lanes[0], 0);
    (stats.iops(), q2c_stats::mean(&stats.latencies) / 1e3)
}

/// Little's law: throughput times latency is the depth, whatever the number of servers. It holds on
/// any machine, except for the first and the last requests. The throughput needs a moment without
/// other work, so there are eight tries.
#[test]
fn servers_share_the_depth() {
    alone("servers_share_the_depth", || {
        for (poll, servers) in [
            (true, 1),
            (true, 2),
            (true, 4),
            (false, 1),
            (false, 2),
            (false, 4),
        ] {
            let most = f64::from(servers) * 1_000.0;
            let mut shares = (0..8).map(|_| {
                let wait = if poll { Wait::Poll } else { Wait::Interrupt };
                let (iops, latency_us) = four_deep(servers, wait);
                let in_flight = iops * latency_us / 1e6;
                assert!(
                    (3.7..4.05).contains(&in_flight),
                    "{servers} servers: {in_flight} in flight"
                );
                assert!(iops < 1.02 * most, "{servers} servers: {iops} IOPS");
                iops / most
            });
            assert!(shares.any(|share| share > 0.6), "{servers} servers");
        }
    });
}

#[test]
fn a_deep_background_runs_beside_a_hybrid_foreground() {
    alone("a_deep_background_runs_beside_a_hybrid_foreground", || {
        let foreground = job("sim:1ms", vec![Activity::Start(hybrid("fixed:100us"))]);
        let mut background = job("sim:1ms,servers=8", vec![Activity::Start(Wait::Interrupt)]);
        (background.depth, background.cpu, background.capacity) = (8, cpu(1), 0);
        let data = run(plan(&[300], vec![foreground, background])).unwrap();
        assert!(
            data.lanes[0]
                .samples
                .iter()
                .all(|s| s.is(Sample::HYBRID | Sample::SLEPT))
        );
        assert!(data.lanes[0].ios > 100, "{}", data.lanes[0].ios);
        // 8 requests in flight at 1 ms each make 2400 in 300 ms.
        assert!(
            (200..2_420).contains(&data.lanes[1].ios),
            "{}",
            data.lanes[1].ios
        );
        assert!(data.lanes[1].samples.is_empty() && data.lanes[1].faults == 0);
    });
}
