//! Warnings of a result: conditions under which its figures mislead, with cause and next step.

use serde::{Deserialize, Serialize};

/// A condition under which a result misleads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// Stable short name for programs: `iops-mismatch`, `interrupts-while-polling`, ...
    pub id: String,
    /// The condition that was found, with numbers.
    pub found: String,
    /// Its effect on the result.
    pub means: String,
    /// The next step for the user; empty when nothing can be done.
    pub todo: String,
}

/// Ids of the warnings that report a disturbance of a run's trials.
const DISTURBANCE_IDS: [&str; 15] = [
    "busy-at-rest",
    "busy-cpus-unknown",
    "calibration-contradicted",
    "costs-disturbed",
    "device-drift",
    "device-statistics",
    "interrupts-above-polling",
    "jobs-outnumber-cpus",
    "left-out",
    "never-written",
    "others-ran",
    "requests-differ",
    "shared-cpu",
    "stood-still",
    "times-fall",
];

impl Warning {
    /// Creates a warning. See the fields for what each text says.
    pub fn new(id: &str, found: String, means: &str, todo: &str) -> Self {
        Warning {
            id: id.to_owned(),
            found,
            means: means.to_owned(),
            todo: todo.to_owned(),
        }
    }

    /// True if the warning reports a disturbance, which limits the worth of a verdict.
    pub fn marks_disturbance(&self) -> bool {
        DISTURBANCE_IDS.contains(&self.id.as_str())
    }
}
