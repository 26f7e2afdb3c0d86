//! What a machine can and cannot do, check by check.

use serde::{Deserialize, Serialize};

/// Outcome of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// As it should be.
    Pass,
    /// Results are valid, and worse or noisier than they could be.
    Warn,
    /// The columns named in `columns` are invalid or impossible here.
    Invalidates,
    /// Could not be read.
    Unknown,
}

/// One check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// Stable short name: `io-uring`, `poll-queues`, `governor`.
    pub id: String,
    /// Group: `kernel`, `cpu`, `idle`, `thermal`, `numa`, `irq`, `queue`, `nvme`, `target`, `tool`.
    pub group: String,
    /// Outcome.
    pub verdict: Verdict,
    /// What is invalid or impossible, when the verdict says so: engines (`io_uring`, `spdk`), methods (`iopoll`, `hipri`,
    /// `hybrid-kernel`, `hybrid-uring`) and measures (`iops`, `latency`, `cpu`, `kiops-per-core`, `effective-mode`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<String>,
    /// What was found, with the value.
    pub found: String,
    /// What it means for results.
    pub means: String,
    /// The exact line that would change it, when there is one.
    pub fix: Option<String>,
}

/// All checks of a machine, and of a target when one was named.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DoctorReport {
    /// `q2c.doctor/1`.
    pub schema: String,
    /// The checks, in the order of the groups.
    pub checks: Vec<Check>,
}
