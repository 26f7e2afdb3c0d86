//! The result of `q2c doctor`: checks of what the machine can and cannot do.

use serde::{Deserialize, Serialize};

/// Outcome of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The fact is as it should be.
    Pass,
    /// Results are valid, but worse or noisier than they could be.
    Warn,
    /// The columns in [`Check::columns`] are invalid or impossible here.
    Invalidates,
    /// The fact could not be read.
    Unknown,
}

/// One check with its outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// Stable short name: `io-uring`, `poll-queues`, `governor`.
    pub id: String,
    /// Group: `kernel`, `cpu`, `idle`, `thermal`, `numa`, `irq`, `queue`, `nvme`, `target`, `tool`.
    pub group: String,
    /// Outcome of the check.
    pub verdict: Verdict,
    /// The columns that [`Verdict::Invalidates`] refers to: engines (`io_uring`, `spdk`), methods
    /// (`iopoll`, `hipri`, `hybrid-kernel`, `hybrid-uring`) and measures (`iops`, `latency`, `cpu`,
    /// `kiops-per-core`, `effective-mode`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<String>,
    /// The fact that was found, with its value.
    pub found: String,
    /// The effect of the fact on results.
    pub means: String,
    /// The exact line that would change the fact, when there is one.
    pub fix: Option<String>,
}

/// All checks of a machine, and of a target when one was named.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DoctorReport {
    /// Name of the schema: `q2c.doctor/1`.
    pub schema: String,
    /// The checks, in the order of the groups.
    pub checks: Vec<Check>,
}
