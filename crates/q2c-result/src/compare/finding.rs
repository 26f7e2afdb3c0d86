//! The answer of a comparison as kinds and numbers. `q2c-report` makes the sentences.

use super::CompareMetric;
use crate::replay::Invalid;
use q2c_model::replay::{Idle, Writes};
use q2c_model::stats::Ratio;
use serde::{Deserialize, Serialize};

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
    /// An outstanding replay of a trace whose devices idle.
    TraceIdles {
        /// Share of the trace's time in which its devices have nothing in flight, 0..1.
        share: f64,
        /// The replay's treatment of this time.
        idle: Idle,
    },
    /// The sums are of U2C, because not every device has a valid sum of Q2C.
    SumsOfU2c {
        /// Whether some device has a valid sum of Q2C.
        some_have_q2c: bool,
        /// The reason why nothing was captured; `None` where something was.
        not_captured: Option<NotCaptured>,
    },
    /// The answer is on reads alone, although the trace has writes.
    ReadsOnly {
        /// Writes of the trace that were not written.
        writes: u64,
        /// What happened to them: they were left out, or read instead.
        treatment: Writes,
    },
    /// The sum of Q2C of a device has not one Q2C for each request, by more than a hundredth.
    TermsDiffer {
        /// The device.
        device: String,
        /// Reads and writes that were submitted.
        requests: u64,
        /// Reads and writes in the sum, less those submitted.
        excess: i64,
    },
    /// A device has no valid trial.
    NoValidTrial {
        /// The device.
        device: String,
        /// The first reason.
        why: NoneValid,
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

/// Why a comparison has not captured Q2C.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NotCaptured {
    /// It was switched off.
    NotAsked,
    /// A device is simulated, or has no disk to capture: no sum could be compared with its own.
    NoDisk(String),
    /// It is refused: the error, in the words of the part that failed.
    Refused(String),
}

/// Why a device has no valid trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoneValid {
    /// A trial was run, and is invalid.
    Invalid(Invalid),
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
            why: NoneValid::NotRun,
        };
        let json = r#"{"kind":"no-valid-trial","device":"b","why":"not-run"}"#;
        crate::tests::assert_json(&none, json);
    }
}
