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

/// Names of the warnings that say that something disturbed the trials of a run.
const DISTURBED: [&str; 15] = [
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
    /// A warning. The fields say what each text is.
    pub fn new(id: &str, found: String, means: &str, todo: &str) -> Self {
        Warning {
            id: id.to_owned(),
            found,
            means: means.to_owned(),
            todo: todo.to_owned(),
        }
    }

    /// Whether it tells of a disturbance, which limits what a verdict is worth.
    pub fn is_of_disturbance(&self) -> bool {
        DISTURBED.contains(&self.id.as_str())
    }
}
