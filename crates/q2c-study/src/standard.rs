//! The policies that compete where nothing else is asked for.

use q2c_model::Nanos;
use q2c_policy::{PolicySpec, RULES};
use q2c_sim::Grid;

/// The simulator's grid for this median latency, and every other rule with its defaults.
#[must_use]
pub fn standard(p50: Nanos) -> Vec<PolicySpec> {
    let mut policies = Grid::standard(p50).policies;
    let has = |policies: &[PolicySpec], name: &str| policies.iter().any(|p| p.rule().name == name);
    for rule in RULES {
        if let (false, Ok(policy)) = (has(&policies, rule.name), rule.name.parse()) {
            policies.push(policy);
        }
    }
    policies
}
