//! When, where and how long a run was made: the only part of a simulated run's result that two runs
//! of the same plan and seed do not share.

use serde::{Deserialize, Serialize};

/// When, where and how long a run was made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    /// Start, Unix time in seconds.
    pub started_unix_s: u64,
    /// Wall time of the whole run, seconds.
    pub seconds: f64,
    /// Path of the run folder; `None` for a result that has none.
    pub folder: Option<String>,
    /// Host name and kernel of the machine that the program ran on; `None` where they could not be
    /// read.
    pub host: Option<String>,
}
