//! The result of `q2c poll sim`: classic polling, the oracle and some sleep rules, simulated on one
//! trace.

use crate::Warning;
use q2c_model::{Interpretation, Nanos, SimulatedFigures};
use q2c_policy::FormulaCounts;
use serde::{Deserialize, Serialize};

/// This version's schema name.
pub const SCHEMA: &str = "q2c.poll-sim/1";

/// The trace, the costs, and the outcome of each method.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SimResult {
    /// [`SCHEMA`].
    pub schema: String,
    /// Path of the trace as the user gave it.
    pub trace: String,
    /// Lanes of the trace.
    pub lanes: usize,
    /// I/Os of all lanes.
    pub ios: u64,
    /// How the trace was interpreted, what was left out, and what was assumed.
    pub taken_as: Interpretation,
    /// The costs that were simulated with, in words.
    pub cost: String,
    /// Simulated time at the start that does not count.
    pub warm_up_ns: Nanos,
    /// Simulated time that counts.
    pub measure_ns: Nanos,
    /// Seed of the random wake-up delays.
    pub seed: u64,
    /// Classic polling, the oracle, and the rules in the order given.
    pub methods: Vec<SimMethod>,
    /// Conditions under which this result misleads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
}

/// One method with its figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SimMethod {
    /// Name of the method: `poll`, `oracle`, or `hybrid:` and the rule with its parameters.
    pub method: String,
    /// Number of I/Os that count.
    pub ios: u64,
    /// The figures of the I/Os that count.
    #[serde(flatten)]
    pub gives: SimulatedFigures,
    /// The windows of a rule with a formula, those of the warm-up included; `None` for any other
    /// rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub windows: Option<FormulaCounts>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_of_a_method_stand_beside_its_name() {
        let mut method = SimMethod {
            method: "poll".to_owned(),
            ios: 3,
            gives: SimulatedFigures::default(),
            windows: None,
        };
        let written = serde_json::to_value(&method).unwrap();
        assert!(written["iops"] == 0.0 && written.get("windows").is_none());
        method.windows = Some(FormulaCounts {
            windows: 5,
            negative: 1,
            undefined: 2,
        });
        let written = serde_json::to_value(&method).unwrap();
        assert_eq!(written["windows"]["negative"], 1);
        let read: SimMethod = serde_json::from_value(written).unwrap();
        assert_eq!(read, method);
    }
}
