//! A simulation of classic polling, the oracle and some rules on one trace.

use super::notes::left_out;
use super::sweep::nothing_counted;
use super::timing::long_ios;
use q2c_model::Fault;
use q2c_policy::PolicySpec;
use q2c_result::Warning;
use q2c_result::sim::{FormulaWindows, SCHEMA, SimMethod, SimResult};
use q2c_result::sweep::SweepInput;
use q2c_sim::{Configuration, SimOutcome, sweep};
use std::sync::atomic::{AtomicBool, Ordering};

/// A trace, the rules that are simulated on it, and the costs.
pub struct Simulation<'a> {
    /// Description of the trace.
    pub input: &'a SweepInput,
    /// The rules.
    pub policies: &'a [PolicySpec],
    /// The trace's lanes, the costs, the simulated time and the arrivals.
    pub on: Configuration<'a>,
    /// Where the costs come from, for the result.
    pub cost_in_words: String,
    /// Says why the costs are in doubt.
    pub doubt: Option<Warning>,
}

impl Simulation<'_> {
    /// Simulates classic polling, the oracle and the rules, in this order.
    ///
    /// # Errors
    /// No I/O counts, or `stop` is raised.
    pub fn run(&self, stop: &AtomicBool) -> Result<SimResult, Fault> {
        let path = &self.input.path;
        self.go_on(stop)?;
        let bounds = self.on.bounds();
        self.go_on(stop)?;
        let mut methods = vec![
            method("poll".to_owned(), bounds.poll),
            method("oracle".to_owned(), bounds.oracle),
        ];
        // As a sweep simulates them, so that a rule has the same figures in both.
        let outcomes = sweep(self.policies, &self.on);
        let rules = self.policies.iter().zip(outcomes);
        methods.extend(rules.map(|(policy, outcome)| SimMethod {
            windows: policy.tally().map(FormulaWindows::from),
            ..method(format!("hybrid:{policy}"), outcome)
        }));
        if methods[0].ios == 0 {
            return Err(nothing_counted(path));
        }
        Ok(SimResult {
            schema: SCHEMA.to_owned(),
            trace: path.clone(),
            lanes: self.on.lanes.len(),
            ios: self.input.ios,
            taken_as: self.input.taken_as.clone(),
            cost: self.cost_in_words.clone(),
            warm_up_ns: self.on.drive.warm_up,
            measure_ns: self.on.drive.measure,
            seed: self.on.drive.seed,
            methods,
            warnings: {
                let long = long_ios(self.input, self.on.drive.measure);
                let of_input = left_out(&[self.input]).into_iter().chain(long);
                of_input.chain(self.doubt.clone()).collect()
            },
        })
    }

    fn go_on(&self, stop: &AtomicBool) -> Result<(), Fault> {
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
