//! The policies of a sweep, and an estimate of the sweep's time from a sample.

use super::source::{SimTrace, span_of};
use super::sweep::Study;
use q2c_model::{Exit, Fault, Nanos, OrFault};
use q2c_policy::{Family, FamilyError, MAX_CONFIGURATIONS, PolicySpec, RULES};
use q2c_sim::{Configuration, Drive, standard_grid, sweep};
use std::time::Instant;

/// Policies of each family that are simulated first, to estimate the time of a sweep.
const SAMPLE_POLICIES: u64 = 64;
/// Expected length, seconds, above which an optional simulation is refused unless the user insists.
pub const LONG_RUN_S: f64 = 120.0;

/// The policies that a sweep was asked for.
#[derive(Clone, Debug)]
pub struct SweepPolicies<'a> {
    /// Families, which can have millions of policies.
    pub families: &'a [Family],
    /// The user's own rules.
    pub own: &'a [PolicySpec],
    /// Median latency of the first trace, to which the standard grid is fitted.
    pub p50: Nanos,
}

impl SweepPolicies<'_> {
    /// All policies of the families, then the user's own rules; without any, the standard grid.
    /// First [check the extent](Self::check_extent), because families can have millions of
    /// policies.
    ///
    /// # Errors
    /// Returns an error if a family cannot be written out.
    pub fn policies(&self) -> Result<Vec<PolicySpec>, FamilyError> {
        let families = self.families.iter().map(Family::spell_out);
        let policies = families.collect::<Result<Vec<_>, _>>()?.concat();
        Ok(self.or_standard(policies))
    }

    /// Refuses a sweep whose result does not fit into memory. Also refuses one that takes over two
    /// minutes, judged by a sample, unless `long` permits it.
    ///
    /// # Errors
    /// Returns a fault if the sweep is refused, or if a family cannot be written out.
    pub fn check_extent(&self, study: &Study<'_>, long: bool) -> Result<(), Fault> {
        let samples = self.families.iter().map(|f| f.sample(SAMPLE_POLICIES));
        let sample: Result<Vec<_>, FamilyError> = samples.collect();
        let sample = sample.or_exit(Exit::Usage)?;
        let sample = self.or_standard(sample.concat());
        let in_families: u64 = self.families.iter().map(Family::count).sum();
        // Without rules, the sample is the whole standard grid.
        let count = match in_families + self.own.len() as u64 {
            0 => sample.len() as u64,
            count => count,
        };
        let refused = |reason| Fault::new(Exit::Usage, format_args!("sweep: {reason}"));
        let cells = count.saturating_mul(study.traces.len() as u64);
        if cells > MAX_CONFIGURATIONS {
            return Err(refused(format!(
                "expected at most {MAX_CONFIGURATIONS} configurations over all traces, found {cells}; \
                 sweep fewer, for instance with a wider step"
            )));
        }
        match study.expected_s(&sample, count) {
            Some(s) if s > LONG_RUN_S && !long => Err(refused(format!(
                "{cells} cells would take about {}; sweep fewer, give a shorter --measure, or say --yes",
                Nanos::from_secs_f64(s)
            ))),
            _ => Ok(()),
        }
    }

    fn or_standard(&self, of_families: Vec<PolicySpec>) -> Vec<PolicySpec> {
        let policies = [of_families, self.own.to_vec()].concat();
        if policies.is_empty() {
            return standard_policies(self.p50);
        }
        policies
    }
}

/// The default policies: the simulator's grid for this median latency, and every other rule with
/// its defaults.
pub fn standard_policies(p50: Nanos) -> Vec<PolicySpec> {
    let mut policies = standard_grid(p50);
    for rule in RULES {
        let mut others = policies.iter();
        if others.all(|policy| policy.rule().name != rule.name) {
            policies.extend(rule.name.parse::<PolicySpec>());
        }
    }
    policies
}

/// Number of I/Os over all policies that a core simulates within seconds, so no estimate is needed.
const FEW_IOS: f64 = 1e8;
/// Number of I/Os on a trace after which the simulation of a sample policy ends.
const SAMPLE_IOS: f64 = 20_000.0;

