//! How long a sweep will take, told by a sample of its policies.

use super::source::Trace;
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

/// The recording's I/Os per nanosecond, all lanes together.
fn rate(trace: &Trace) -> f64 {
    trace.input.ios as f64 / trace.input.span_ns.0.max(1) as f64
}
