//! The plan of a run.

use q2c_model::Nanos;
use q2c_policy::PolicySpec;
use q2c_sim::{Limits, Objective};

/// How long each phase lasts, which rules are simulated, and which of them is best.
#[derive(Clone, Debug, PartialEq)]
pub struct TuneKernelSpec {
    /// Longest wait for the load's first polled requests.
    pub patience: Nanos,
    /// Length of the recording under classic polling.
    pub record: Nanos,
    /// Length of each stretch of the calibration.
    pub calibrate: Nanos,
    /// Length of a trial, without the time in which the rule settles.
    pub trial: Nanos,
    /// Trials of each method.
    pub trials: u32,
    /// Rules to simulate; empty for the standard grid. Those that do not fit are counted.
    pub policies: Vec<PolicySpec>,
    /// The figure by which the best rule is chosen.
    pub objective: Objective,
    /// The limits that the best rule must keep.
    pub limits: Limits,
    /// Seed of the draws and of the order of the trials.
    pub seed: u64,
}
