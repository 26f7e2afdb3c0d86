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
