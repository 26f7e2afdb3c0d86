//! The result of a sweep in parts: the outcomes of configurations over one volume or many, and the
//! configurations that are best over several of them.

use q2c_model::{Nanos, SimulatedFigures};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// This version's schema name of [`VolumesResult`].
pub const SCHEMA: &str = "q2c.sweep-volumes/1";
/// This version's schema name of [`VolumesChoice`].
pub const CHOICE_SCHEMA: &str = "q2c.sweep-choice/1";

/// Configurations over the I/Os of volumes, all volumes together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct VolumesResult {
    /// [`SCHEMA`].
    pub schema: String,
    /// Version of q2c.
    pub version: String,
    /// The names of the volumes.
    pub volumes: Vec<String>,
    /// I/Os of all volumes, those of the warm-up included.
    pub ios: u64,
    /// Simulated time that is dropped at the start of each volume.
    pub warm_up_ns: Nanos,
    /// Simulated time that counts on each volume; `None` counts to its last I/O.
    pub measure_ns: Option<Nanos>,
    /// Seed of the drawn wake-up delays.
    pub seed: u64,
    /// I/Os counted of classic polling.
    pub poll_ios: u64,
    /// Classic polling.
    pub poll: SimulatedFigures,
    /// The configurations in the order in which they were given.
    pub cells: Vec<VolumesCell>,
    /// Configurations without figures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inexact: Vec<WithoutFigures>,
}

/// One configuration over all volumes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct VolumesCell {
    /// Name of the rule.
    pub rule: String,
    /// The policy in full, as the command line takes it.
    pub policy: String,
    /// Numeric parameters by name: ratios as fractions, durations in ns.
    pub params: BTreeMap<String, f64>,
    /// I/Os counted.
    pub ios: u64,
    /// The simulated figures.
    #[serde(flatten)]
    pub gives: SimulatedFigures,
}

/// A configuration that cannot be simulated in parts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WithoutFigures {
    /// The policy in full.
    pub policy: String,
    /// Why.
    pub reason: String,
}

/// The best configuration of each of several results over volumes, and those over all of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct VolumesChoice {
    /// [`CHOICE_SCHEMA`].
    pub schema: String,
    /// The figure by which the best was chosen.
    pub objective: String,
    /// The limits of the user, in words.
    pub limits: Vec<String>,
    /// The best of each result, in their order.
    pub best: Vec<BestOfVolumes>,
    /// The configuration with the highest mean share; `None` when none keeps the limits everywhere.
    pub on_average: Option<OverAll>,
    /// The configuration whose least share is the highest.
    pub worst_case: Option<OverAll>,
}

/// The best configuration of one result.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BestOfVolumes {
    /// The names of the result's volumes.
    pub volumes: Vec<String>,
    /// The policy; `None` when none keeps the limits.
    pub policy: Option<String>,
    /// The floor on IOPS that was applied.
    pub floor_iops: f64,
    /// Where the floor came from.
    pub floor: String,
}

/// A configuration over all results.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OverAll {
    /// The policy in full.
    pub policy: String,
    /// The mean or the least of its shares of each result's best.
    pub share: f64,
    /// The most that it loses on one result: 1 less its least share.
    pub regret: f64,
}
