//! A simulation of classic polling, the oracle and some rules on one trace; and the simulated
//! time, which is the same for one rule and for a sweep, so that both agree.

use super::notes::left_out_warnings;
use super::sweep::nothing_counted;
use q2c_model::{Fault, Nanos};
use q2c_policy::PolicySpec;
use q2c_result::Warning;
use q2c_result::sim::{SCHEMA, SimMethod, SimResult};
use q2c_result::sweep::SweepInput;
use q2c_sim::{Configuration, Drive, SimOutcome, sweep};
use std::sync::atomic::{AtomicBool, Ordering};

/// A trace, the rules that are simulated on it, and the costs.
pub struct Simulation<'a> {
    /// Description of the trace.
    pub input: &'a SweepInput,
    /// The rules.
    pub policies: &'a [PolicySpec],
    /// The trace's lanes, the costs, the simulated time and the arrivals.
    pub configuration: Configuration<'a>,
    /// Where the costs come from, for the result.
    pub cost_in_words: String,
    /// A warning if the costs are in doubt.
    pub doubt: Option<Warning>,
}

impl Simulation<'_> {
    /// Simulates classic polling, the oracle and the rules, in this order.
    ///
    /// # Errors
    /// Returns a fault if no I/O counts, or if `stop` is set.
    pub fn run(&self, stop: &AtomicBool) -> Result<SimResult, Fault> {
        let path = &self.input.path;
        self.check_stop(stop)?;
        let bounds = self.configuration.bounds();
        self.check_stop(stop)?;
        let mut methods = vec![
            method("poll".to_owned(), bounds.poll),
            method("oracle".to_owned(), bounds.oracle),
        ];
        // Rules are simulated as in a sweep, so that a rule has the same figures in both.
        let outcomes = sweep(self.policies, &self.configuration);
        let rules = self.policies.iter().zip(outcomes);
        methods.extend(rules.map(|(policy, outcome)| SimMethod {
            windows: policy.tally(),
            ..method(format!("hybrid:{policy}"), outcome)
        }));
        if methods[0].ios == 0 {
            return Err(nothing_counted(path));
        }
        Ok(SimResult {
            schema: SCHEMA.to_owned(),
            trace: path.clone(),
            lanes: self.configuration.lanes.len(),
            ios: self.input.ios,
            taken_as: self.input.taken_as.clone(),
            cost: self.cost_in_words.clone(),
            warm_up_ns: self.configuration.drive.warm_up,
            measure_ns: self.configuration.drive.measure,
            seed: self.configuration.drive.seed,
            methods,
            warnings: {
                let long = long_ios(self.input, self.configuration.drive.measure);
                let of_input = left_out_warnings(&[self.input]).into_iter().chain(long);
                of_input.chain(self.doubt.clone()).collect()
            },
        })
    }

    fn check_stop(&self, stop: &AtomicBool) -> Result<(), Fault> {
        if stop.load(Ordering::Relaxed) {
            let text = format_args!("simulate {}: stopped by a signal", self.input.path);
            return Err(Fault::stopped(text));
        }
        Ok(())
    }
}

fn method(method: String, outcome: SimOutcome) -> SimMethod {
    SimMethod {
        method,
        ios: outcome.ios,
        gives: outcome.gives,
        windows: None,
    }
}

/// Smallest default time that counts: windows need many periods. A shorter trace is repeated.
const MIN_MEASURE: Nanos = Nanos::from_millis(2_000);

/// The simulated time of a study, and the seed of its draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Simulated time before anything counts, for rules to warm up.
    pub warm_up: Nanos,
    /// Simulated time that counts; `None` takes each trace's length, but at least 2 s.
    pub measure: Option<Nanos>,
    /// Seed of the random wake-up delays.
    pub seed: u64,
}

impl Timing {
    /// The simulated time for a trace of this length. A shorter trace is repeated to fill it.
    pub fn drive_for(self, length: Nanos) -> Drive {
        Drive {
            warm_up: self.warm_up,
            measure: self.measure.unwrap_or(length.max(MIN_MEASURE)),
            seed: self.seed,
        }
    }
}

/// Largest share of the time that an I/O may take, as it counts at its end with all of its CPU.
const MAX_IO_SHARE: f64 = 0.1;

pub(crate) fn long_ios(input: &SweepInput, measure: Nanos) -> Option<Warning> {
    let [.., longest] = input.latency_ns;
    (longest > MAX_IO_SHARE * measure.0 as f64).then(|| {
        let length = Nanos(longest as u64);
        Warning::new(
            "long-ios",
            format!(
                "an I/O of {} lasts {length}, and {measure} are measured",
                input.path
            ),
            "an I/O counts where it ends, with all of its CPU: CPU may be above 100 % or too low",
            "give a longer --measure",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_io_that_is_long_beside_the_measured_time_is_told() {
        let mut input = SweepInput::default();
        input.latency_ns[4] = 30e9;
        let measured = [40, 299, 300].map(|s: u64| Nanos::from_millis(s * 1000));
        let warned = measured.map(|measure| long_ios(&input, measure).is_some());
        assert_eq!(warned, [true, true, false]);
    }

    #[test]
    fn a_trace_counts_as_long_as_it_is_and_at_least_two_seconds() {
        let ms = Nanos::from_millis;
        let drive_of = |measure, length_ms| {
            let timing = Timing {
                warm_up: ms(400),
                measure,
                seed: 7,
            };
            let drive = timing.drive_for(ms(length_ms));
            (drive.warm_up, drive.measure, drive.seed)
        };
        assert_eq!(drive_of(None, 10), (ms(400), ms(2_000), 7));
        assert_eq!(drive_of(None, 3_000), (ms(400), ms(3_000), 7));
        assert_eq!(drive_of(Some(ms(10)), 3_000), (ms(400), ms(10), 7));
    }
}
