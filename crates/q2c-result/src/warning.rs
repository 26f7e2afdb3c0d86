//! Ways in which a result can mislead, as data: each names its cause and the next step.

use serde::{Deserialize, Serialize};

/// One warning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// Stable short name for programs: `iops-mismatch`, `interrupts-while-polling`, ...
    pub id: String,
    /// What was seen, with numbers.
    pub found: String,
    /// What it means for the result.
    pub means: String,
    /// What to do about it; empty when nothing can be done.
    pub todo: String,
}
