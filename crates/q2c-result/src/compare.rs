//! The result of `q2c compare`: `result.json`, schema `q2c.compare/4`.

use crate::replay::{Flaw, ReplayJob, ReplayTrial, TraceFacts};
use crate::{Machine, Provenance, Target, Warning};
use q2c_model::replay::{Changes, Idle, Writes};
use q2c_model::stats::{Interval, Ratio};
use serde::{Deserialize, Serialize};

/// This version's schema name.
pub const SCHEMA: &str = "q2c.compare/4";

/// One run of `q2c compare`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CompareResult {
    /// [`SCHEMA`].
    pub schema: String,
    /// Version of q2c.
    pub version: String,
    /// When and where the run was made.
    pub provenance: Provenance,
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
    /// The timed replay that supplied the trace's missing completions; `None` if none was needed.
    pub profile: Option<Profile>,
    /// The devices, in the order given.
    pub devices: Vec<DeviceRun>,
    /// The sum by which devices are compared: Q2C if every device has it, else U2C.
    pub sum: CompareMetric,
    /// Comparisons of every other device with the first, by each metric.
    pub separations: Vec<Separation>,
    /// The answer, in the order in which reports print it.
    pub verdict: Vec<CompareFinding>,
}

/// A timed replay of a trace without completions. Its recording is then replayed instead.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// The device on which the profile ran.
    pub device: String,
    /// Reasons why the profile's times are not those of a faithful replay; empty if they are.
    pub invalid: Vec<Flaw>,
    /// The ways in which the profile changed requests of the trace, as in a trial.
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
    /// Sum of Q2C, seconds; `None` if a valid trial lacks it.
    pub sum_q2c_s: Option<Interval>,
    /// Whether more than half of the valid trials found the device saturated.
    pub saturated: bool,
    /// The trial with the median sum; `None` if no trial is valid.
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
    /// Path of the first device, the base of the comparison.
    pub with: String,
    /// The metric: the completion time, or the sum.
    pub metric: CompareMetric,
    /// Ratio of the medians, with a 95 % interval; `None` if a device has under two valid trials.
    pub ratio: Option<Ratio>,
    /// True if the interval excludes 1, the medians differ by over 1 %, and the work is the same.
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

/// One device compared with the first, counted over all comparisons by their sums.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overall {
    /// Path of the device.
    pub device: String,
    /// Path of the first device, the base of the comparisons.
    pub with: String,
    /// Comparisons in which the device has the smaller sum.
    pub better: u32,
    /// Comparisons in which the first device has the smaller sum.
    pub worse: u32,
    /// Comparisons in which the sums do not tell the two apart.
    pub alike: u32,
    /// Comparisons without an answer: too few valid trials, or different work.
    pub unknown: u32,
    /// Comparisons of any of these outcomes whose sum is of U2C instead of Q2C.
    pub by_u2c: u32,
    /// Comparisons of any of these outcomes whose writes were left out or read instead.
    pub reads_only: u32,
}

