//! How long a sweep will take, told by a sample of its policies.

use super::source::{SimTrace, span_of};
use super::sweep::Study;
use q2c_model::Nanos;
use q2c_policy::PolicySpec;
use q2c_sim::{Configuration, Drive, sweep};
use std::time::Instant;

/// Simulated I/Os of all policies that one core does within seconds: no estimate is worth it.
const FEW_IOS: f64 = 1e8;
const SAMPLE_IOS: f64 = 20_000.0;

impl Study<'_> {
    /// About how long the simulation of `count` policies would take, seconds, told by a short one
    /// of `sample`; `None` where it is not long. Time goes by the I/Os: by the policies, the
    /// simulated time and the lanes.
    #[must_use]
    pub fn expected_s(&self, sample: &[PolicySpec], count: u64) -> Option<f64> {
        let total_ios = self.ios_of_a_policy() * count as f64;
        if total_ios < FEW_IOS || sample.is_empty() {
            return None;
        }
        let begun = Instant::now();
        let outcomes = self.traces.iter().map(|trace| {
            let outcomes = sweep(sample, &self.shortly_on(trace));
            outcomes.iter().map(|outcome| outcome.ios).sum::<u64>()
        });
        let done: u64 = outcomes.sum();
        (done > 0).then(|| begun.elapsed().as_secs_f64() / done as f64 * total_ios)
    }

    /// At the rate of the recording; a rule that wakes late gets fewer.
    fn ios_of_a_policy(&self) -> f64 {
        let ios_on = |trace: &SimTrace| {
            let Drive {
                warm_up, measure, ..
            } = self.configuration_on(trace).drive;
            rate(trace) * (warm_up.0 as f64 + measure.0 as f64)
        };
        self.traces.iter().map(ios_on).sum()
    }

    fn shortly_on<'t>(&'t self, trace: &'t SimTrace) -> Configuration<'t> {
        let whole = self.configuration_on(trace);
        let sample = Nanos((SAMPLE_IOS / rate(trace)) as u64);
        Configuration {
            drive: Drive {
                warm_up: Nanos(0),
                measure: whole.drive.measure.min(sample),
                ..whole.drive
            },
            ..whole
        }
    }
}

/// Per simulated ns, all lanes together: each goes on at its own rate and is repeated.
fn rate(trace: &SimTrace) -> f64 {
    let rates = trace
        .lanes
        .iter()
        .map(|lane| lane.len() as f64 / span_of(lane).max(1.0));
    rates.sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{self, trace};
    use q2c_model::CostModel;
    use q2c_sim::LaneRecording;

    fn lane(ios: usize, span: Nanos) -> LaneRecording {
        let mut lane = LaneRecording::default();
        let ns_per_io = span.0 as f32 / ios as f32;
        (0..ios).for_each(|_| lane.push(fixtures::READ, 0.0, 100e3, ns_per_io - 100e3));
        lane
    }

    /// A lane of 10 ms beside one of 4 s is repeated 400 times. The simulation itself tells how
    /// many I/Os that makes: about 40,000, where the recording has 102.
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

    /// The same beside one of an hour: ten policies go through 360 million I/Os.
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
