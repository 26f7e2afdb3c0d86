//! The command `q2c poll sim`.

use super::cost::costs;
use super::source::trace;
use super::{SimulatedArgs, TimingArgs};
use crate::output::show;
use crate::progress::Line;
use clap::Args;
use q2c_model::{Fault, OrFault};
use q2c_policy::{PolicySpec, SpecError};
use q2c_result::Exit;
use q2c_result::sim::SimResult;
use q2c_sim::{Configuration, start_threads};
use q2c_study::Simulation;
use std::path::PathBuf;
use std::slice;
use std::sync::atomic::AtomicBool;

/// Which rules on which trace, at which costs.
#[derive(Clone, Debug, Args)]
pub(crate) struct SimArgs {
    /// Trace of the block layer, or of classic polling
    ///
    /// Trace of the block layer (q2c trace record, blktrace, or imported), or of classic polling: a
    /// run's trace-BS.parquet
    pub trace: PathBuf,
    /// Sleep rule, such as mean or min:70%,10ms (may be given again)
    #[arg(long, required_unless_present = "rule", value_name = "POLICY")]
    pub policy: Vec<PolicySpec>,
    /// Own rules, the reading of the trace, and costs.
    #[command(flatten)]
    pub simulated: SimulatedArgs,
    /// Simulated time.
    #[command(flatten)]
    pub timing: TimingArgs,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

impl SimArgs {
    /// The rules: the named ones, then the user's own.
    pub(crate) fn policies(&self) -> Result<Vec<PolicySpec>, SpecError> {
        let own_rules = self.simulated.own.policies()?;
        Ok([self.policy.clone(), own_rules].concat())
    }
}

pub(crate) fn run(args: &SimArgs, stop: &AtomicBool) -> Result<Exit, Fault> {
    start_threads().or_exit(Exit::Environment)?;
    let simulation = simulation(args, stop)?;
    show(&simulation, args.json)
}

fn simulation(args: &SimArgs, stop: &AtomicBool) -> Result<SimResult, Fault> {
    let SimulatedArgs { source, cost, .. } = &args.simulated;
    let line = Line::reading([args.trace.as_path()]);
    let trace = trace(&args.trace, source, slice::from_ref(&args.trace), stop)?;
    drop(line);
    let of_trace = slice::from_ref(&trace);
    let costs = costs(cost, source.recording.bs, &trace.input.sizes, of_trace)?;
    let policies = args.policies().or_exit(Exit::Usage)?;
    let simulation = Simulation {
        input: &trace.input,
        policies: &policies,
        on: Configuration {
            lanes: &trace.lanes,
            cost: &costs.cost,
            drive: args.timing.timing().drive_for(trace.input.span_ns),
            arrival: args.timing.arrival(),
        },
        cost_in_words: costs.in_words,
        doubt: costs.doubt,
    };
    let _line = Line::working(&match policies.len() {
        1 => "simulating a rule, classic polling and the oracle".to_owned(),
        n => format!("simulating {n} rules, classic polling and the oracle"),
    });
    simulation.run(stop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::tests::poll;
    use crate::commands::poll::PollCommand;
    use crate::commands::poll::sweep::SweepArgs;
    use q2c_model::Nanos;

    fn sim(arguments: &str) -> SimArgs {
        match poll(&format!("sim {arguments}")) {
            PollCommand::Sim(args) => args,
            other => panic!("{other:?}"),
        }
    }

    fn sweep(options: &str) -> SweepArgs {
        match poll(&format!("sweep {options}")) {
            PollCommand::Sweep(args) => args,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_sweep_is_as_long_as_a_simulation() {
        let of_sim = |options: &str| sim(&format!("t --policy pas {options}")).timing.timing();
        let of_sweep = |options: &str| sweep(&format!("t {options}")).grid.timing.timing();
        assert_eq!(of_sweep(""), of_sim(""));
        let named = of_sim("--measure 10ms --warm-up 1ms --seed 9");
        assert_eq!(of_sweep("--measure 10ms --warm-up 1ms --seed 9"), named);
        let ms = Nanos::from_millis;
        assert_eq!(named.measure, Some(ms(10)));
        assert_eq!(named.warm_up, ms(1));
        assert_eq!(named.seed, 9);
    }

    #[test]
    fn own_rules_come_after_named_ones() {
        let rules = sim("t --rule 0.7*min --policy pas --policy mean")
            .policies()
            .unwrap();
        let names: Vec<String> = rules.iter().map(ToString::to_string).collect();
        assert_eq!(names.len(), 3);
        assert!(
            names[0].starts_with("pas") && names[1].starts_with("mean"),
            "{names:?}"
        );
    }
}
