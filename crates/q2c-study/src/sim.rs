//! A simulation of classic polling, the oracle and some rules on one trace.

use super::source::Trace;
use super::sweep::StudyError;
use q2c_model::CostModel;
use q2c_policy::PolicySpec;
use q2c_result::sim::{FormulaWindows, SCHEMA, SimMethod, SimResult};
use q2c_sim::{Arrival, Drive, Waiting, simulate_with};
use std::sync::atomic::{AtomicBool, Ordering};

/// A trace, the rules that are simulated on it, and the costs.
pub struct Simulation<'a> {
    /// The trace.
    pub trace: &'a Trace,
    /// The rules.
    pub policies: &'a [PolicySpec],
    /// The costs that the simulator uses.
    pub cost: &'a CostModel,
    /// Where the costs come from, for the result.
    pub cost_in_words: String,
    /// Simulated time, and the seed of the draws.
    pub drive: Drive,
    /// When submissions come: after the recorded think time, or at the recorded time.
    pub arrival: Arrival,
}

impl Simulation<'_> {
    /// Simulates classic polling, the oracle and the rules, in this order.
    ///
    /// # Errors
    /// No I/O counts, or `stop` is raised.
    pub fn run(&self, stop: &AtomicBool) -> Result<SimResult, StudyError> {
        let path = &self.trace.input.path;
        let lanes = self.trace.lanes.len();
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
            ios: self.trace.input.ios,
            cost: self.cost_in_words.clone(),
            warm_up_ns: self.drive.warm_up,
            measure_ns: self.drive.measure,
            seed: self.drive.seed,
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
            let path = self.trace.input.path.clone();
            return Err(StudyError::SimulationStopped { path });
        }
        let lanes = &self.trace.lanes;
        let outcome = simulate_with(self.arrival, lanes, self.cost, waiting, self.drive);
        Ok(SimMethod {
            method,
            ios: outcome.ios,
            gives: outcome.gives,
            windows: None,
        })
    }
}