impl Study<'_> {
    /// Expected time to simulate `count` policies, seconds, from a short simulation of `sample`;
    /// `None` if that is short. It depends on the I/Os, so on policies, simulated time and lanes.
    pub fn expected_s(&self, sample: &[PolicySpec], count: u64) -> Option<f64> {
        let total_ios = self.ios_of_a_policy() * count as f64;
        if total_ios < FEW_IOS || sample.is_empty() {
            return None;
        }
        let started = Instant::now();
        let outcomes = self.traces.iter().map(|trace| {
            let outcomes = sweep(sample, &self.sample_configuration(trace));
            outcomes.iter().map(|outcome| outcome.ios).sum::<u64>()
        });
        let simulated: u64 = outcomes.sum();
        (simulated > 0).then(|| started.elapsed().as_secs_f64() / simulated as f64 * total_ios)
    }

    /// Expected I/Os of one policy at the rate of the recording; a rule that wakes late has fewer.
    fn ios_of_a_policy(&self) -> f64 {
        let ios_on = |trace: &SimTrace| {
            let drive = self.configuration_on(trace).drive;
            ios_per_ns(trace) * (drive.warm_up.0 as f64 + drive.measure.0 as f64)
        };
        self.traces.iter().map(ios_on).sum()
    }

    fn sample_configuration<'t>(&'t self, trace: &'t SimTrace) -> Configuration<'t> {
        let full = self.configuration_on(trace);
        let sample = Nanos((SAMPLE_IOS / ios_per_ns(trace)) as u64);
        Configuration {
            drive: Drive {
                warm_up: Nanos(0),
                measure: full.drive.measure.min(sample),
                ..full.drive
            },
            ..full
        }
    }
}

/// I/Os per simulated ns over all lanes. Each lane keeps its own rate and is repeated.
fn ios_per_ns(trace: &SimTrace) -> f64 {
    let lanes = trace.lanes.iter();
    let rates = lanes.map(|lane| lane.len() as f64 / span_of(lane).max(1.0));
    rates.sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{self, trace};
    use q2c_model::CostModel;
    use q2c_sim::LaneRecording;

    fn policies(families: &[&str], own: &[&str]) -> Vec<PolicySpec> {
        let families: Vec<Family> = families.iter().map(|text| text.parse().unwrap()).collect();
        let own_rules: Vec<PolicySpec> = own.iter().map(|text| text.parse().unwrap()).collect();
        let swept = SweepPolicies {
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

    fn lane(ios: usize, span: Nanos) -> LaneRecording {
        let mut lane = LaneRecording::default();
        let ns_per_io = span.0 as f32 / ios as f32;
        (0..ios).for_each(|_| lane.push(fixtures::READ, 0.0, 100e3, ns_per_io - 100e3));
        lane
    }

    /// A lane of 10 ms beside a lane of 4 s is repeated 400 times. The simulation itself shows the
    /// number of I/Os: about 40,000, while the recording has 102.
    #[test]
    fn a_short_lane_is_repeated() {
        let second = 1_000_000_000;
        let short = || lane(100, Nanos(second / 100));
        let traces = [trace("unequal", vec![short(), lane(2, Nanos(4 * second))])];
        let cost = CostModel::delayed(Nanos(0));
        let study = fixtures::study(&traces, &[], &cost, (Nanos(0), None));
        let rules = ["mean:50%,100ms".parse().unwrap()];
        let simulated = sweep(&rules, &study.configuration_on(&traces[0]))[0].ios as f64;
        let expected = study.ios_of_a_policy();
        assert!(
            (expected / simulated - 1.0).abs() < 0.05,
            "{expected} {simulated}"
        );
    }

    /// The same short lane beside one of an hour: ten policies simulate 360 million I/Os.
    #[test]
    fn a_short_lane_beside_one_of_an_hour_takes_long() {
        let second = 1_000_000_000;
        let lanes = vec![lane(10_000, Nanos(second)), lane(2, Nanos(3_600 * second))];
        let traces = [trace("unequal", lanes)];
        let cost = CostModel::delayed(Nanos(0));
        let rules = ["mean:50%,100ms".parse().unwrap()];
        let study = fixtures::study(&traces, &[], &cost, (Nanos(0), None));
        let expected = study.expected_s(&rules, 10);
        assert!(expected.is_some_and(|s| s > 0.1), "{expected:?}");
    }
}
