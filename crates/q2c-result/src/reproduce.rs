//! The result of `q2c reproduce`: the figures of a published experiment's phases on this machine.

use crate::mode::Mode;
use q2c_model::{Bytes, Rates};
use serde::{Deserialize, Serialize};

/// This version's schema name.
pub const SCHEMA: &str = "q2c.reproduce/1";

/// The figures of one phase in one trial, over all foreground lanes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PhaseOutcome {
    /// Speed, cost and sleeps.
    #[serde(flatten)]
    pub rates: Rates<f64>,
    /// Mean time from the call of a sleep to its return, ns.
    pub slept_ns: f64,
    /// Median of U2C, ns.
    pub p50_ns: f64,
    /// 99th percentile of U2C, ns.
    pub p99_ns: f64,
    /// The mode that really ran; `None` in results of earlier versions.
    #[serde(default)]
    pub was: Option<Mode>,
    /// Interrupts of the device per I/O of the foreground, those of the background included;
    /// `None` when they could not be read.
    #[serde(default)]
    pub interrupts_per_io: Option<f64>,
}

/// The outcome of one trial: all phases of the experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PhaseTrial {
    /// The phases in the order of the experiment.
    pub phases: Vec<PhaseOutcome>,
}

/// `result.json` of a reproduced experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReproduceResult {
    /// [`SCHEMA`].
    pub schema: String,
    /// Name of the experiment.
    pub name: String,
    /// The foreground's sleep rule, as text.
    pub policy: String,
    /// The foreground's engine, which says the path to the device; empty in results of earlier
    /// versions.
    #[serde(default)]
    pub engine: String,
    /// Labels of the phases, in order.
    pub phases: Vec<String>,
    /// The cells, one per block size.
    pub cells: Vec<ReproduceCell>,
    /// The published findings, one per entry.
    pub published: Vec<String>,
}

/// The trials of one block size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReproduceCell {
    /// Block size.
    pub bs: Bytes,
    /// Trials that went well; empty when the run was stopped before the first.
    pub trials: Vec<PhaseTrial>,
}
