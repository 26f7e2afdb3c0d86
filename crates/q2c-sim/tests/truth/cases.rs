//! Helpers of the tests: recordings and costs in round numbers.

use proptest::prelude::*;
use q2c_model::{Bytes, CostModel, Curve, Direction, Nanos, WakeDelay};
use q2c_policy::{Io, PolicySpec};
use q2c_sim::{Drive, Outcome, Recording, Waiting, simulate};

pub const READ: Io = Io {
    direction: Direction::Read,
    bytes: 4096,
};

/// Reads with these device times, each submitted in `submit` and followed by the think time `gap`,
/// ns.
pub fn recording(submit: u32, waits: impl IntoIterator<Item = u32>, gap: u32) -> Recording {
    let mut recording = Recording::default();
    for wait in waits {
        recording.push(READ, submit as f32, wait as f32, gap as f32);
    }
    recording
}

pub fn delay(ns: f64) -> WakeDelay {
    WakeDelay {
        base_ns: Curve::constant(ns),
        spread_ns: Curve::constant(0.0),
        z: Vec::new(),
        ..WakeDelay::default()
    }
}

/// CPU in think time: all of it, none, or so much at most.
pub fn think_cpu() -> impl Strategy<Value = Option<Nanos>> {
    prop_oneof![
        Just(None),
        Just(Some(Nanos::ZERO)),
        (1u64..3_000).prop_map(|ns| Some(Nanos(ns))),
    ]
}

/// A machine on which nothing costs anything.
pub fn free() -> CostModel {
    CostModel {
        bs: Bytes(4096),
        submit_ns: 0.0,
        turnaround_ns: 0.0,
        wake_clear: delay(0.0),
        wake_hit: delay(0.0),
        hit_lead_ns: 0.0,
        reap_hit_ns: 0.0,
        sleep_cpu_clear_ns: Curve::constant(0.0),
        sleep_cpu_hit_ns: Curve::constant(0.0),
        added_latency_ns: Curve::constant(0.0),
        added_submit_ns: Curve::constant(0.0),
        interrupt_cpu_ns: 0.0,
        interrupt_latency_ns: 0.0,
        other_cpu_poll_ns: 0.0,
        other_cpu_sleep_ns: 0.0,
        other_cpu_interrupt_ns: 0.0,
    }
}

/// A machine on which every sleep, clear or hit, ends `ns` late and nothing else costs.
pub fn wakes_late(ns: f64) -> CostModel {
    CostModel {
        wake_clear: delay(ns),
        wake_hit: delay(ns),
        ..free()
    }
}

pub fn drive(warm_up: u64, measure: u64) -> Drive {
    Drive {
        warm_up: Nanos(warm_up),
        measure: Nanos(measure),
        seed: 1,
    }
}

pub fn rule(text: &str, lanes: usize) -> Waiting {
    let spec: PolicySpec = text.parse().unwrap_or_else(|e| panic!("{e}"));
    Waiting::rules(spec.build(lanes))
}

pub fn one(lane: &Recording, cost: &CostModel, method: Waiting, drive: Drive) -> Outcome {
    simulate(std::slice::from_ref(lane), cost, method, drive)
}

/// The numbers of an outcome that follow from sums.
pub fn exact(o: &Outcome) -> [f64; 9] {
    [
        o.gives.rates.iops,
        o.gives.rates.cpu_pct,
        o.gives.cpu_ns_per_io,
        o.gives.kiops_per_core,
        o.gives.rates.miss_rate,
        o.gives.rates.effective_sleep_ns,
        o.gives.t_over,
        o.gives.t_under,
        o.gives.latencies.mean_ns,
    ]
}

/// The percentiles of an outcome.
pub fn ranks(o: &Outcome) -> [f64; 3] {
    [
        o.gives.latencies.p50_ns,
        o.gives.latencies.p99_ns,
        o.gives.latencies.p999_ns,
    ]
}

/// Whether two numbers are equal but for the rounding of floating point.
pub fn same(a: f64, b: f64) -> bool {
    a == b || (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
}

#[track_caller]
pub fn close(got: f64, wanted: f64) {
    assert!(same(got, wanted), "{got}, by hand {wanted}");
}
