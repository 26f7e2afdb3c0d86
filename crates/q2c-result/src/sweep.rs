//! The result of `q2c poll sweep`: many configurations, simulated on one trace or several. A
//! configuration is a sleep rule with its parameters.

use crate::Warning;
use q2c_model::{Bytes, Interpretation, Nanos, SimulatedFigures};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// This version's schema name.
pub const SCHEMA: &str = "q2c.sweep/2";

/// `result.json` of a sweep.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SweepResult {
    /// [`SCHEMA`].
    pub schema: String,
    /// Version of q2c.
    pub version: String,
    /// The traces, in the order given.
    pub inputs: Vec<SweepInput>,
    /// The costs that were simulated with, in words.
    pub cost: String,
    /// `closed` (recorded think time) or `open` (recorded arrivals).
    pub arrival: String,
    /// Simulated time at the start that does not count.
    pub warm_up_ns: Nanos,
    /// Simulated time that counts, as asked for; `None` takes each trace's length.
    pub measure_ns: Option<Nanos>,
    /// Simulated time that counted, one for each trace.
    pub measured_ns: Vec<Nanos>,
    /// Seed of the random wake-up delays.
    pub seed: u64,
    /// The figure that "best" refers to: `kiops-per-core`, `iops`, `cpu`.
    pub objective: String,
    /// Limits in words.
    pub limits: Vec<String>,
    /// Every configuration on every trace: trace by trace, the configurations always in one order.
    pub cells: Vec<SimCell>,
    /// The answer of each trace.
    pub answers: Vec<SweepAnswer>,
    /// The best configuration on average over all traces; `None` when none keeps the limits.
    pub best: Option<BestRule>,
    /// The configuration with the highest smallest share of a trace's best; `None` with one trace.
    pub best_worst_case: Option<BestRule>,
    /// Indices into `cells` of each trace's Pareto front of IOPS against CPU.
    pub pareto: Vec<usize>,
    /// The bound by a rule that knows each latency: on the only trace, or the mean over all.
    pub oracle: SimulatedFigures,
    /// The time line of one configuration; `None` if none was made.
    pub timeline: Option<Timeline>,
    /// Speed of the sweep.
    pub speed: Speed,
    /// Conditions under which this result misleads.
    pub warnings: Vec<Warning>,
}

/// Facts of one trace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SweepInput {
    /// Path as the user gave it.
    pub path: String,
    /// How the trace was interpreted, what was left out, and what was assumed.
    pub taken_as: Interpretation,
    /// Number of lanes.
    pub lanes: usize,
    /// I/Os of all lanes.
    pub ios: u64,
    /// Block sizes that occur.
    pub sizes: Vec<Bytes>,
    /// Length of the trace under classic polling.
    pub span_ns: Nanos,
    /// Times from the submission's return to the reaping, ns: minimum, p10, p50, p99, maximum.
    pub latency_ns: [f64; 5],
}

/// One configuration on one trace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SimCell {
    /// Index of the trace in `inputs`.
    pub input: usize,
    /// Name of the rule.
    pub rule: String,
    /// The policy in full, as the command line takes it.
    pub policy: String,
    /// Numeric parameters by name: ratios as fractions, durations in ns.
    pub params: BTreeMap<String, f64>,
    /// Largest block size of the trace.
    pub bs: Bytes,
    /// True if the cell keeps floor and limits; `None` if only `floor_iops` can tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keeps_limits: Option<bool>,
    /// The objective over that of the trace's best; `None` if the cell may not be chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// The simulated figures.
    #[serde(flatten)]
    pub gives: SimulatedFigures,
}

/// A configuration that was chosen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BestRule {
    /// The policy in full, as the command line takes it.
    pub policy: String,
    /// Indices of the configuration's cells, one per trace.
    pub cells: Vec<usize>,
    /// The objective over each trace's best: the mean, or for the worst case the minimum.
    pub share: f64,
}

/// The answer of one trace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SweepAnswer {
    /// Index of the trace in `inputs`.
    pub input: usize,
    /// Figures of classic polling.
    pub poll: SimulatedFigures,
    /// Figures of the rule of Linux up to 6.3, even if it was not in the sweep.
    pub linux: SimulatedFigures,
    /// Figures of the oracle, which no rule can beat.
    pub oracle: SimulatedFigures,
    /// Figures of interrupts; `None` if the costs lack them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interrupt: Option<SimulatedFigures>,
    /// Index into `cells` of the best configuration; `None` when none keeps the limits.
    pub best: Option<usize>,
    /// Index of the choosable cell with the most KIOPS/core, even if it breaks the limits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_kiops_per_core: Option<usize>,
    /// Index of the choosable cell with the most IOPS, even if it breaks the limits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_iops: Option<usize>,
    /// If no configuration keeps the limits, index of the one that comes nearest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nearest: Option<usize>,
    /// The IOPS floor and its origin, in words.
    pub floor: String,
    /// The floor, IOPS.
    pub floor_iops: f64,
    /// CPU per I/O that the best configuration saves, divided by the oracle's saving (above 1 it
    /// sleeps past completions); `None` without a best configuration, or if the oracle saves none.
    pub of_oracle: Option<f64>,
    /// KIOPS/core of the best over that of Linux's rule; `None` if there is no such ratio.
    pub of_linux: Option<f64>,
    /// Indices into `cells` of the Pareto front of IOPS against CPU.
    pub pareto: Vec<usize>,
    /// The neighbours of the best configuration in the grid.
    pub neighbours: Vec<Neighbour>,
    /// Whether the best can recover from oversleep, in words; empty if it can or has no bound.
    pub stability: String,
    /// Remarks about rules on this trace.
    pub notes: Vec<String>,
}

/// A configuration one step of a parameter away from the best one in the grid.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Neighbour {
    /// The parameter that differs.
    pub param: String,
    /// The policy in full.
    pub policy: String,
    /// The neighbour's objective over that of the best.
    pub share: f64,
    /// Whether the neighbour keeps the floor and the limits.
    pub keeps_limits: bool,
}

/// The time line of one configuration, I/O by I/O, on the first lane of the first trace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Timeline {
    /// The policy in full.
    pub policy: String,
    /// Index of the trace in `inputs`.
    pub input: usize,
    /// Times at which the submissions returned, ns from the trace's start.
    pub at_ns: Vec<f64>,
    /// Latencies of the device, ns.
    pub latency_ns: Vec<f64>,
    /// Sleeps asked, ns; 0 when the I/O did not sleep.
    pub asked_ns: Vec<f64>,
    /// Times from the submission's return to the reaping, ns.
    pub woke_ns: Vec<f64>,
    /// True for each I/O that was complete when its sleep ended.
    pub missed: Vec<bool>,
    /// Number of the lane's I/Os that are not shown.
    pub left_out: u64,
}

/// The speed of the sweep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Speed {
    /// I/Os times configurations, per second of wall time.
    pub io_configs_per_s: f64,
    /// Wall time of the simulation without reading, seconds.
    pub seconds: f64,
    /// Wall time of reading, seconds.
    pub reading_s: f64,
}
