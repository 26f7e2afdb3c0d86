//! Helpers of the tests: recordings and costs in round numbers.

use proptest::prelude::*;
use q2c_model::{CostModel, Curve, Nanos, WakeDelay};
use q2c_policy::{Io, PolicySpec};
use q2c_sim::{Drive, LaneRecording, SimOutcome, Waiting, simulate};

pub(crate) const READ: Io = Io::READ_4K;

/// A recording of 4 KiB reads with these device times, each submitted in `submit`, then `gap`, ns.
pub(crate) fn recording(
    submit: u32,
    waits: impl IntoIterator<Item = u32>,
    gap: u32,
) -> LaneRecording {
    let mut recording = LaneRecording::default();
    for wait in waits {
        recording.push(READ, submit as f32, wait as f32, gap as f32);
    }
    recording
}

pub(crate) fn delay(ns: f64) -> WakeDelay {
    WakeDelay {
        base_ns: Curve::constant(ns),
        ..WakeDelay::default()
    }
}

pub(crate) fn think_cpu() -> impl Strategy<Value = Option<Nanos>> {
    prop_oneof![
        Just(None),
        Just(Some(Nanos::ZERO)),
        (1u64..3_000).prop_map(|ns| Some(Nanos(ns))),
    ]
}

pub(crate) fn zero() -> CostModel {
    CostModel::delayed(Nanos::ZERO)
}

pub(crate) fn wakes_late(ns: f64) -> CostModel {
    CostModel::delayed(Nanos(ns as u64))
}

pub(crate) fn drive(warm_up: u64, measure: u64) -> Drive {
    Drive {
        warm_up: Nanos(warm_up),
        measure: Nanos(measure),
        seed: 1,
    }
}

pub(crate) fn rule(text: &str, lanes: usize) -> Waiting {
    let spec: PolicySpec = text.parse().unwrap_or_else(|e| panic!("{e}"));
    Waiting::rules(spec.build(lanes))
}

pub(crate) fn run_case(
    lane: &LaneRecording,
    cost: &CostModel,
    method: Waiting,
    drive: Drive,
) -> SimOutcome {
    simulate(std::slice::from_ref(lane), cost, method, drive)
}

pub(crate) fn figures(o: &SimOutcome) -> [f64; 9] {
    let (gives, rates) = (&o.gives, o.gives.rates);
    [
        rates.iops,
        rates.cpu_pct,
        gives.cpu_ns_per_io,
        gives.kiops_per_core,
        rates.miss_rate,
        rates.effective_sleep_ns,
        gives.t_over,
        gives.t_under,
        gives.latencies.mean_ns,
    ]
}

pub(crate) fn ranks(o: &SimOutcome) -> [f64; 3] {
    let latencies = o.gives.latencies;
    [latencies.p50_ns, latencies.p99_ns, latencies.p999_ns]
}

pub(crate) fn same(a: f64, b: f64) -> bool {
    a == b || (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
}

#[track_caller]
pub(crate) fn close(got: f64, wanted: f64) {
    assert!(same(got, wanted), "{got}, by hand {wanted}");
}
