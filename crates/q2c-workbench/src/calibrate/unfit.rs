//! Reasons for which a stored calibration is not used again.

use crate::busy::Others;
use crate::workload::Workload;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Why a stored calibration is not used again, but measured anew.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unfit {
    /// Other work was done on the machine when it was measured.
    Busy {
        /// Number of CPUs that were busy just before.
        cpus: f64,
    },
    /// The trials of a run contradicted it.
    Contradicted,
}

impl Unfit {
    /// Why one measured now is unfit. Background jobs keep CPUs busy on purpose.
    pub fn now(workload: &Workload) -> Option<Self> {
        Self::from_others(workload.others())
    }

    fn from_others(others: Others) -> Option<Self> {
        let cpus = others.known;
        others.at_rest.then_some(Unfit::Busy { cpus })
    }
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unfit::Busy { cpus } => {
                write!(
                    f,
                    "{cpus:.2} CPUs were busy with other work when it was measured"
                )
            }
            Unfit::Contradicted => f.write_str("the trials of a run contradicted it"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_calibration_of_a_busy_machine_is_unfit() {
        assert_eq!(Unfit::from_others(Others::from_idle_cpus(0.1)), None);
        let busy = Unfit::from_others(Others::from_idle_cpus(1.4));
        assert_eq!(busy, Some(Unfit::Busy { cpus: 1.4 }));
    }
}
