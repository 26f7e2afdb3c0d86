//! The command `q2c poll sim`.

use super::cost::costs;
use super::source::trace;
use crate::args::{SimArgs, SimulatedArgs};
use crate::output::show;
use crate::progress::Line;
use q2c_model::{Fault, OrFault};
use q2c_result::Exit;
use q2c_result::sim::SimResult;
use q2c_sim::{Configuration, start_threads};
use q2c_study::Simulation;
use std::slice;
use std::sync::atomic::AtomicBool;

pub fn run(args: &SimArgs, stop: &AtomicBool) -> Result<Exit, Fault> {
    start_threads().or_exit(Exit::Environment)?;
    let simulation = simulation(args, stop)?;
    show(&simulation, args.json)?;
    Ok(Exit::Done)
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
            drive: args.timing.timing().on(trace.input.span_ns),
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
