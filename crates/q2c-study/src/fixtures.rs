//! Traces and studies that several tests share.

use super::sim::Timing;
use super::source::{SimTrace, span_of};
use super::sweep::Study;
use q2c_model::{Bytes, CostModel, Interpretation, Nanos};
use q2c_policy::{Io, PolicySpec};
use q2c_result::sweep::SweepInput;
use q2c_sim::{Arrival, LaneRecording, Limits, Objective};
use std::collections::BTreeMap;

pub(crate) const READ: Io = Io::READ_4K;

pub(crate) fn trace(name: &str, lanes: Vec<LaneRecording>) -> SimTrace {
    SimTrace {
        input: SweepInput {
            path: format!("patterns/{name}.parquet"),
            taken_as: Interpretation::default(),
            lanes: lanes.len(),
            ios: lanes.iter().map(|lane| lane.len() as u64).sum(),
            sizes: vec![Bytes(4096)],
            span_ns: Nanos(lanes.iter().map(span_of).fold(0.0, f64::max) as u64),
            latency_ns: [lanes[0].wait[0].into(); 5],
        },
        lanes,
        facts: BTreeMap::new(),
    }
}

pub(crate) fn study<'a>(
    traces: &'a [SimTrace],
    policies: &'a [PolicySpec],
    cost: &'a CostModel,
    (warm_up, measure): (Nanos, Option<Nanos>),
) -> Study<'a> {
    Study {
        traces,
        reading_s: 0.0,
        policies,
        cost,
        cost_in_words: "by hand".to_owned(),
        timing: Timing {
            warm_up,
            measure,
            seed: 1,
        },
        arrival: Arrival::ClosedLoop,
        objective: Objective::default(),
        limits: Limits::default(),
        follow: None,
    }
}
