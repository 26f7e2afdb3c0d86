//! The result of `q2c poll sweep`: many configurations, simulated on one trace or several. A
//! configuration is a sleep rule with its parameters.

use crate::Warning;
use q2c_model::{Bytes, Nanos, SimulatedFigures, TakenAs};
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
    /// Simulated time that is dropped at the start.
    pub warm_up_ns: Nanos,
    /// Simulated time that counts, as it was asked for.
    pub measure_ns: Option<Nanos>,
    /// Simulated time that counted, by trace.
    pub measured_ns: Vec<Nanos>,
    /// Seed of the drawn wake-up delays.
    pub seed: u64,
    /// The figure that "best" refers to: `kiops-per-core`, `iops`, `cpu`.
    pub objective: String,
    /// Limits in words.
    pub limits: Vec<String>,
    /// Every configuration on every trace: trace by trace, in the same order on each.
    pub cells: Vec<SimCell>,
    /// The answer of each trace.
    pub answers: Vec<SweepAnswer>,
    /// The best configuration on average over all traces; `None` when none keeps the limits.
    pub best: Option<Best>,
    /// The configuration whose lowest share of a trace's best is highest; `None` with one trace.
    pub best_worst_case: Option<Best>,
    /// Indices into `cells`: each trace's Pareto front of IOPS against CPU.
    pub pareto: Vec<usize>,
    /// The bound of a rule that knows each latency: of the only trace, or the mean over all.
    pub oracle: SimulatedFigures,
    /// The time line of one configuration, when it was made.
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
    /// What the trace was taken as, what was left out, and what was assumed.
    pub taken_as: TakenAs,
    /// Number of lanes.
    pub lanes: usize,
    /// I/Os of all lanes.
    pub ios: u64,
    /// Block sizes that occur.
    pub sizes: Vec<Bytes>,
    /// Length of the trace in classic polling.
    pub span_ns: Nanos,
    /// From the submission's return to the reaping, ns: least, 10 %, 50 %, 99 %, largest.
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
    /// Whether it keeps floor and limits; `None` where only the floor is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keeps_limits: Option<bool>,
    /// The objective over that of the trace's best; `None` where it may not be chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// The simulated figures.
    #[serde(flatten)]
    pub gives: SimulatedFigures,
}

/// A configuration that was chosen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Best {
    /// The policy in full, as the command line takes it.
    pub policy: String,
    /// Indices of the configuration's cells, one per trace.
    pub cells: Vec<usize>,
    /// The objective over that of each trace's best: the mean, or the least for the worst case.
    pub share: f64,
}

/// The answer of one trace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SweepAnswer {
    /// Index of the trace in `inputs`.
    pub input: usize,
    /// Figures of classic polling.
    pub poll: SimulatedFigures,
    /// Figures of the rule of Linux until 6.3, whether it was in the sweep or not.
    pub linux: SimulatedFigures,
    /// Figures of the oracle, which no rule can beat.
    pub oracle: SimulatedFigures,
    /// Figures of interrupts; `None` where the costs do not have theirs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interrupt: Option<SimulatedFigures>,
    /// Index of the best configuration in `cells`; `None` when no configuration keeps the limits.
    pub best: Option<usize>,
    /// Index of the one with the most KIOPS/core of those that may be chosen, limits or not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_kiops_per_core: Option<usize>,
    /// The same for the most IOPS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_iops: Option<usize>,
    /// Where no configuration keeps the limits, index of the one that is nearest to them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nearest: Option<usize>,
    /// The IOPS floor and where it comes from, in words.
    pub floor: String,
    /// The floor, IOPS.
    pub floor_iops: f64,
    /// CPU per I/O that the best configuration saves over what the oracle saves (above 1 it sleeps
    /// past completions); `None` without a best one, or where the oracle saves none.
    pub of_oracle: Option<f64>,
    /// KIOPS/core of the best over that of Linux's rule; `None` where there is no such ratio.
    pub of_linux: Option<f64>,
    /// Indices into `cells`: the Pareto front of IOPS against CPU.
    pub pareto: Vec<usize>,
    /// The neighbours of the best configuration in the grid.
    pub neighbours: Vec<Neighbour>,
    /// Whether the best can recover from oversleep, in words; empty when it can or has no bound.
    pub stability: String,
    /// Remarks about rules on this trace.
    pub notes: Vec<String>,
}

/// A configuration one step beside the best one in the grid.
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
    /// When each submission returned, ns from the trace's start.
    pub at_ns: Vec<f64>,
    /// Latency of the device, ns.
    pub latency_ns: Vec<f64>,
    /// Sleep asked, ns; 0 when the I/O did not sleep.
    pub asked_ns: Vec<f64>,
    /// From the submission's return to the reaping, ns.
    pub woke_ns: Vec<f64>,
    /// Whether the I/O was complete when its sleep ended.
    pub missed: Vec<bool>,
    /// I/Os of the lane that are not shown.
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
