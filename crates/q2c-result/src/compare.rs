//! The result of `q2c compare`: `result.json`, schema `q2c.compare/1`.

use crate::replay::{ReplayJob, ReplayTrial, TraceFacts};
use crate::{Machine, Target, Warning};
use q2c_stats::{Interval, Ratio};
use serde::{Deserialize, Serialize};

/// This version's schema name.
pub const SCHEMA: &str = "q2c.compare/1";

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
    /// How the trace was replayed, the same for every device.
    pub job: ReplayJob,
    /// What was replayed.
    pub trace: TraceFacts,
    /// Machine facts.
    pub machine: Machine,
    /// The devices, in the order given.
    pub devices: Vec<DeviceRun>,
    /// Which sum is compared: `sum of Q2C` where every device has it, else `sum of U2C`.
    pub sum: String,
    /// Every device after the first against the first, by each metric.
    pub separations: Vec<Separation>,
    /// The answer, in sentences.
    pub verdict: Vec<String>,
    /// Ways in which this result can mislead.
    pub warnings: Vec<Warning>,
}

/// One device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceRun {
    /// Target facts.
    pub target: Target,
    /// Completion time, seconds, over valid trials.
    pub completion_s: Interval,
    /// Sum of U2C, seconds.
    pub sum_u2c_s: Interval,
    /// Sum of U2C from the intended times, seconds.
    pub sum_u2c_intended_s: Interval,
    /// Sum of Q2C, seconds; none where a valid trial has none.
    pub sum_q2c_s: Option<Interval>,
    /// Whether more than half of the trials found it saturated.
    pub saturated: bool,
    /// The trial with the median sum; none where no trial is valid.
    pub shown: Option<ReplayTrial>,
    /// All trials, in the order in which they ran; their windows and curves left out.
    pub trials: Vec<ReplayTrial>,
    /// Reasons of trials that failed.
    pub failures: Vec<String>,
}

/// Two devices by one metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Separation {
    /// Path of the device that is compared.
    pub device: String,
    /// Path of the device it is compared with: the first.
    pub with: String,
    /// `completion time`, or the sum's name.
    pub metric: String,
    /// The device's median over that of the first, with the 95 % interval; none where trials are lacking.
    pub ratio: Option<Ratio>,
    /// Whether the interval leaves 1 out and the medians differ by more than 1 %.
    pub separates: bool,
}
