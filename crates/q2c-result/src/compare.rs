//! The result of `q2c compare`: `result.json`, schema `q2c.compare/2`.

mod finding;

pub use finding::{CompareFinding, NoneValid, WorkDone};

use crate::replay::{ReplayJob, ReplayTrial, TraceFacts};
use crate::{Machine, Target, Warning};
use q2c_stats::{Interval, Ratio};
use serde::{Deserialize, Serialize};

/// This version's schema name.
pub const SCHEMA: &str = "q2c.compare/2";
/// Schemas of earlier versions that can be read.
pub const EARLIER: [&str; 1] = ["q2c.compare/1"];

/// One run of `q2c compare`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CompareResult {
    /// [`SCHEMA`].
    pub schema: String,
    /// Version of q2c.
    pub version: String,
    /// Start, Unix time in seconds.
    pub started_unix_s: u64,
    /// Wall time of the whole run, seconds.
    pub seconds: f64,
    /// False when the run was stopped early.
    pub complete: bool,
    /// How the trace was replayed; it is the same for every device.
    pub job: ReplayJob,
    /// Facts of the trace.
    pub trace: TraceFacts,
    /// Machine facts.
    pub machine: Machine,
    /// The devices, in the order given.
    pub devices: Vec<DeviceRun>,
    /// The sum that is compared: of Q2C where every device has it, else of U2C.
    pub sum: CompareMetric,
    /// Comparisons of every other device with the first, by each metric.
    pub separations: Vec<Separation>,
    /// The answer, in the order in which it is told.
    pub verdict: Vec<CompareFinding>,
    /// Conditions under which this result misleads.
    pub warnings: Vec<Warning>,
}

/// One device with its trials. Intervals are over the valid trials.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceRun {
    /// Target facts.
    pub target: Target,
    /// Completion time, seconds.
    pub completion_s: Interval,
    /// Sum of U2C, seconds.
    pub sum_u2c_s: Interval,
    /// Sum of U2C from the intended times, seconds.
    pub sum_u2c_intended_s: Interval,
    /// Sum of Q2C, seconds; `None` where a valid trial lacks it.
    pub sum_q2c_s: Option<Interval>,
    /// Whether more than half of the valid trials found the device saturated.
    pub saturated: bool,
    /// The trial with the median sum; `None` where no trial is valid.
    pub shown: Option<ReplayTrial>,
    /// All trials, in the order in which they ran, without their windows and curves.
    pub trials: Vec<ReplayTrial>,
    /// Reasons of trials that failed.
    pub failures: Vec<String>,
}

/// The comparison of two devices by one metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Separation {
    /// Path of the device that is compared.
    pub device: String,
    /// Path of the first device, which it is compared with.
    pub with: String,
    /// The metric: the completion time, or the sum.
    pub metric: CompareMetric,
    /// The device's median over that of the first, with the 95 % interval; `None` when either has
    /// fewer than two valid trials.
    pub ratio: Option<Ratio>,
    /// Whether the interval does not contain 1, the medians differ by more than 1 %, and both
    /// devices did the same work.
    pub separates: bool,
}

/// A number of a trial by which devices are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CompareMetric {
    /// From the schedule's start to the last completion.
    #[serde(rename = "completion time")]
    CompletionTime,
    /// The sum of Q2C over all requests.
    #[serde(rename = "sum of Q2C")]
    SumQ2c,
    /// The sum of U2C over all requests.
    #[serde(rename = "sum of U2C")]
    SumU2c,
}
