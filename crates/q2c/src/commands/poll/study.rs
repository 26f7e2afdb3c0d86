//! The command `q2c poll study`.

use super::patterns::{Outputs, Patterns, worth_it};
use crate::args::StudyArgs;
use crate::output::show;
use crate::progress::Line;
use q2c_model::{Fault, OrFault};
use q2c_policy::{Family, MOST_CONFIGURATIONS, PolicySpec};
use q2c_result::Exit;
use q2c_sim::start_threads;
use std::sync::atomic::AtomicBool;

/// Policies that are simulated beforehand to estimate the time of a study.
const SAMPLE: usize = 64;

pub fn run(args: &StudyArgs, stop: &AtomicBool) -> Result<Exit, Fault> {
    start_threads().or_exit(Exit::Environment)?;
    let outputs = Outputs::make(args.on.html.as_ref(), args.on.csv.as_ref(), None)?;
    let patterns = Patterns::read(&args.on, stop)?;
    few_enough(args, patterns.traces.len())?;
    let policies = args.policies(patterns.median()).or_exit(Exit::Usage)?;
    let study = patterns.study(&args.on, &patterns.traces, &policies);
    let every = policies.len().div_ceil(SAMPLE).max(1);
    let sample: Vec<PolicySpec> = policies.iter().step_by(every).cloned().collect();
    worth_it(&args.on, "study", &study, &sample, policies.len() as u64)?;
    let line = Line::of(study.cells() as u64, "configurations");
    let result = study.leave_out(args.interrupts, stop, &mut |done| line.set(done as u64))?;
    drop(line);
    outputs.write(&result)?;
    show(&result, args.on.json)?;
    Ok(Exit::Done)
}

/// Refuses families whose result would not fit into memory, before they are spelled out.
fn few_enough(args: &StudyArgs, patterns: usize) -> Result<(), Fault> {
    let asked: u64 = args.rules.iter().map(Family::count).sum();
    let cells = asked.saturating_mul(patterns as u64);
    if cells <= MOST_CONFIGURATIONS {
        return Ok(());
    }
    let why = format!(
        "study: expected at most {MOST_CONFIGURATIONS} configurations over all patterns, found {cells}; study fewer, for \
         instance with a wider step"
    );
    Err(Fault::new(Exit::Usage, why))
}
