//! A simulation of classic polling, the oracle and some rules on one trace.

use super::sweep::StudyError;
use q2c_policy::PolicySpec;
use q2c_result::sim::{FormulaWindows, SCHEMA, SimMethod, SimResult};
use q2c_result::sweep::SweepInput;
use q2c_sim::{Configuration, Waiting};
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
}

impl Simulation<'_> {
    /// Simulates classic polling, the oracle and the rules, in this order.
    ///
    /// # Errors
    /// No I/O counts, or `stop` is raised.
    pub fn run(&self, stop: &AtomicBool) -> Result<SimResult, StudyError> {
        let path = &self.input.path;
        let lanes = self.on.lanes.len();
        let mut methods = vec![
            self.method("poll".to_owned(), Waiting::poll(lanes), stop)?,
            self.method("oracle".to_owned(), Waiting::Oracle, stop)?,
        ];
        for policy in self.policies {
            let rules = Waiting::rules(policy.build(lanes));
            let outcome = self.method(format!("hybrid:{policy}"), rules, stop)?;
            methods.push(SimMethod {
                windows: policy.tally().map(FormulaWindows::from),
                ..outcome
            });
        }
        if methods[0].ios == 0 {
            return Err(StudyError::NothingCounted { path: path.clone() });
        }
        Ok(SimResult {
            schema: SCHEMA.to_owned(),
            trace: path.clone(),
            lanes,
            ios: self.input.ios,
            taken_as: self.input.taken_as.clone(),
            cost: self.cost_in_words.clone(),
            warm_up_ns: self.on.drive.warm_up,
            measure_ns: self.on.drive.measure,
            seed: self.on.drive.seed,
            methods,
        })
    }

    fn method(
        &self,
        method: String,
        waiting: Waiting,
        stop: &AtomicBool,
    ) -> Result<SimMethod, StudyError> {
        if stop.load(Ordering::Relaxed) {
            let path = self.input.path.clone();
            return Err(StudyError::SimulationStopped { path });
        }
        let outcome = self.on.simulate(waiting);
        Ok(SimMethod {
            method,
            ios: outcome.ios,
            gives: outcome.gives,
            windows: None,
        })
    }
}
