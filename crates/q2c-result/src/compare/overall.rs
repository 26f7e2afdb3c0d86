//! Two devices over all comparisons of a run.

use serde::{Deserialize, Serialize};

/// How a device did against the first one, counted over the comparisons of all traces and modes by
/// the sum that each of them compares.
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
