//! The results of sweeps in parts: the outcome of each policy over one or several volumes, and the
//! policies that are best over several results.

use q2c_model::{Nanos, SimulatedFigures};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Schema name of [`VolumesResult`] in this version.
pub const SCHEMA: &str = "q2c.sweep-volumes/1";
/// Schema name of [`VolumesChoice`] in this version.
pub const CHOICE_SCHEMA: &str = "q2c.sweep-choice/1";

/// Policies, each over the I/Os of all volumes together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct VolumesResult {
    /// [`SCHEMA`].
    pub schema: String,
    /// Version of q2c.
    pub version: String,
    /// The names of the volumes.
    pub volumes: Vec<String>,
    /// I/Os of all volumes, including those of the warm-up.
    pub ios: u64,
    /// Warm-up: the simulated time at the start of each volume, in which I/Os do not count.
    pub warm_up_ns: Nanos,
    /// Simulated time that counts on each volume; `None` goes up to the last I/O.
    pub measure_ns: Option<Nanos>,
    /// Seed of the random wake-up delays.
    pub seed: u64,
    /// I/Os that count under classic polling.
    pub poll_ios: u64,
    /// Figures of classic polling.
    pub poll: SimulatedFigures,
    /// The policies in the order in which they were given.
    pub cells: Vec<VolumesCell>,
    /// Policies without figures, since they cannot be simulated in parts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inexact: Vec<WithoutFigures>,
}

/// One policy over all volumes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct VolumesCell {
    /// Name of the rule.
    pub rule: String,
    /// The policy in full, as the command line takes it.
    pub policy: String,
    /// Numeric parameters by name: ratios as fractions, durations in ns.
    pub params: BTreeMap<String, f64>,
    /// Number of I/Os that count.
    pub ios: u64,
    /// The simulated figures.
    #[serde(flatten)]
    pub gives: SimulatedFigures,
}

/// A policy that cannot be simulated in parts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WithoutFigures {
    /// The policy in full.
    pub policy: String,
    /// The reason in words.
    pub reason: String,
}

/// The best policy of each result over volumes, and the best over all these results. A policy's
/// *share* of a result is its objective over that of the result's best policy.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct VolumesChoice {
    /// [`CHOICE_SCHEMA`].
    pub schema: String,
    /// The figure by which the best was chosen.
    pub objective: String,
    /// The limits of the user, in words.
    pub limits: Vec<String>,
    /// The best of each result, in the order of the results.
    pub best: Vec<BestOfVolumes>,
    /// The policy with the highest mean share; `None` when none keeps the limits everywhere.
    pub on_average: Option<OverallPolicy>,
    /// The policy whose smallest share is the highest; `None` when none keeps the limits.
    pub worst_case: Option<OverallPolicy>,
}

/// The best policy of one result.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BestOfVolumes {
    /// The names of the result's volumes.
    pub volumes: Vec<String>,
    /// The policy; `None` when none keeps the limits.
    pub policy: Option<String>,
    /// The smallest IOPS that the policy must keep.
    pub floor_iops: f64,
    /// The origin of the floor, in words.
    pub floor: String,
}

/// A policy over all results.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OverallPolicy {
    /// The policy in full.
    pub policy: String,
    /// The mean or the smallest of the policy's shares.
    pub share: f64,
    /// The largest loss on one result: 1 minus the smallest share.
    pub regret: f64,
}