/// A part of a comparison's answer. Devices are named by their paths.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum CompareFinding {
    /// Two devices did not do the same work, so they are not compared.
    WorkDiffers {
        /// The device that would be compared.
        device: String,
        /// The device that it would be compared with.
        with: String,
        /// Work of `device`.
        did: WorkDone,
        /// Work of `with`.
        with_did: WorkDone,
    },
    /// One device serves the trace better than another by their sums.
    Better {
        /// The better device.
        device: String,
        /// The other device.
        than: String,
        /// The sum.
        metric: CompareMetric,
        /// Sum of `device` over that of `than`: below 1.
        ratio: Ratio,
    },
    /// The metric does not tell two devices apart.
    Alike {
        /// The device that is compared.
        device: String,
        /// The device that it is compared with.
        with: String,
        /// The metric.
        metric: CompareMetric,
        /// The metric of `device` over that of `with`.
        ratio: Ratio,
    },
    /// One of two devices has fewer than two valid trials.
    FewTrials {
        /// The device that would be compared.
        device: String,
        /// The device that it would be compared with.
        with: String,
        /// The metric.
        metric: CompareMetric,
    },
    /// The completion time separates two devices.
    TimeSeparates {
        /// The device that is compared.
        device: String,
        /// The device that it is compared with.
        with: String,
        /// Completion time of `device` over that of `with`.
        ratio: Ratio,
        /// Whether the sum separates them, too.
        sum_separates: bool,
        /// All devices of the comparison that the trace overloads.
        overloaded: Vec<String>,
    },
    /// Something separates devices that have few valid trials.
    FewToBeSure {
        /// The fewest valid trials of a device.
        trials: u32,
        /// Probability that all trials of one of two equal devices lie above the other's, 0..1.
        chance: f64,
    },
    /// Two targets lie on one disk.
    OneDisk {
        /// The device that is compared.
        device: String,
        /// The device that it is compared with.
        with: String,
        /// The disk's name.
        disk: String,
    },
    /// A timed replay on a device that idles takes as long as the trace, on any device.
    TimeCannotTell {
        /// The device that is compared.
        device: String,
        /// The device that it is compared with.
        with: String,
        /// Completion time of `device` over that of `with`.
        ratio: Ratio,
        /// Share of the time in which `device` was idle, 0..1.
        device_idle: f64,
        /// Share of the time in which `with` was idle, 0..1.
        with_idle: f64,
    },
    /// The replay was outstanding, and the trace's devices idle at times.
    TraceIdles {
        /// Share of the trace's time without a request in flight, 0..1.
        share: f64,
        /// How the replay treated this time.
        idle: Idle,
    },
    /// The sums are of U2C, because not every device has a valid sum of Q2C.
    SumsOfU2c {
        /// Whether some device has a valid sum of Q2C.
        some_have_q2c: bool,
        /// The reason why nothing was captured; `None` if something was.
        not_captured: Option<NotCaptured>,
    },
    /// The answer covers only reads, although the trace has writes.
    ReadsOnly {
        /// Writes of the trace that were not written.
        writes: u64,
        /// The treatment of these writes: they were left out, or read instead.
        treatment: Writes,
    },
    /// A device's sum of Q2C has more or fewer terms than requests, by over 1 %.
    TermsDiffer {
        /// The device.
        device: String,
        /// Reads and writes that were submitted.
        requests: u64,
        /// Reads and writes in the sum minus those submitted.
        excess: i64,
    },
    /// A device has no valid trial.
    NoValidTrial {
        /// The device.
        device: String,
        /// The reason from the first trial.
        why: NoValidReason,
    },
}

/// The work that a device did in a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkDone {
    /// Requests submitted.
    pub requests: u64,
    /// Bytes moved.
    pub bytes: u64,
}

/// Why a comparison did not capture Q2C.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NotCaptured {
    /// The capture was switched off.
    NotAsked,
    /// A device is simulated or has no disk to capture, so its sum could not be compared.
    NoDisk(String),
    /// The capture was refused: the error, in the words of the part that failed.
    Refused(String),
}

/// Why a device has no valid trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoValidReason {
    /// A trial was run, and is invalid.
    Invalid(Flaw),
    /// A trial could not be run: the error, in the words of the part that failed.
    Failed(String),
    /// No trial was run.
    NotRun,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_are_read_as_they_are_written() {
        let few = CompareFinding::FewTrials {
            device: "b".to_owned(),
            with: "a".to_owned(),
            metric: CompareMetric::SumQ2c,
        };
        let json = r#"{"kind":"few-trials","device":"b","with":"a","metric":"sum of Q2C"}"#;
        crate::tests::assert_json(&few, json);
        let none = CompareFinding::NoValidTrial {
            device: "b".to_owned(),
            why: NoValidReason::NotRun,
        };
        let json = r#"{"kind":"no-valid-trial","device":"b","why":"not-run"}"#;
        crate::tests::assert_json(&none, json);
    }
}
