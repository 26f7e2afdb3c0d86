//! The command `q2c poll study`.

use super::grid::Outputs;
use super::patterns::{Patterns, PatternsArgs, worth_it};
use crate::output::show;
use crate::progress::Line;
use clap::Args;
use q2c_model::{Fault, Nanos, OrFault};
use q2c_policy::{Family, FamilyError, MOST_CONFIGURATIONS, PolicySpec};
use q2c_result::Exit;
use q2c_sim::start_threads;
use q2c_study::standard;
use std::sync::atomic::AtomicBool;

/// Which rules on which patterns, and what counts as best.
#[derive(Clone, Debug, Args)]
pub(crate) struct StudyArgs {
    /// Patterns, costs, and where the result goes.
    #[command(flatten)]
    pub on: PatternsArgs,
    /// Rule or family beside the standard grid: min:ratio=20%..90%/5%
    ///
    /// Rule or family of rules that competes with the standard grid of q2c poll sweep, such as pas
    /// or min:ratio=5%..95%/5%,period=1ms|10ms (may be given again)
    #[arg(long, value_name = "FAMILY")]
    pub rules: Vec<Family>,
    /// Leave the standard grid out
    #[arg(long)]
    pub only: bool,
    /// Rank the rules that take interrupts, too
    #[arg(long)]
    pub interrupts: bool,
}

impl StudyArgs {
    /// The policies: those asked for, and behind them those of the standard grid
    /// that are not among them. Its fixed sleeps are for this median latency; they are named in the
    /// result, not ranked.
    pub(crate) fn policies(&self, p50: Nanos) -> Result<Vec<PolicySpec>, FamilyError> {
        let families = self.rules.iter().map(Family::spell_out);
        let mut policies = families.collect::<Result<Vec<_>, _>>()?.concat();
        policies.extend(self.on.grid.simulated.own.policies()?);
        if !self.only {
            let standard = standard(p50).into_iter();
            let asked = policies.clone();
            policies.extend(standard.filter(|policy| !asked.contains(policy)));
        }
        Ok(policies)
    }
}

/// Policies that are simulated beforehand to estimate the time of a study.
const SAMPLE: usize = 64;

pub(crate) fn run(args: &StudyArgs, stop: &AtomicBool) -> Result<Exit, Fault> {
    start_threads().or_exit(Exit::Environment)?;
    let outputs = Outputs::make(&args.on.grid, None)?;
    let patterns = Patterns::read(&args.on, stop)?;
    few_enough(args, patterns.traces.len())?;
    let policies = args.policies(patterns.median()).or_exit(Exit::Usage)?;
    let study = patterns.study(&args.on, &patterns.traces, &policies);
    let every = policies.len().div_ceil(SAMPLE).max(1);
    let sample: Vec<PolicySpec> = policies.iter().step_by(every).cloned().collect();
    worth_it(&args.on, "study", &study, &sample, policies.len() as u64)?;
    let line = Line::counting(study.cells() as u64, "configurations");
    let result = study.leave_out(args.interrupts, stop, &mut |done| line.set(done as u64))?;
    drop(line);
    outputs.write(&result)?;
    show(&result, args.on.grid.json)
}

/// Refuses families whose result would not fit into memory, before they are spelled out.
fn few_enough(args: &StudyArgs, patterns: usize) -> Result<(), Fault> {
    let asked: u64 = args.rules.iter().map(Family::count).sum();
    let cells = asked.saturating_mul(patterns as u64);
    if cells <= MOST_CONFIGURATIONS {
        return Ok(());
    }
    let message = format!(
        "study: expected at most {MOST_CONFIGURATIONS} configurations over all patterns, found {cells}; study fewer, for \
         instance with a wider step"
    );
    Err(Fault::new(Exit::Usage, message))
}
