//! The command `q2c poll sweep`.

use super::cost::costs;
use super::patterns::{Outputs, sizes};
use super::source::trace;
use crate::args::{SimulatedArgs, SweepArgs};
use crate::output::show;
use crate::progress::Line;
use q2c_model::{Fault, Nanos, OrFault};
use q2c_result::Exit;
use q2c_sim::start_threads;
use q2c_study::{Study, Swept, Trace};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

pub fn run(args: &SweepArgs, stop: &AtomicBool) -> Result<Exit, Fault> {
    start_threads().or_exit(Exit::Environment)?;
    let (html, csv) = (args.html.as_ref(), args.csv.as_ref());
    let outputs = Outputs::make(html, csv, args.parquet.as_ref())?;
    let begun = Instant::now();
    let SimulatedArgs { source, cost, .. } = &args.simulated;
    let read = |path| trace(path, source, &args.inputs, stop);
    let inputs = args.inputs.iter().map(|path| read(path.as_path()));
    let line = Line::reading(args.inputs.iter().map(|path| path.as_path()));
    let traces: Vec<Trace> = inputs.collect::<Result<_, _>>()?;
    drop(line);
    let reading_s = begun.elapsed().as_secs_f64();
    let costs = costs(cost, source.recording.bs, &sizes(&traces), &traces)?;
    let own = args.simulated.own.policies().or_exit(Exit::Usage)?;
    let mut study = Study {
        traces: &traces,
        reading_s,
        policies: &[],
        cost: &costs.cost,
        cost_in_words: costs.in_words,
        timing: args.timing.timing(),
        arrival: args.timing.arrival(),
        objective: args.goal.objective,
        limits: args.goal.limits(),
        follow: args.follow.clone(),
    };
    let p50 = Nanos(traces[0].input.latency_ns[2] as u64);
    let swept = Swept {
        families: &args.policy,
        own: &own,
        p50,
    };
    let line = Line::working("estimating the time of the sweep");
    swept.worth_it(&study, args.yes).or_exit(Exit::Usage)?;
    drop(line);
    let policies = swept.policies().or_exit(Exit::Usage)?;
    study.policies = &policies;
    let line = Line::of(study.cells() as u64, "configurations");
    let mut result = study.run(stop, &mut |done| line.set(done as u64))?;
    drop(line);
    result.warnings.splice(0..0, costs.doubt);
    outputs.write(&result)?;
    show(&result, args.json)?;
    Ok(Exit::Done)
}
