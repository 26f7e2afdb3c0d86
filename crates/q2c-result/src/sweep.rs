//! Result of `q2c poll sweep`: many configurations simulated on one trace or several.

use crate::Warning;
use q2c_model::{Bytes, Nanos};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The schema this module writes.
pub const SCHEMA: &str = "q2c.sweep/1";

/// `result.json` of a sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepResult {
    /// [`SCHEMA`].
    pub schema: String,
    /// q2c's version.
    pub version: String,
    /// The traces.
    pub inputs: Vec<SweepInput>,
    /// Costs, in words.
    pub cost: String,
    /// `closed` (recorded think time) or `open` (recorded arrivals).
    pub arrival: String,
    /// Simulated time before anything counts.
    pub warm_up_ns: Nanos,
    /// Simulated time that counts; `None`: each trace once.
    pub measure_ns: Option<Nanos>,
    /// Seed of the drawn wake-up delays.
    pub seed: u64,
    /// Objective.
    pub objective: String,
    /// Limits in words.
    pub limits: Vec<String>,
    /// Every configuration on every trace: trace by trace, the configurations in the same order on each.
    pub cells: Vec<SimCell>,
    /// What the cells of each trace say.
    pub answers: Vec<SweepAnswer>,
    /// The best configuration: of the only trace, or over all of them on average; `None` when none keeps the limits.
    pub best: Option<Best>,
    /// Several traces: the one whose lowest share of a trace's best is highest.
    pub best_worst_case: Option<Best>,
    /// Indices into `cells`: each trace's Pareto front, IOPS against CPU.
    pub pareto: Vec<usize>,
    /// The bound: a rule that knows each latency. Of the only trace, or the mean over all.
    pub oracle: Rates,
    /// The time line of one configuration.
    pub timeline: Option<Timeline>,
    /// Speed of the sweep.
    pub speed: Speed,
    /// Ways in which this result can mislead.
    pub warnings: Vec<Warning>,
}

/// One trace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SweepInput {
    /// As given.
    pub path: String,
    /// What was assumed where it does not tell; empty when nothing was.
    pub taken_as: String,
    /// Lanes.
    pub lanes: usize,
    /// I/Os.
    pub ios: u64,
    /// Block sizes.
    pub sizes: Vec<Bytes>,
    /// Length in classic polling.
    pub span_ns: Nanos,
    /// Quantiles of the latency (submission's return to reaping): least, 10 %, 50 %, 99 %, largest.
    pub latency_ns: [f64; 5],
}

/// Rates and shares of one simulated method. All lanes together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Rates {
    /// I/Os per second.
    pub iops: f64,
    /// Thread CPU, percent of one CPU and lane.
    pub cpu_pct: f64,
    /// Thread CPU per I/O, ns.
    pub cpu_ns_per_io: f64,
    /// Thousand I/Os per second and busy CPU of the machine.
    pub kiops_per_core: f64,
    /// I/Os complete when their sleep ended / all I/Os.
    pub miss_rate: f64,
    /// Sum of sleeps asked / all I/Os, ns.
    pub effective_sleep_ns: f64,
    /// Late time / latency, both summed.
    pub t_over: f64,
    /// Polled time / latency, both summed.
    pub t_under: f64,
    /// Latency (U2C): mean, ns.
    pub mean_ns: f64,
    /// Latency (U2C): median, ns.
    pub p50_ns: f64,
    /// Latency (U2C): 99th percentile, ns.
    pub p99_ns: f64,
    /// Latency (U2C): 99.9th percentile, ns.
    pub p999_ns: f64,
}

/// One configuration on one trace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SimCell {
    /// Index into `inputs`.
    pub input: usize,
    /// Rule's name.
    pub rule: String,
    /// The policy in full, as the command line takes it.
    pub policy: String,
    /// Numeric parameters by name: ratios as fractions, durations in ns.
    pub params: BTreeMap<String, f64>,
    /// Largest block size of the trace.
    pub bs: Bytes,
    /// What it gives.
    #[serde(flatten)]
    pub gives: Rates,
}

/// A configuration that was chosen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Best {
    /// The policy.
    pub policy: String,
    /// Indices of its cells, one per trace.
    pub cells: Vec<usize>,
    /// The objective over the best of each trace: its mean, or its least for the worst case; 1 for a single trace.
    pub share: f64,
}

/// What the cells of one trace say.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SweepAnswer {
    /// Index into `inputs`.
    pub input: usize,
    /// Classic polling.
    pub poll: Rates,
    /// Linux's rule until 6.3, whether it was in the sweep or not.
    pub linux: Rates,
    /// The bound.
    pub oracle: Rates,
    /// Index into `cells`; `None` when none keeps the limits.
    pub best: Option<usize>,
    /// The IOPS floor, and where it came from.
    pub floor: String,
    /// The floor, IOPS.
    pub floor_iops: f64,
    /// CPU per I/O that the best saves against classic polling, over what the oracle saves.
    pub of_oracle: Option<f64>,
    /// KIOPS/core of the best over that of Linux's rule.
    pub of_linux: Option<f64>,
    /// Indices into `cells`, IOPS against CPU.
    pub pareto: Vec<usize>,
    /// What the best one's neighbours have of its objective.
    pub neighbours: Vec<Neighbour>,
    /// Whether the best can recover from oversleep; empty when it can, or where the bound says nothing about its rule.
    pub stability: String,
    /// What is worth saying about rules on this trace.
    pub notes: Vec<String>,
}

/// One step off the best.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Neighbour {
    /// The parameter that differs.
    pub param: String,
    /// The policy.
    pub policy: String,
    /// The objective over the best's.
    pub share: f64,
    /// Whether it keeps the floor and the limits.
    pub keeps_limits: bool,
}

/// I/O by I/O, for one configuration on the first trace's first lane.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Timeline {
    /// The policy.
    pub policy: String,
    /// Index into `inputs`.
    pub input: usize,
    /// When each submission returned, ns from the trace's start.
    pub at_ns: Vec<f64>,
    /// The device's latency.
    pub latency_ns: Vec<f64>,
    /// Sleep asked, 0 without one.
    pub asked_ns: Vec<f64>,
    /// Submission's return to wake-up; the latency where nothing slept.
    pub woke_ns: Vec<f64>,
    /// Whether the I/O was complete when its sleep ended.
    pub missed: Vec<bool>,
    /// I/Os of the trace that are not shown.
    pub left_out: u64,
}

/// How fast the sweep was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Speed {
    /// I/Os times configurations, per second of wall time.
    pub io_configs_per_s: f64,
    /// Wall time of the simulation, without reading.
    pub seconds: f64,
    /// Wall time of reading.
    pub reading_s: f64,
}
