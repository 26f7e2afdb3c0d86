//! How long a sweep will take, told by a sample of its policies.

use super::source::{Trace, span_of};
use super::sweep::Study;
use q2c_model::Nanos;
use q2c_policy::PolicySpec;
use q2c_sim::{Configuration, Drive, sweep};
use std::time::Instant;

/// Simulated I/Os, all policies together, up to which a sweep is not worth an estimate: one core
/// does so many within seconds.
const FEW_IOS: f64 = 1e8;
/// I/Os that each policy of the sample goes through on each trace, about.
const SAMPLE_IOS: f64 = 20_000.0;

impl Study<'_> {
    /// About how long the simulation of `count` policies would take, seconds, told by a short
    /// simulation of `sample`. `None` where it is not long.
    ///
    /// The time depends on the I/Os that go through the policies: on the number of policies, on the
    /// simulated time and on the lanes alike.
    #[must_use]
    pub fn expected_s(&self, sample: &[PolicySpec], count: u64) -> Option<f64> {
        let all = self.ios_of_a_policy() * count as f64;
        if all < FEW_IOS || sample.is_empty() {
            return None;
        }
        let begun = Instant::now();
        let outcomes = self.traces.iter().map(|trace| {
            let outcomes = sweep(sample, &self.shortly_on(trace));
            outcomes.iter().map(|outcome| outcome.ios).sum::<u64>()
        });
        let done: u64 = outcomes.sum();
        (done > 0).then(|| begun.elapsed().as_secs_f64() / done as f64 * all)
    }

    /// I/Os that go through one policy on all traces, at the rate of the recording. A rule that
    /// wakes late gets fewer.
    fn ios_of_a_policy(&self) -> f64 {
        let of = |trace: &Trace| {
            let Drive {
                warm_up, measure, ..
            } = self.on(trace).drive;
            rate(trace) * (warm_up.0 as f64 + measure.0 as f64)
        };
        self.traces.iter().map(of).sum()
    }

    /// The trace for the time of about [`SAMPLE_IOS`], or of the study where that is shorter.
    fn shortly_on<'t>(&'t self, trace: &'t Trace) -> Configuration<'t> {
        let whole = self.on(trace);
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

/// I/Os per nanosecond of a simulation of the recording, all lanes together. A lane that is shorter
/// than another one is repeated meanwhile, so that each goes on at its own rate.
fn rate(trace: &Trace) -> f64 {
    let lanes = trace.lanes.iter();
    lanes
        .map(|lane| lane.len() as f64 / span_of(lane).max(1.0))
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timing::Timing;
    use q2c_model::{Bytes, CostModel, Direction};
    use q2c_policy::Io;
    use q2c_result::sweep::SweepInput;
    use q2c_sim::{Arrival, Limits, Objective, Recording};
    use std::collections::BTreeMap;

    const READ: Io = Io {
        direction: Direction::Read,
        bytes: 4096,
    };

    /// A lane of `ios` requests of 100 us, with as much time after each that they last `span`.
    fn lane(ios: usize, span: Nanos) -> Recording {
        let mut lane = Recording::default();
        let each = span.0 as f32 / ios as f32;
        (0..ios).for_each(|_| lane.push(READ, 0.0, 100e3, each - 100e3));
        lane
    }

    fn trace(lanes: Vec<Recording>) -> Trace {
        Trace {
            input: SweepInput {
                path: "unequal.parquet".to_owned(),
                taken_as: q2c_model::TakenAs::default(),
                lanes: lanes.len(),
                ios: lanes.iter().map(|lane| lane.len() as u64).sum(),
                sizes: vec![Bytes(4096)],
                span_ns: Nanos(lanes.iter().map(span_of).fold(0.0, f64::max) as u64),
                latency_ns: [100e3; 5],
            },
            lanes,
            facts: BTreeMap::new(),
        }
    }

    fn study<'a>(traces: &'a [Trace], cost: &'a CostModel) -> Study<'a> {
        Study {
            traces,
            reading_s: 0.0,
            policies: &[],
            cost,
            cost_in_words: String::new(),
            timing: Timing {
                warm_up: Nanos(0),
                measure: None,
                seed: 1,
            },
            arrival: Arrival::Think,
            objective: Objective::default(),
            limits: Limits::default(),
            follow: None,
        }
    }

    /// A lane of 10 ms beside one of 4 s is repeated 400 times. The simulation itself tells how
    /// many I/Os that makes: about 40,000, where the recording has 102.
    #[test]
    fn a_short_lane_is_repeated() {
        let second = 1_000_000_000;
        let short = || lane(100, Nanos(second / 100));
        let traces = [trace(vec![short(), lane(2, Nanos(4 * second))])];
        let cost = CostModel::delayed(Nanos(0));
        let study = study(&traces, &cost);
        let rules = ["mean:50%,100ms".parse().unwrap()];
        let simulated = sweep(&rules, &study.on(&traces[0]))[0].ios as f64;
        let told = study.ios_of_a_policy();
        assert!((told / simulated - 1.0).abs() < 0.05, "{told} {simulated}");
    }

    /// The same beside one of an hour: ten policies go through 360 million I/Os.
    #[test]
    fn a_short_lane_beside_one_of_an_hour_takes_long() {
        let second = 1_000_000_000;
        let lanes = vec![lane(10_000, Nanos(second)), lane(2, Nanos(3_600 * second))];
        let traces = [trace(lanes)];
        let cost = CostModel::delayed(Nanos(0));
        let rules = ["mean:50%,100ms".parse().unwrap()];
        let expected = study(&traces, &cost).expected_s(&rules, 10);
        assert!(expected.is_some_and(|s| s > 0.1), "{expected:?}");
    }
}
