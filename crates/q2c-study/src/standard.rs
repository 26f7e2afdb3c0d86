//! The policies that compete where nothing else is asked for.

use q2c_model::Nanos;
use q2c_policy::{PolicySpec, RULES};
use q2c_sim::Grid;

/// The simulator's grid for this median latency, and every other rule with its defaults.
#[must_use]
pub fn standard(p50: Nanos) -> Vec<PolicySpec> {
    let mut all = Grid::standard(p50).policies;
    let has = |all: &[PolicySpec], name: &str| all.iter().any(|p| p.rule().name == name);
    for rule in RULES {
        if let (false, Ok(policy)) = (has(&all, rule.name), rule.name.parse()) {
            all.push(policy);
        }
    }
    all
}
