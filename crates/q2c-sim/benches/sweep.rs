//! How fast a sweep is: I/Os x configurations per second over 2 M I/Os and 1,024 configurations.
//!
//! Each case runs three times, the best counts: `cargo bench -p q2c-sim`.

#![expect(clippy::print_stdout, reason = "its output is what it is for")]

use q2c_model::{Bytes, CostModel, Curve, Direction, Nanos, WakeDelay};
use q2c_policy::{Io, PolicySpec};
use q2c_sim::{Batch, Drive, Recording};
use q2c_stats::Rng;
use std::time::Instant;

const IOS: usize = 2_000_000;
const CONFIGURATIONS: usize = 1_024;
const RUNS: usize = 3;

/// Device times from 15 us with a tail: the sum of an even and an exponential part, median 22 us.
fn recording(buckets: u32) -> Recording {
    let mut rng = Rng::new(7);
    let mut trace = Recording::default();
    for _ in 0..IOS {
        let even = 15_000.0 + 4_000.0 * rng.unit();
        let tail = -6_000.0 * (1.0 - rng.unit()).ln();
        let class = rng.below(u64::from(buckets)) as u32;
        let direction = match class % 2 {
            0 => Direction::Read,
            _ => Direction::Write,
        };
        let bytes = match buckets {
            1 => 4_096,
            _ => 512 << (class / 2),
        };
        trace.push(
            Io { direction, bytes },
            800.0,
            (even + tail).floor() as f32,
            400.0,
        );
    }
    trace
}

fn constant() -> CostModel {
    let late = || WakeDelay {
        base_ns: Curve::constant(2_000.0),
        ..WakeDelay::default()
    };
    CostModel {
        bs: Bytes(4096),
        submit_ns: 800.0,
        turnaround_ns: 400.0,
        wake_clear: late(),
        wake_hit: late(),
        hit_lead_ns: 0.0,
        reap_hit_ns: 100.0,
        sleep_cpu_clear_ns: Curve::constant(700.0),
        sleep_cpu_hit_ns: Curve::constant(900.0),
        added_latency_ns: Curve::default(),
        added_submit_ns: Curve::default(),
        interrupt_cpu_ns: 0.0,
        interrupt_latency_ns: 0.0,
        other_cpu_poll_ns: 0.0,
        other_cpu_sleep_ns: 300.0,
        other_cpu_interrupt_ns: 0.0,
    }
}

/// Mean and min over the periods of the standard grid, 1 to 200 ms, and 64 ratios.
fn windowed() -> Vec<PolicySpec> {
    let periods = [1, 2, 5, 10, 20, 50, 100, 200];
    let rules = ["mean", "min"].iter().flat_map(|rule| {
        (0..64).flat_map(move |step| {
            let ratio = 5.0 + f64::from(step) * 1.4;
            periods.map(move |period| format!("{rule}:ratio={ratio:.2}%,period={period}ms"))
        })
    });
    rules
        .map(|text| text.parse().expect("a rule of the registry"))
        .collect()
}

fn case(
    name: &str,
    trace: &Recording,
    policies: &[PolicySpec],
    cost: &CostModel,
    percentiles: bool,
) {
    assert_eq!((trace.len(), policies.len()), (IOS, CONFIGURATIONS));
    let drive = Drive {
        warm_up: Nanos::ZERO,
        measure: Nanos(u64::MAX),
        seed: 1,
    };
    let mut best = f64::INFINITY;
    let mut misses = 0.0;
    for _ in 0..RUNS {
        let mut batch = Batch::new(policies, cost, drive, percentiles).expect("rules it holds");
        let begun = Instant::now();
        batch.feed(trace).expect("short times");
        best = best.min(begun.elapsed().as_secs_f64());
        misses = batch.finish().iter().map(|o| o.miss_rate).sum::<f64>() / policies.len() as f64;
    }
    let rate = (IOS * CONFIGURATIONS) as f64 / best;
    println!(
        "{name:<44} {best:6.3} s  {:5.2}e9 I/O x configurations/s  (mean miss rate {misses:.3})",
        rate / 1e9
    );
}

fn main() {
    case(
        "mean, min; constant delay",
        &recording(1),
        &windowed(),
        &constant(),
        false,
    );
}
