//! The open loop and the single pass, against numbers worked out by hand.

use crate::cases::{recording, rule, wakes_late};
use q2c_model::Nanos;
use q2c_sim::{Arrival, Drive, Waiting, simulate, simulate_with};

/// Three I/Os of 10 us, submitted every 25 us, under a fixed sleep of 28 us that ends 2 us late, so
/// that each takes 30 us. In the closed loop the period is 30 + 15 = 45 us. In the open loop they
/// are due at 0, 25 and 50 us and begin at 0, 30 and 60 us, so the latencies from the intended time
/// are 30, 35 and 40 us.
#[test]
fn late_completions_delay_what_follows_or_queue_it() {
    let lane = recording(0, [10_000; 3], 15_000);
    let fixed = || rule("fixed:28us", 1);
    let cost = wakes_late(2_000.0);
    let lanes = [lane];
    let closed = simulate(&lanes, &cost, fixed(), Drive::once(1));
    assert_eq!((closed.ios, closed.gives.latencies.mean_ns), (3, 30_000.0));
    assert!((closed.gives.rates.iops - 3.0 / 135e-6).abs() < 1e-6 * closed.gives.rates.iops);

    let open = simulate_with(Arrival::Recorded, &lanes, &cost, fixed(), Drive::once(1));
    assert_eq!((open.ios, open.gives.latencies.mean_ns), (3, 35_000.0));
    let latencies = open.gives.latencies;
    assert_eq!((latencies.p50_ns, latencies.p99_ns), (35_000.0, 40_000.0));
}

#[test]
fn both_are_the_recording_when_nothing_is_late() {
    let lanes = [recording(500, [10_000, 30_000, 20_000], 5_000)];
    let cost = wakes_late(0.0);
    let simulated =
        |arrival| simulate_with(arrival, &lanes, &cost, Waiting::poll(1), Drive::once(1));
    let (closed, open) = (simulated(Arrival::Think), simulated(Arrival::Recorded));
    assert_eq!(closed.gives.rates.iops, open.gives.rates.iops);
    assert_eq!(closed.gives.latencies.mean_ns, open.gives.latencies.mean_ns);
    assert!((closed.gives.rates.iops - 3.0 / 76.5e-6).abs() < 1e-6 * closed.gives.rates.iops);
}

#[test]
fn one_pass_counts_each_once() {
    let lanes = [
        recording(0, [10_000; 100], 0),
        recording(0, [20_000; 10], 0),
    ];
    let poll = |drive| simulate(&lanes, &wakes_late(0.0), Waiting::poll(2), drive);
    assert_eq!(poll(Drive::once(1)).ios, 110);
    let later = poll(Drive {
        warm_up: Nanos(500_000),
        ..Drive::once(1)
    });
    assert_eq!(later.ios, 50, "the first lane's second half");
    assert!((later.gives.rates.iops - 50.0 / 500e-6).abs() < 1.0);
}
