//! The policies of a sweep, and whether it is worth its time.

use super::standard::standard;
use super::sweep::Study;
use q2c_model::{Exit, Fault, Nanos, OrFault};
use q2c_policy::{Family, FamilyError, MOST_CONFIGURATIONS, PolicySpec};

/// Policies of each family that are simulated beforehand to estimate the time of a sweep.
const SAMPLE: u64 = 64;
/// What would take longer than this, seconds, and need not, is refused unless the user wants it.
pub const LONG_S: f64 = 120.0;

/// The policies that a sweep was asked for.
#[derive(Clone, Debug)]
pub struct Swept<'a> {
    /// Families, which can have millions of policies.
    pub families: &'a [Family],
    /// The user's own rules.
    pub own: &'a [PolicySpec],
    /// Median latency of the first trace, for the standard grid.
    pub p50: Nanos,
}

impl Swept<'_> {
    /// The families spelled out, then the user's own rules; without any, the standard grid. Ask
    /// first whether the sweep is [worth it](Self::worth_it): families can have millions of
    /// policies.
    ///
    /// # Errors
    /// When a family cannot be spelled out.
    pub fn policies(&self) -> Result<Vec<PolicySpec>, FamilyError> {
        let families = self.families.iter().map(Family::spell_out);
        let policies = families.collect::<Result<Vec<_>, _>>()?.concat();
        Ok(self.or_standard(policies))
    }

    /// Refuses a sweep whose result would not fit into memory or, unless it may be `long`, that
    /// would take over two minutes by a sample of its policies.
    ///
    /// # Errors
    /// It is refused, or a family cannot be spelled out.
    pub fn worth_it(&self, study: &Study<'_>, long: bool) -> Result<(), Fault> {
        let samples = self.families.iter().map(|family| family.sample(SAMPLE));
        let sample = samples
            .collect::<Result<Vec<_>, _>>()
            .or_exit(Exit::Usage)?;
        let sample = self.or_standard(sample.concat());
        let spelled: u64 = self.families.iter().map(Family::count).sum();
        let count = match spelled + self.own.len() as u64 {
            0 => sample.len() as u64,
            count => count,
        };
        let refused = |reason| Fault::new(Exit::Usage, format_args!("sweep: {reason}"));
        let cells = count.saturating_mul(study.traces.len() as u64);
        if cells > MOST_CONFIGURATIONS {
            return Err(refused(format!(
                "expected at most {MOST_CONFIGURATIONS} configurations over all traces, found {cells}; \
                 sweep fewer, for instance with a wider step"
            )));
        }
        let takes = study.expected_s(&sample, count).filter(|s| *s > LONG_S);
        match takes.filter(|_| !long) {
            None => Ok(()),
            Some(takes) => Err(refused(format!(
                "{cells} cells would take about {}; sweep fewer, give a shorter --measure, or say --yes",
                Nanos::from_secs_f64(takes)
            ))),
        }
    }

    fn or_standard(&self, of_families: Vec<PolicySpec>) -> Vec<PolicySpec> {
        let policies = [of_families, self.own.to_vec()].concat();
        if policies.is_empty() {
            standard(self.p50)
        } else {
            policies
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_policy::RULES;

    fn policies(families: &[&str], own: &[&str]) -> Vec<PolicySpec> {
        let families: Vec<Family> = families.iter().map(|text| text.parse().unwrap()).collect();
        let own_rules: Vec<PolicySpec> = own.iter().map(|text| text.parse().unwrap()).collect();
        let swept = Swept {
            families: &families,
            own: &own_rules,
            p50: Nanos(80_000),
        };
        swept.policies().unwrap()
    }

    #[test]
    fn own_rules_come_after_families() {
        let swept = policies(&["min:ratio=10%..30%/10%,period=1ms"], &["rule:0.7*min"]);
        assert_eq!(swept.len(), 4);
        assert!(swept[3].to_string().contains("0.7"), "{}", swept[3]);
    }

    #[test]
    fn without_rules_a_sweep_has_every_rule() {
        let swept = policies(&[], &[]);
        let mut typical = RULES.iter().map(|rule| rule.name.parse::<PolicySpec>());
        for rule in typical.by_ref().flatten() {
            let name = rule.rule().name;
            assert!(swept.iter().any(|p| p.rule().name == name), "{name}");
        }
    }
}
