//! The result of `q2c compare`: `result.json`, schema `q2c.compare/3`.

mod finding;

pub use finding::{CompareFinding, NoneValid, NotCaptured, WorkDone};

use crate::replay::{Invalid, ReplayJob, ReplayTrial, TraceFacts};
use crate::{Machine, Target, Warning};
use q2c_model::replay::Changes;
use q2c_model::stats::{Interval, Ratio};
use serde::{Deserialize, Serialize};

/// This version's schema name.
pub const SCHEMA: &str = "q2c.compare/3";

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
    /// Machine facts.
    pub machine: Machine,
    /// A comparison for each trace and each of its modes, in the order given.
    pub comparisons: Vec<Comparison>,
    /// Each further device against the first, over all comparisons; empty for one comparison.
    pub overall: Vec<Overall>,
    /// Conditions under which this result misleads.
    pub warnings: Vec<Warning>,
}

/// The devices compared by the replay of one trace in one mode.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// How the trace was replayed; it is the same for every device.
    pub job: ReplayJob,
    /// Facts of the trace.
    pub trace: TraceFacts,
    /// The timed replay that gave the trace its completions; `None` when none was needed.
    pub profile: Option<Profile>,
    /// The devices, in the order given.
    pub devices: Vec<DeviceRun>,
    /// The sum that is compared: of Q2C where every device has it, else of U2C.
    pub sum: CompareMetric,
    /// Comparisons of every other device with the first, by each metric.
    pub separations: Vec<Separation>,
    /// The answer, in the order in which it is told.
    pub verdict: Vec<CompareFinding>,
}

/// A timed replay of a trace without completions, whose recording is replayed then.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// The device that it ran on.
    pub device: String,
    /// Reasons why its times are not those of a faithful replay; empty when they are.
    pub invalid: Vec<Invalid>,
    /// What it changed in requests of the trace, as in a trial.
    pub changed: Changes,
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
    /// Median over the first device's, 95 %; `None` when either has under two valid trials.
    pub ratio: Option<Ratio>,
    /// The interval leaves out 1, the medians differ by more than 1 %, and the work is alike.
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

/// A device against the first, counted over the comparisons by the sum that each has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overall {
    /// Path of the device.
    pub device: String,
    /// Path of the first device, which it is compared with.
    pub with: String,
    /// Comparisons in which the device has the smaller sum.
    pub better: u32,
    /// Comparisons in which the first device has the smaller sum.
    pub worse: u32,
    /// Comparisons in which the sum does not tell them apart.
    pub alike: u32,
    /// Comparisons without an answer: too few valid trials, or other work.
    pub unknown: u32,
    /// Of all comparisons, those whose sum is of U2C, and not of Q2C.
    pub by_u2c: u32,
    /// Of all comparisons, those of a trace whose writes were left out or read.
    pub reads_only: u32,
}
